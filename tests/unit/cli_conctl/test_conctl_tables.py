"""Tables fit the terminal without losing who is who, and lists are printed as they arrive."""

import json

import pytest
from rich.text import Text

from stdworker.cli.conctl.output import print_list
from stdworker.cli.conctl.tables import fitted, print_pages, shortened


@pytest.fixture
def terminal(monkeypatch):
    def of(columns):
        monkeypatch.setattr("sys.stdout.isatty", lambda: True)
        monkeypatch.setenv("COLUMNS", str(columns))
        monkeypatch.setenv("NO_COLOR", "1")
        monkeypatch.setenv("TERM", "dumb")

    return of


def test_the_widest_columns_give_way_first_and_none_below_what_says_something():
    assert fitted([4, 30, 60], 200) == [4, 30, 60]
    assert fitted([4, 30, 60], 60) == [4, 26, 26]
    assert fitted([4, 30, 60], 10) == [4, 8, 8]


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
