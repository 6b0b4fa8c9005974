"""The REST API of the engine."""

from stdworker.engine.api.app import build_app, build_probes

__all__ = ["build_app", "build_probes"]
