"""May this JSON Schema replace that one? Schemas are read as JSON Schema 2020-12."""

from stdworker.engine.compatibility.breaks import breaks

__all__ = ["breaks"]
