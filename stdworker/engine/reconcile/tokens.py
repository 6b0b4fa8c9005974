"""Lease tokens: unguessable, and they say which queue row they open, so that no index is needed."""

from __future__ import annotations

import os

from stdworker.model.task import Lease

NOISE_BYTES = 16
_HEAD_CHARACTERS_MAX = 15  # of a hexadecimal number that fits 64 bits with its sign


def new_tokens(row_ids: list[int]) -> list[str]:
    """A token for each queue row."""
    noise, width = os.urandom(NOISE_BYTES * len(row_ids)).hex(), 2 * NOISE_BYTES
    return [f"{id:x}-{noise[i * width : (i + 1) * width]}" for i, id in enumerate(row_ids)]


def row_id(lease: Lease) -> int | None:
    """The queue row that a lease is about; None when the token was not made here."""
    head, dash, _ = lease.token.partition("-")
    if not dash or not 0 < len(head) <= _HEAD_CHARACTERS_MAX:
        return None
    try:
        return int(head, 16)
    except ValueError:
        return None
