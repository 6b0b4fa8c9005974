"""The REST API of the engine."""

from stdworker.engine.api.app import build_app, build_probes
from stdworker.engine.api.guard import Access

__all__ = ["Access", "build_app", "build_probes"]
