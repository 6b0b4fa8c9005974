"""For authors of plugins: run a provider as a worker would, alone or against a broker in the test's process."""

from stdworker.testing.broker import BrokerStream, ScriptedBroker
from stdworker.testing.harness import make_request, run_provider, run_provider_async

__all__ = ["BrokerStream", "ScriptedBroker", "make_request", "run_provider", "run_provider_async"]
