"""Completing words from what the engine has."""

import json

import pytest
from click.shell_completion import ShellComplete

from stdworker.cli.conctl.commands import cli


@pytest.fixture
def completed(server):
    """What a shell is offered for the last of some words."""

    def of(*words, address=server):
        *before, last = words
        complete = ShellComplete(cli, {}, "conctl", "_CONCTL_COMPLETE")
        return [item.value for item in complete.get_completions(["--server", address, *before], last)]

    return of


@pytest.fixture
def declared(conctl):
    for name in ("comp-one", "comp-two"):
        document = {"kind": "leaf", "kind_version": 1, "name": name, "spec": {}}
        conctl("apply", "-f", "-", stdin=json.dumps(document))
    conctl("apply", "-f", "-", stdin="type: providerconfig\nname: comp-pc\nkind: leaf\nkind_version: 1\n")


def test_names_of_resources_are_completed(completed, declared):
    assert sorted(completed("describe", "leaf/comp-")) == ["leaf/comp-one", "leaf/comp-two"]
    assert {"leaf/comp-one", "leaf/comp-two"} <= set(completed("tree", "le"))
    assert completed("wait", "leaf/other", "leaf/comp-o") == ["leaf/comp-one"]


def test_types_are_completed_and_then_the_names_of_their_things(completed, declared):
    assert completed("get", "prov") == ["providerconfig"]
    assert completed("get", "providerconfig", "comp") == ["comp-pc"]
    assert "leaf@1" in completed("edit", "kind", "leaf")
    assert completed("get", "leaf/comp-o") == ["leaf/comp-one"]
    assert completed("delete", "conf") == ["config", "configs"]
    assert completed("list", "mani") == ["manifest"]


def test_nothing_is_offered_after_the_name(completed, declared):
    assert completed("get", "kind", "leaf@1", "l") == []
    assert completed("delete", "leaf/comp-one", "l") == []


def test_what_a_list_is_chosen_by_is_completed(completed, declared):
    assert completed("list", "--kind", "lea") == ["leaf"]
    assert completed("watch", "--owner", "leaf/comp-o") == ["leaf/comp-one"]
    assert completed("list", "--phase", "fai") == ["failed"]


def test_without_an_engine_nothing_is_offered_and_nothing_is_said(completed, capsys):
    assert completed("get", "leaf/x", address="http://127.0.0.1:1") == []
    assert capsys.readouterr() == ("", "")
