"""Decisions over the store: what runs, what a result changes, what follows from it."""

from stdworker.engine.reconcile.clock import Clock, SystemClock
from stdworker.engine.reconcile.engine import Engine
from stdworker.engine.reconcile.watch import Hint, Watch
from stdworker.engine.settings import EngineOptions

__all__ = ["Clock", "Engine", "EngineOptions", "Hint", "SystemClock", "Watch"]
