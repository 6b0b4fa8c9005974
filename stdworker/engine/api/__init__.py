"""The REST API of the engine."""

from stdworker.engine.api.app import build_app

__all__ = ["build_app"]
