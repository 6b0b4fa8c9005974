"""Text for a terminal, and for a pipe in place of one."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence

PIPE_COLUMNS = 100_000  # nobody's terminal: nothing is cut
KEPT = "\n\u200c\u200d"  # the end of a line, and what joins or parts letters in some scripts


def columns() -> int:
    """How many characters fit a line of standard output."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_COLUMNS


def plain(text: str) -> str:
    """Text that a program may have written, without what a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in KEPT else "?" for c in text.expandtabs())


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A line for each row, its cells below those of the row before."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
