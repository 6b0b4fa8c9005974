"""Statements in the SQL that SQLite and Postgres share, and the few words in which they differ.

A statement is written once, with `:name` parameters and these words, which each dialect spells its way:

- `ROWS(id int, note text)`: the JSON parameter `:rows`, an array of arrays, as a table of typed columns
- `IDS(name)`, `NAMES(name)`: the JSON parameter `:name`, an array of integers or of strings, as a subquery
- `PACKED(columns)`, all that a SELECT picks: fetched as one text where a driver takes long for each value. No
  documents, which may be too large for it; rows come in any order, and a fraction keeps 15 digits
- `LOCK(alias)`: hold the rows that were read until the transaction ends; those that others hold are waited for,
  left out by `LOCK_SKIP`, and no rows for `LOCK_NOW`, which raises `Contended`
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from stdworker.engine.store import schema

_WORD = re.compile(r"\b(ROWS|IDS|NAMES|PACKED|LOCK_SKIP|LOCK_NOW|LOCK)\(([^()]*)\)")
_TYPES = {"BIGINT": "int", "INTEGER": "int", "SMALLINT": "int", "BOOLEAN": "bool", "FLOAT": "real", "TEXT": "text"}


class Spelling(Protocol):
    """How one dialect writes the words above."""

    def rows(self, columns: list[tuple[str, str]]) -> str: ...

    def ids(self, parameter: str) -> str: ...

    def names(self, parameter: str) -> str: ...

    def packed(self, columns: str) -> str: ...

    def lock(self, alias: str, otherwise: str = "") -> str: ...


def spell(statement: str, spelling: Spelling) -> str:
    """The statement in one dialect's SQL, parameters still as `:name`."""
    words: dict[str, Callable[[str], str]] = {
        "ROWS": lambda text: spelling.rows([_column(part) for part in text.split(",")]),
        "IDS": spelling.ids,
        "NAMES": spelling.names,
        "PACKED": spelling.packed,
        "LOCK": spelling.lock,
        "LOCK_SKIP": lambda alias: spelling.lock(alias, "SKIP LOCKED"),
        "LOCK_NOW": lambda alias: spelling.lock(alias, "NOWAIT"),
    }
    return _WORD.sub(lambda match: words[match[1]](match[2]), statement)


def _column(text: str) -> tuple[str, str]:
    name, kind = text.split()
    return name, kind


def typed(table: str, columns: Iterable[str]) -> str:
    """The inside of a ROWS word for some columns of a table."""
    types = schema.metadata.tables[table].columns
    return ", ".join(f"{name} {_TYPES[str(types[name].type)]}" for name in columns)


@dataclass(frozen=True, slots=True)
class Write:
    """One statement for any number of rows of a table, which each dialect writes in its fastest way.

    Without a `key` rows are inserted, with `conflict` saying what happens to those that are there. With one,
    the rows found by it are updated; null leaves a column of `kept` as it is.
    """

    table: str
    columns: tuple[str, ...]
    conflict: str = ""
    key: str = ""
    kept: tuple[str, ...] = ()


def insert(table: str, columns: Iterable[str], conflict: str = "") -> Write:
    return Write(table, tuple(columns), conflict)


def upsert(table: str, key: tuple[str, ...], columns: Iterable[str]) -> Write:
    names = tuple(columns)
    rest = ", ".join(f"{name} = excluded.{name}" for name in names if name not in key)
    return Write(table, names, f"ON CONFLICT ({', '.join(key)}) DO UPDATE SET {rest}")


def update(table: str, columns: Iterable[str], *, kept: tuple[str, ...] = ()) -> Write:
    """Set columns of rows found by the first one."""
    names = tuple(columns)
    return Write(table, names, key=names[0], kept=kept)


def changes(write: Write, given: Mapping[str, str]) -> str:
    """The inside of a SET for a write with a key; `given` says where each column's value is."""
    return ", ".join(
        f"{name} = coalesce({value}, {write.table}.{name})" if name in write.kept else f"{name} = {value}"
        for name, value in given.items()
        if name != write.key
    )


def selected(alias: str, columns: Iterable[str]) -> str:
    return ", ".join(f"{alias}.{name}" for name in columns)


def bound(rows: Sequence[Sequence[Any]] | None, parameters: dict[str, Any]) -> dict[str, Any]:
    """Parameters as both dialects take them: lists, and the rows of a ROWS word, as JSON text.

    What has a NUL is left out of them: nothing is called so, and Postgres refuses a statement that asks for it.
    """
    for name, value in parameters.items():
        if isinstance(value, list | tuple):
            parameters[name] = _json(value, _can_be)
    if rows is not None:
        parameters["rows"] = _json(rows, lambda row: all(map(_can_be, row)))
    return parameters


def _json(values: Sequence[Any], can_be: Callable[[Any], bool]) -> str:
    text = orjson.dumps(values).decode()
    return text if "\\u0000" not in text else orjson.dumps([*filter(can_be, values)]).decode()


def _can_be(value: object) -> bool:
    return not (isinstance(value, str) and "\0" in value)
