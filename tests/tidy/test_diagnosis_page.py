"""The page of messages names every failure that a program can bring about, in the words of the code."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from stdworker import errors

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "diagnosis.md"
TOOLS = {"describe.py", "record.py", "recorded.py"}  # failures of commands, which show them at once
OF_CLASSES = {error.code for error in vars(errors).values() if isinstance(error, type) and hasattr(error, "code")}
OF_PYTHON_PROVIDERS = {"not_json"}
FRAGMENT_CHARACTERS_MIN = 4
SOURCES = [
    ROOT / "stdworker" / "errors.py",
    ROOT / "stdworker" / "model" / "json_text.py",
    ROOT / "stdworker" / "model" / "json_faults.py",
    *(
        ROOT / "stdworker" / "engine" / "reconcile" / f"{name}.py"
        for name in ("availability", "explain", "present", "waiting")
    ),
    *(
        file
        for folder in ("process", "bridge", "framing")
        for file in sorted((ROOT / "stdworker" / folder).glob("*.py"))
        if file.name not in TOOLS
    ),
]


def rows() -> list[list[str]]:
    lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
    found = [[cell.strip() for cell in line[1:-1].split(" | ")] for line in lines]
    return [cells for cells in found if cells[0] not in ("it says", "---")]


def quoted(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def nodes() -> Iterator[ast.AST]:
    for source in SOURCES:
        yield from ast.walk(ast.parse(source.read_text()))


@cache
def constants() -> str:
    return "\0".join(node.value for node in nodes() if isinstance(node, ast.Constant) and isinstance(node.value, str))


def codes() -> tuple[set[str], list[str]]:
    """Those that the sources write out, and patterns of those that they put together."""
    literal, made = set(), []
    for node in nodes():
        if (isinstance(node, ast.keyword) and node.arg == "code") or (
            isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["code"]
        ):
            value = node.value
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "Reason":
            value = node.args[0]
        else:
            continue
        texts = [
            part.value for part in ast.walk(value) if isinstance(part, ast.Constant) and isinstance(part.value, str)
        ]
        if isinstance(value, ast.JoinedStr):
            made.append("".join(re.escape(p.value) if isinstance(p, ast.Constant) else "[a-z]+" for p in value.values))
        else:
            literal.update(text for text in texts if re.fullmatch(r"[a-z0-9_]{4,}", text))
    return literal, made


def fragments() -> list[str]:
    told = [sentence for cells in rows() for sentence in quoted(cells[0])]
    parts = [part.strip(" …") for sentence in told for part in re.split(r"…", sentence)]
    return sorted({part for part in parts if len(part) >= FRAGMENT_CHARACTERS_MIN})


@pytest.mark.parametrize("fragment", fragments())
def test_every_sentence_of_the_page_is_one_of_the_code(fragment):
    assert fragment in constants()


def test_every_code_of_the_code_is_on_the_page():
    listed = {code for cells in rows() for code in quoted(cells[-1])}
    assert codes()[0] - listed <= OF_CLASSES | OF_PYTHON_PROVIDERS


def test_every_code_on_the_page_is_one_of_the_code():
    literal, made = codes()
    listed = {code for cells in rows() for code in quoted(cells[-1])}
    assert {c for c in listed if c not in literal and not any(re.fullmatch(m, c) for m in made)} == set()
