"""The files of `protocol/`, from an installed wheel or from a checkout."""

from __future__ import annotations

from functools import cache
from pathlib import Path

_INSTALLED = Path(__file__).parent / "protocol"
_CHECKOUT = Path(__file__).parent.parent / "protocol"


@cache
def read(name: str) -> bytes:
    """The content of `protocol/NAME`, for example `kind/v1/manifest.schema.json`. Raises FileNotFoundError."""
    root = _INSTALLED if _INSTALLED.is_dir() else _CHECKOUT
    return (root / name).read_bytes()
