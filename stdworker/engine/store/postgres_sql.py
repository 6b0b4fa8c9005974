"""Statements as Postgres takes them."""

from __future__ import annotations

import functools
import re

from stdworker.engine.store.sql import Write, changes, spell, typed

_TYPES = {"int": "bigint", "bool": "boolean", "real": "double precision", "text": "text"}
_PARAMETER = re.compile(r":(\w+)\b")


class _Spelling:
    def rows(self, columns: list[tuple[str, str]]) -> str:
        picks = ", ".join(
            f"CAST(j.value ->> {i} AS {_TYPES[kind]}) AS {name}" for i, (name, kind) in enumerate(columns)
        )
        return f"(SELECT {picks} FROM jsonb_array_elements(CAST(:rows AS jsonb)) AS j(value))"

    def ids(self, parameter: str) -> str:
        return self._array(parameter, "CAST(j.value AS bigint)")

    def names(self, parameter: str) -> str:
        return self._array(parameter, "j.value")

    def _array(self, parameter: str, column: str) -> str:
        elements = f"jsonb_array_elements_text(CAST(:{parameter} AS jsonb)) AS j(value)"
        return f"(SELECT {column} FROM {elements}) AS {parameter}"

    def packed(self, columns: str) -> str:
        return columns

    def lock(self, alias: str, otherwise: str = "") -> str:
        return f"FOR UPDATE OF {alias} {otherwise}".rstrip()


@functools.lru_cache(maxsize=1024)
def spelled(statement: str) -> bytes:
    return _PARAMETER.sub(r"%(\1)s", spell(statement, _Spelling()).replace("%", "%%")).encode()


@functools.cache
def written(write: Write) -> str:
    """One statement over one JSON parameter: one round trip, whatever the number of rows."""
    rows = f"ROWS({typed(write.table, write.columns)}) AS r"
    if not write.key:
        names = ", ".join(write.columns)
        return f"INSERT INTO {write.table} ({names}) SELECT {names} FROM {rows} {write.conflict}"
    given = {name: f"r.{name}" for name in write.columns}
    table, key = write.table, write.key
    return f"UPDATE {table} SET {changes(write, given)} FROM {rows} WHERE {table}.{key} = {given[key]}"
