"""Tables fit the terminal without losing who is who, and lists are printed as they arrive."""

import json

import pytest
from rich.text import Text

from stdworker.cli.conctl import cluster, explain, history, reactors, show
from stdworker.cli.conctl.output import print_list
from stdworker.cli.conctl.tables import print_pages, shortened
from stdworker.cli.terminal import LEFT_OUT_FIRST, fitted

TABLES = {
    "bindings": reactors.BINDING_HEADINGS,
    "dead letters": reactors.DEAD_LETTER_HEADINGS,
    "members": cluster.MEMBER_HEADINGS,
    "workers": cluster.WORKER_HEADINGS,
    "resources": show.RESOURCE_HEADINGS,
    "roots": show.ROOT_HEADINGS,
    "history": history.HEADINGS,
    "explain": explain.HEADINGS,
    "events": ("AGE", "TYPE", "REASON", "BY", "MESSAGE"),
    "kinds": ("KIND", "VERSION", "REACTIONS", "DESCRIPTION"),
    "configs": ("NAME", "KIND", "VERSION", "DEFAULT", "BUNDLE", "AGE"),
}


@pytest.fixture
def terminal(monkeypatch):
    def of(columns):
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setenv("TERM", "dumb")

    return of


def test_the_widest_columns_give_way_first_and_none_below_what_says_something():
    assert fitted("ABC", [4, 30, 60], 200) == {"A": 4, "B": 30, "C": 60}
    assert fitted("ABC", [4, 30, 60], 60) == {"A": 4, "B": 26, "C": 26}
    assert fitted("ABC", [4, 30, 60], 24) == {"A": 4, "B": 8, "C": 8}


def test_what_has_no_room_goes_from_the_least_important_on_and_the_first_and_the_last_stay():
    assert list(fitted(("NAME", "SIZE", "AGE", "LABELS", "WAITING"), [9] * 5, 39)) == ["NAME", "SIZE", "AGE", "WAITING"]
    assert list(fitted(("NAME", "SIZE", "AGE", "LABELS", "WAITING"), [9] * 5, 20)) == ["NAME", "WAITING"]
    assert list(fitted(("NAME", "WAITING"), [9, 9], 10)) == ["NAME"]


@pytest.mark.parametrize("columns", [40, 60, 80])
@pytest.mark.parametrize("headings", TABLES.values(), ids=TABLES)
def test_every_column_is_shown_with_its_heading_and_a_part_of_it_or_named_as_left_out(
    capsys, terminal, headings, columns
):
    terminal(columns)
    print_pages(headings, iter([[[chr(ord("a") + at) * 24 for at in range(len(headings))]]]), "")
    told = capsys.readouterr()
    head, row = told.out.splitlines()
    assert max(len(head), len(row)) <= columns
    missing = told.err.partition(": ")[2].partition(";")[0].split(", ") if told.err else []
    shown = [name for name in headings if name not in missing]
    assert headings[0] in shown
    assert headings[-1] in {*shown, *LEFT_OUT_FIRST}
    assert head.split() == " ".join(shown).split()
    letters = [chr(ord("a") + headings.index(name)) for name in shown]
    assert all(row.count(letter) >= 3 for letter in letters)


def test_what_a_table_is_for_is_there_on_a_narrow_terminal():
    for name in ("bindings", "dead letters", "workers"):
        assert TABLES[name][-1] in fitted(TABLES[name], [20] * len(TABLES[name]), 40)


def test_names_lose_their_middle_and_sentences_their_end():
    name = Text("team-analytics-database-replica-7")
    assert shortened(name, 12, in_middle=True).plain == "team-…lica-7"
    assert shortened(name, 12, in_middle=False).plain == "team-analyt…"
    assert shortened(name, 40, in_middle=True) is name


def test_characters_that_are_two_wide_count_as_two():
    assert shortened(Text("数据库副本数据库副本"), 9, in_middle=True).plain == "数据…副本"


def test_two_names_that_differ_at_the_end_are_told_apart_on_a_narrow_terminal(capsys, terminal):
    terminal(40)
    rows = [[f"a-name-that-is-rather-long-{number}", "Ready", "m " * 50] for number in (1, 2)]
    print_pages(("NAME", "PHASE", "MESSAGE"), iter([rows]), "")
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 40
    assert [line.split()[0][-2:] for line in lines[1:]] == ["-1", "-2"]


def test_a_line_that_can_not_fit_is_cut_and_not_wrapped(capsys, terminal):
    terminal(20)
    print_pages(("A", "B", "C"), iter([[["x" * 20, "y" * 20, "z" * 20]]]), "")
    assert [len(line) <= 20 for line in capsys.readouterr().out.splitlines()] == [True, True]


def test_pages_after_the_first_are_not_cut_in_a_pipe(capsys):
    print_pages(("NAME", "PHASE"), iter([[["a", "Ready"]], [["b" * 200, "Failed"]]]), "")
    assert capsys.readouterr().out.splitlines() == ["NAME  PHASE", "a     Ready", f"{'b' * 200}  Failed"]


def test_a_page_is_printed_before_the_one_after_the_next_is_asked_for(capsys):
    asked = []

    def pages():
        for number in range(4):
            asked.append(number)
            if number == 3:
                assert "row-1" in capsys.readouterr().out
            yield [[f"row-{number}"]]

    print_pages(("NAME",), pages(), "")
    assert asked == [0, 1, 2, 3]


def test_a_rare_column_stays_when_more_pages_follow(capsys):
    print_pages(("NAME", "PROGRESS"), iter([[["a", ""]], [["b", "50%"]]]), "")
    assert capsys.readouterr().out.splitlines() == ["NAME  PROGRESS", "a", "b     50%"]


def test_a_list_that_fails_at_once_prints_nothing(capsys):
    def broken():
        raise OSError
        yield

    for form in ("json", "yaml"):
        with pytest.raises(OSError):
            print_list("resources", broken(), form)
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_list_is_printed_item_by_item_as_the_document_that_it_is(capsys, count):
    from stdworker.cli.conctl.output import pretty_json, pretty_yaml

    items = [f'{{"n":{number}.0,"a":[{number}],"e":{{}}}}'.encode() for number in range(count)]
    whole = b'{"resources":[' + b",".join(items) + b"]}"
    print_list("resources", iter(items), "json")
    assert capsys.readouterr().out == pretty_json(whole) + "\n"
    print_list("resources", iter(items), "yaml")
    assert capsys.readouterr().out == pretty_yaml(whole)
    assert json.loads(whole)
