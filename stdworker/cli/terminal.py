"""Text for a terminal, and for a pipe in place of one."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence

GAP = "  "  # between columns
PIPE_COLUMNS = 100_000  # nobody's terminal: nothing is cut
CELL_MIN = 8  # no column is cut to less, nor to less than its heading
LEFT_OUT_FIRST = (  # the headings of what a narrow terminal can do without, the least important first
    "LABELS",
    "CONFIG",
    "MODE",
    "VERSION",
    "BYTES",
    "HEARD",
    "AGE",
    "ROLE",
    "GEN",
    "RELEASED",
    "CREDIT",
    "TRANSITION",
    "ATTEMPTS",
    "REACTOR",
)
KEPT = "\n\u200c\u200d"  # the end of a line, and what joins or parts letters in some scripts


def columns() -> int:
    """How many characters fit a line of standard output."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_COLUMNS


def plain(text: str) -> str:
    """Text that a program may have written, without what a terminal would obey."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in KEPT else "?" for c in text.expandtabs())


def fitted(headings: Sequence[str], widths: Sequence[int], room: int) -> dict[str, int]:
    """How wide the columns are that a line of `room` characters has; the widest give way first.

    Columns that don't fit whatever is cut are missing in it: those of LEFT_OUT_FIRST, then those between the first
    and the last.
    """
    least = {name: max(len(name), min(width, CELL_MIN)) for name, width in zip(headings, widths, strict=True)}
    while len(least) > 1 and _line(least) > room:
        _, *others = least
        dispensable = [name for name in LEFT_OUT_FIRST if name in others]
        del least[(dispensable or others[-2::-1] or others)[0]]
    made = {name: min(width, room) for name, width in zip(headings, widths, strict=True) if name in least}
    while _line(made) > room and (wide := [name for name in made if made[name] > least[name]]):
        made[max(wide, key=made.__getitem__)] -= 1
    return made


def _line(widths: Mapping[str, int]) -> int:
    return sum(widths.values()) + len(GAP) * (len(widths) - 1)


def left_out(headings: Sequence[str], shown: Collection[str]) -> str:
    """Names the columns that a terminal is too narrow for, if there are any."""
    missing = [name for name in headings if name not in shown]
    return f"(too wide for this terminal: {', '.join(missing)}; a wider one or a pipe shows all)" if missing else ""


def aligned(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A line for each row, its cells below those of the row before."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        yield GAP.join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
