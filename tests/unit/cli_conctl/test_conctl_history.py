"""What a resource was to be, whether it may run, and why it is not Ready, on the command line."""

import json

import pytest


def declare(conctl, name, **spec):
    text = json.dumps({"kind": "leaf", "kind_version": 1, "name": name, "spec": spec})
    assert conctl("apply", "-f", "-", "--wait", stdin=text).exit_code == 0


def test_the_history_is_a_table_the_live_spec_first(conctl):
    declare(conctl, "past", size=1)
    declare(conctl, "past", size=2)
    lines = conctl("history", "leaf/past").stdout.splitlines()
    assert lines[0].split() == ["GENERATION", "VERSION", "AGE", "BY", "BYTES", "LIVE"]
    assert [line.split()[0] for line in lines[1:]] == ["2", "1"]
    assert [line.endswith("yes") for line in lines[1:]] == [True, False]
    assert conctl("history", "leaf/past", "-o", "name").stdout == "2\n1\n"
    assert len(json.loads(conctl("history", "leaf/past", "-o", "json").stdout)["revisions"]) == 2
    assert conctl("history", "leaf/past", "-o", "name", "--limit", "0").stdout == "2\n1\n"
    assert conctl("history", "leaf/past", "-o", "name", "--limit", "1").stdout == "2\n"


def test_a_rollback_says_what_became_of_it(conctl):
    declare(conctl, "back", size=1)
    declare(conctl, "back", size=2)
    done = conctl("rollback", "leaf/back", "--to", "1")
    assert done.stdout == "resource leaf/back has the spec of generation 1 again (generation 3)\n"
    again = conctl("rollback", "leaf/back", "--to", "1")
    assert again.stdout == "resource leaf/back has that spec already (generation 3)\n"
    assert conctl("rollback", "leaf/back", "--to", "9").exit_code == 1
    assert conctl("rollback", "leaf/back").exit_code == 2


def test_a_resource_is_frozen_and_released(conctl):
    declare(conctl, "cold", size=1)
    assert conctl("quarantine", "leaf/cold").stdout == "resource leaf/cold is quarantined\n"
    told = conctl("explain", "leaf/cold").stdout
    assert told.startswith("leaf/cold is Quarantined (generation 1, synced 1)\n  it is quarantined by ")
    assert "    → conctl unquarantine leaf/cold\n" in told
    assert conctl("unquarantine", "leaf/cold").stdout == "resource leaf/cold is released\n"
    assert conctl("unquarantine", "leaf/cold").stdout == "resource leaf/cold is not quarantined\n"
    assert conctl("wait", "leaf/cold").exit_code == 0


@pytest.mark.parametrize(
    "verb", [["quarantine"], ["unquarantine"], ["history"], ["explain"], ["rollback", "--to", "1"]]
)
def test_what_is_not_there_is_told(conctl, verb):
    done = conctl(verb[0], "leaf/nothing", *verb[1:])
    assert (done.exit_code, "leaf/nothing" in done.stderr) == (1, True)


def test_an_explanation_has_the_reason_and_where_each_value_of_the_config_comes_from(conctl):
    config = {"name": "base", "kind": "leaf", "kind_version": 1, "is_default": True}
    config["spec"] = {"timeout_seconds": 5, "env": {"API_TOKEN": "s3cret-s3cret"}}
    own = {"name": "own", "kind": "leaf", "kind_version": 1, "is_default": False, "spec": {"timeout_seconds": 9}}
    leaf = {"kind": "leaf", "kind_version": 1, "name": "why", "spec": {"fail": "no room"}}
    leaf["provider_config_ref"] = "own"
    for document in (config, own, leaf):
        assert conctl("apply", "-f", "-", stdin=json.dumps(document)).exit_code == 0
    assert conctl("wait", "leaf/why").exit_code == 1
    lines = conctl("explain", "leaf/why").stdout.splitlines()
    assert lines[:2] == ["leaf/why is Failed (generation 1, synced 0)", "  it failed and is not tried again: no room"]
    assert "Config: default base, override own" in lines
    assert [line.split() for line in lines[-2:]] == [
        ["/timeout_seconds", "9", "override", "5", "(default)"],
        ["/env/API_TOKEN", '"***"', "default"],
    ]
    assert conctl("explain", "leaf/why", "-o", "name").stdout == "failed\n"
