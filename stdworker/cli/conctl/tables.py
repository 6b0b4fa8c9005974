"""Tables: a line a row that never wraps, printed page by page.

On a terminal the widest columns give way until a row fits; names lose their middle, because their ends tell things
apart. Columns that don't fit even then are named below the table. Elsewhere nothing is cut: what is read by programs
keeps its identity.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence

import click
from rich.cells import cell_len
from rich.text import Text

from stdworker.cli.conctl.output import show
from stdworker.cli.terminal import GAP, columns, fitted, left_out, plain

RARE = ("PROGRESS", "WHY NOT READY")  # headings of last columns that mostly are empty
NAMES = ("KIND", "NAME", "RESOURCE", "MEMBER", "WORKER")  # headings of what is cut in the middle

Row = Sequence[str | Text]


def table(headings: Sequence[str], rows: Iterable[Row], empty: str) -> None:
    """Rows under headings, or one line saying that there are none (on standard error)."""
    print_pages(headings, iter([list(rows)]), empty)


def print_pages(headings: Sequence[str], pages: Iterator[Sequence[Row]], empty: str) -> None:
    """The same, each page as it comes. The first one decides how wide the columns are.

    A last column that is one of RARE is left out when there is nothing in it on an only page.
    """
    page, following = next(pages, ()), next(pages, None)
    if not page:
        click.echo(empty, err=True)
        return
    if headings[-1] in RARE and following is None and not any(row[-1] for row in page):
        headings, page = headings[:-1], [row[:-1] for row in page]
    head = [Text(heading, "bold") for heading in headings]
    lines = [head, *map(_cells, page)]
    widths = [max(cell_len(row[index].plain) for row in lines) for index in range(len(headings))]
    shown = fitted(headings, widths, columns())
    _print(headings, shown, lines)
    while following is not None:
        _print(headings, shown, map(_cells, following))
        following = next(pages, None)
    if missing := left_out(headings, shown):
        click.echo(missing, err=True)


def _cells(row: Row) -> list[Text]:
    return [cell if isinstance(cell, Text) else Text(plain(cell).replace("\n", " ")) for cell in row]


def _print(headings: Sequence[str], widths: Mapping[str, int], rows: Iterable[Sequence[Text]]) -> None:
    is_cut = sys.stdout.isatty()
    lines = []
    for row in rows:
        line = Text()
        for heading, cell in zip(headings, row, strict=True):
            if (width := widths.get(heading)) is None:
                continue
            shown = shortened(cell, width, in_middle=heading in NAMES) if is_cut else cell
            line.append_text(shown).append(" " * max(width - cell_len(shown.plain), 0) + GAP)
        line.rstrip()
        lines.append(line)
    show(Text("\n").join(lines), cut=True)


def shortened(cell: Text, width: int, *, in_middle: bool) -> Text:
    """A cell that is at most so wide, with `…` for what is missing."""
    if cell_len(cell.plain) <= width:
        return cell
    if not in_middle:
        cut = cell.copy()
        cut.truncate(width, overflow="ellipsis")
        return cut
    tail = width // 2
    return Text(f"{_head(cell.plain, width - 1 - tail)}…{_head(cell.plain[::-1], tail)[::-1]}", cell.style)


def _head(text: str, width: int) -> str:
    """As much of the beginning as fits."""
    while cell_len(text) > width:
        text = text[: width if len(text) > width else -1]
    return text
