"""Texts that the engine makes itself, or takes from others into its messages."""

from __future__ import annotations

import os
from collections.abc import Callable

MESSAGE_CHARACTERS_MAX = 4_000


def clean(message: str) -> str:
    """Bounded text that every database stores."""
    return message.replace("\x00", "�")[:MESSAGE_CHARACTERS_MAX]


def progress(fraction: float | None, message: str) -> str:
    """How far a running task says that it is, as `50% copying`."""
    return " ".join(filter(None, ("" if fraction is None else f"{fraction:.0%}", message)))


def new_uid(now_ms: int, random: Callable[[int], bytes] = os.urandom) -> str:
    """A version 7 UUID: they sort by time, which keeps indexes of them compact."""
    time, noise = f"{now_ms:012x}", random(10).hex()
    variant = "89ab"[int(noise[3], 16) & 3]
    return f"{time[:8]}-{time[8:]}-7{noise[:3]}-{variant}{noise[4:7]}-{noise[7:19]}"
