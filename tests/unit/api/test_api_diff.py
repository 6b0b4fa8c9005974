"""What an apply would change is told leaf by leaf."""

from dataclasses import replace

from stdworker.engine.api.diff import changes
from stdworker.engine.store.records import ResourceRecord
from stdworker.model.json_text import RawJson
from stdworker.model.kind import Phase

RECORD = ResourceRecord(
    uid="u",
    kind="a",
    kind_version=1,
    name="x",
    owner=None,
    root=None,
    spec=RawJson(b'{"s":1.0,"o":{"k":[1],"z":null}}'),
    status=None,
    labels={"team": "a"},
    provider_config=None,
    generation=1,
    synced_gen=1,
    health_ok=True,
    phase=Phase.READY,
    is_ready=True,
    finalizers=[],
    failure_message="",
    failure_reason="",
    failure_terminal=False,
    failure_attempts=0,
    next_attempt_at_ms=None,
    conditions=[],
    created_at_ms=0,
    updated_at_ms=0,
)


def told(before, after):
    return [
        (c.path, None if c.before is None else bytes(c.before), None if c.after is None else bytes(c.after))
        for c in changes(before, after)
    ]


def test_an_equal_declaration_changes_nothing():
    reordered = replace(RECORD, spec=RawJson(b'{"o": {"z":null,"k":[1]}, "s":1.0}'))
    assert told(RECORD, reordered) == []


def test_each_leaf_that_differs_is_told_with_both_sides():
    after = replace(RECORD, spec=RawJson(b'{"s":1,"o":{"k":[2],"n~/":{}}}'), labels={}, provider_config="c")
    assert told(RECORD, after) == [
        ("/labels/team", b'"a"', None),
        ("/spec/s", b"1.0", b"1"),
        ("/spec/o/k", b"[1]", b"[2]"),
        ("/spec/o/n~0~1", None, b"{}"),
        ("/spec/o/z", b"null", None),
        ("/provider_config_ref", None, b'"c"'),
    ]


def test_a_new_resource_is_added_as_a_whole():
    assert [path for path, before, _ in told(None, RECORD) if before is None] == ["/kind_version", "/labels", "/spec"]
