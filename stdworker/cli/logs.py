"""What our commands log: to stderr, as text for people or as JSON lines for machines."""

from __future__ import annotations

import json
import logging
import sys
import time
from collections.abc import Mapping

from stdworker.cli.terminal import plain
from stdworker.model.settings import LOG_FORMATS, LOG_LEVELS, Environment

# What libraries say below this is for their own authors.
_QUIET = ("uvicorn", "httpx", "httpcore", "alembic", "watchfiles", "asyncio", "grpc")


def set_up_logging(level: str, form: str) -> None:
    """Log from `level` (a name, any case) on; `form` is text or json."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines() if form == "json" else _Text())
    logging.basicConfig(level="WARNING" if level == "warn" else level.upper(), handlers=[handler], force=True)
    for name in _QUIET:
        logging.getLogger(name).setLevel(logging.WARNING)


def log_as_asked(variables: Mapping[str, str]) -> None:
    """As LOG_LEVEL and LOG_FORMAT say. Raises SettingsError."""
    asked = Environment(variables)
    set_up_logging(asked.choice("LOG_LEVEL", "info", LOG_LEVELS), asked.choice("LOG_FORMAT", "text", LOG_FORMATS))


class _Text(logging.Formatter):
    converter = staticmethod(time.gmtime)

    def __init__(self) -> None:
        super().__init__("%(asctime)s.%(msecs)03dZ %(levelname)-7s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        """What a program says neither commands a terminal nor passes for a line of ours."""
        return plain(super().format(record)).replace("\n", "\n    ")


class _JsonLines(logging.Formatter):
    converter = staticmethod(time.gmtime)

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "time": f"{self.formatTime(record, '%Y-%m-%dT%H:%M:%S')}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line)
