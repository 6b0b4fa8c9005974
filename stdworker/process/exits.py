"""How a process ended, in words."""

from __future__ import annotations

import signal
from dataclasses import dataclass

SIGNAL_NAMES = {number.value: number.name for number in signal.Signals}

_MEMORY_HINT = "the kernel kills a process like this when memory runs out"


@dataclass(frozen=True, slots=True)
class Exit:
    """The end of a process. Exactly one of `code` and `signal` (a name, `SIGKILL`) is set.

    `killed_by` says why *we* ended it: `deadline`, `cancel`, `limit`, `shutdown`; None when we didn't. `cause` is what
    else is known about a bad end.
    """

    code: int | None
    signal: str | None = None
    killed_by: str | None = None
    cause: str = ""

    @classmethod
    def from_returncode(cls, returncode: int, killed_by: str | None = None) -> Exit:
        """From a code as `subprocess` reports it: negative for a signal."""
        if returncode >= 0:
            return cls(returncode, None, killed_by)
        return cls(None, SIGNAL_NAMES.get(-returncode, f"signal {-returncode}"), killed_by)

    def __str__(self) -> str:
        known = self.cause or (_MEMORY_HINT if self.signal == "SIGKILL" and self.killed_by is None else "")
        return f"{self._what()}; {known}" if known else self._what()

    def _what(self) -> str:
        if self.signal is not None:
            culprit = f" by this worker ({self.killed_by})" if self.killed_by is not None else ", not by this worker"
            return f"killed by {self.signal}{culprit if self.killed_by or self.signal == 'SIGKILL' else ''}"
        if self.code is not None and self.code > 128 and self.code - 128 in SIGNAL_NAMES:
            name = SIGNAL_NAMES[self.code - 128]
            return f"exit status {self.code} (how a shell says that its command was killed by {name})"
        if self.code == 127:
            return "exit status 127 (how a shell or env says that a command was not found)"
        if self.code == 126:
            return "exit status 126 (how a shell or env says that a command is not executable)"
        return f"exit status {self.code}"
