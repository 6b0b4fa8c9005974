"""A request is one ASCII line, in the order of the protocol, with every document's tokens."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from stdworker import protocol_files
from stdworker.framing.request import cancel_line, config_line, request_line
from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import RawJson, check, members
from stdworker.model.kind import KindVersion, Stage, Transition, Trigger
from stdworker.model.resource import Operation, Resource
from stdworker.model.task import ReactionRequest

SCHEMA = Draft202012Validator(json.loads(protocol_files.read("stdio/v1/request.schema.json")))
KIND = KindVersion("greeter", 2)


def resource(**fields) -> Resource:
    return Resource("u-1", "greeter", "ada", 2, 7, **fields)


def request(stage=Stage.WORK, trigger=Trigger.SPEC_CHANGE, of=None, **fields) -> ReactionRequest:
    return ReactionRequest(stage, trigger, stage.value, KIND, of or resource(), **fields)


def line(asked, settings=None, deadline_ms=None) -> bytes:
    text = request_line("41", asked, settings, deadline_ms)
    assert text.isascii()
    assert text.endswith(b"}\n")
    assert text.count(b"\n") == 1
    SCHEMA.validate(json.loads(text))
    return text


def test_a_field_with_nothing_to_say_is_left_out():
    assert line(request()) == (
        b'{"protocol":1,"id":"41","reaction":"work","trigger":"specChange","kind":"greeter","kind_version":2,'
        b'"name":"ada","uid":"u-1","generation":7}\n'
    )


def test_all_fields_of_a_task_come_in_the_order_of_the_protocol():
    of = resource(spec_json=RawJson(b"{}"), status_json=RawJson(b"[]"), labels={"a": "é"})
    asked = request(of=of, default=ProviderConfig(bundle=b"\x00\xff"))

    fields = json.loads(line(asked, RawJson(b'{"x":1}'), 1500))

    assert list(fields)[9:] == ["spec", "status", "labels", "config", "bundle", "deadline_ms"]
    assert fields["bundle"] == "AP8="
    assert fields["deadline_ms"] == 1500


@pytest.mark.parametrize(
    "spec", [b'{"b":1.0,"a":9007199254740993}', b"[123456789012345678901234567890,1e5,-0]", b'{ "a" :\t1 }']
)
def test_a_spec_keeps_its_tokens(spec):
    assert b'"spec":' + spec in line(request(of=resource(spec_json=RawJson(spec))))


def test_line_breaks_between_tokens_become_blanks():
    assert b'"spec":{  "a":  1}' in line(request(of=resource(spec_json=RawJson(b'{\r\n"a":\n\n1}'))))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner, max_size=3)
    ),
)


@given(json_values)
def test_any_document_is_the_same_value_on_the_other_side(value):
    raw = check(json.dumps(value, ensure_ascii=False).encode())

    found = members(line(request(of=resource(spec_json=raw))).strip())

    assert found is not None
    assert json.loads(found["spec"]) == value


def test_a_composer_sees_its_children():
    child = Resource("u-2", "net", "n", 1, 3, is_ready=True, phase="Ready", status_json=RawJson(b'{"id":1.0}'))

    text = line(request(Stage.COMPOSE, observed=[child]))

    expected = b'{"kind":"net","kind_version":1,"name":"n","ready":true,"phase":"Ready","status":{"id":1.0}}'
    assert b'"observed":[' + expected + b"]" in text


def test_a_rollup_sees_the_generations_of_its_subtree():
    child = Resource("u-2", "net", "n", 1, 3, phase="Failed")

    fields = json.loads(line(request(Stage.ROLLUP, Trigger.CHILDREN_SETTLED, descendants=[child])))

    assert fields["descendants"] == [
        {"kind": "net", "kind_version": 1, "name": "n", "ready": False, "phase": "Failed", "generation": 3}
    ]


def test_what_a_base_broker_doesn_t_say_is_left_out():
    child = Resource("u-2", "net", "n")

    fields = json.loads(line(request(Stage.COMPOSE, observed=[child])))

    assert fields["observed"] == [{"kind": "net", "name": "n", "ready": False}]


def test_a_delete_names_its_finalizer():
    asked = request(Stage.DELETE, Trigger.DELETE_REQUESTED, of=resource(finalizers=("x/y",)))

    assert json.loads(line(asked))["finalizer"] == "x/y"


def test_an_operation_has_its_verb_and_input():
    asked = request(Stage.OPERATE, Trigger.OPERATION, operation=Operation("restart", RawJson(b"1.0"), 2, "ada"))

    assert b'"operation":{"verb":"restart","input":1.0,"attempts":2,"requested_by":"ada"}' in line(asked)


def test_a_reactor_sees_the_resource_that_it_watches():
    of = Resource("u-9", "bucket", "b", 4, 5, spec_json=RawJson(b"1"), status_json=RawJson(b"2"), labels={"a": "b"})
    asked = request(Stage.REACT, Trigger.REACTOR, of=of, transition=Transition.SYNCED, dedup_token="t")

    fields = json.loads(line(asked))

    assert (fields["kind"], fields["name"], fields["uid"], fields["status"]) == ("greeter", "b", "u-9", 2)
    assert "spec" not in fields
    assert (fields["transition"], fields["dedup_token"]) == ("synced", "t")
    assert fields["resource"] == {
        "kind": "bucket", "kind_version": 4, "name": "b", "uid": "u-9", "generation": 5,
        "spec": 1, "status": 2, "labels": {"a": "b"},
    }  # fmt: skip


def test_control_lines_are_lines():
    assert cancel_line("7") == b'{"cancel":{"id":"7"}}\n'
    assert config_line(RawJson(b'{\n"a":1}')) == b'{"config":{ "a":1}}\n'
    assert config_line(None) == b'{"config":{}}\n'
