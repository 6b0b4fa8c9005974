"""What is printed keeps every number and fits where it is shown."""

import json
from datetime import UTC, datetime, timedelta

import pytest
import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from stdworker.cli.conctl import wait
from stdworker.cli.conctl.output import age, pretty_json, pretty_yaml
from stdworker.cli.conctl.tables import table
from stdworker.model.documents import parse_documents
from stdworker.model.json_text import dumps, equal

DOCUMENT = b'{"b":1.0,"a":[1e3,18446744073709551617,{}],"t":"no\\n: [x","e":[],"u":"\xc3\xa9"}'


def test_json_is_indented_token_by_token():
    assert pretty_json(DOCUMENT).splitlines() == [
        "{",
        '  "b": 1.0,',
        '  "a": [',
        "    1e3,",
        "    18446744073709551617,",
        "    {}",
        "  ],",
        '  "t": "no\\n: [x",',
        '  "e": [],',
        '  "u": "é"',
        "}",
    ]


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_indented_json_is_the_same_document(value):
    document = json.dumps(value).encode("ascii")
    assert equal(pretty_json(document).encode(), document)


@example({"a": "x\n\n"})
@example("0E0")
@example("0o7")
@example({"\x85": "\u2028"})
@given(json_values.filter(lambda value: value is not None and not isinstance(value, list)))
def test_printed_yaml_is_read_back_as_the_same_document(value):
    try:
        document = dumps(value)
    except ValueError:
        return
    (read,) = parse_documents(pretty_yaml(document).encode(), "f.yaml")
    assert equal(read.raw, document)


def test_yaml_keeps_the_order_of_members_and_the_spelling_of_numbers():
    assert (
        pretty_yaml(b'{"b":1.0,"a":18446744073709551617,"t":"x\\ny\\n"}')
        == "b: 1.0\na: 18446744073709551617\nt: |\n  x\n  y\n"
    )
    assert yaml.safe_load(pretty_yaml(b'{"yes":"no"}')) == {"yes": "no"}


@pytest.mark.parametrize(
    ("seconds", "shown"), [(5, "5s"), (119, "119s"), (121, "2m"), (8_000, "2h"), (200_000, "2d"), (-5, "0s")]
)
def test_an_age_is_told_in_the_largest_unit_that_says_something(seconds, shown):
    assert age((datetime.now(UTC) - timedelta(seconds=seconds)).isoformat()) in (shown, f"{seconds + 1}s")


def test_a_table_is_not_cut_where_nobody_looks(capsys):
    table(("NAME", "MESSAGE"), [["x", "long " * 100]], "")
    assert ("long " * 100).strip() in capsys.readouterr().out


def test_a_table_fits_the_terminal(capsys, monkeypatch):
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "40")
    table(("NAME", "MESSAGE"), [["x", "long " * 100]], "")
    lines = capsys.readouterr().out.splitlines()
    assert [len(line) for line in lines if not line.startswith("\x1b")] == [40]
    assert lines[1].startswith("x ")
    assert lines[1].endswith("…")


def test_an_empty_table_says_so_apart_from_the_output(capsys):
    table(("NAME",), [], "No resources found.")
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "No resources found.\n")


def test_what_a_program_says_gives_a_terminal_no_orders(capsys):
    table(("NAME", "MESSAGE"), [["a", "\x1b[31mred\a\nnext [bold]"]], "")
    assert capsys.readouterr().out.splitlines()[1] == "a     ?[31mred? next [bold]"


def test_a_wait_shows_what_a_program_says_as_it_is(monkeypatch):
    monkeypatch.setattr(wait, "on_terminal", lambda: True)
    node = {"ref": "leaf/a", "phase": "Reconciling", "is_ready": False, "message": "5% [/copy] \x1b[2J"}

    class Client:
        def value(self, path, query):
            return {"nodes": [node], "truncated": False}

    progress = wait.Progress(Client())
    progress.name = "leaf/a"
    progress.update()
    assert str(progress.status.renderable.text) == "leaf/a Reconciling; leaf/a: 5% [/copy] ?[2J"
