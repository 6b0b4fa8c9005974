"""What can be asked of an engine: each method is one verb of a transaction, or one reading."""

from stdworker.engine.reconcile.calls.brokers import BrokerCalls
from stdworker.engine.reconcile.calls.catalog import CatalogCalls
from stdworker.engine.reconcile.calls.resources import ResourceCalls

__all__ = ["BrokerCalls", "CatalogCalls", "ResourceCalls"]
