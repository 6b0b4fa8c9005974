"""A response becomes an outcome whose documents are the program's own bytes."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from stdworker import protocol_files
from stdworker.errors import ResponseError
from stdworker.framing.response import check_edges, not_a_response, parse_response
from stdworker.model.json_text import RawJson, loads
from stdworker.model.outcome import ChildSpec, Condition, DepEdge, Outcome, ValueFlow
from stdworker.model.resource import Ref

SCHEMA = Draft202012Validator(json.loads(protocol_files.read("stdio/v1/response.schema.json")))


def refusal(document):
    with pytest.raises(ResponseError) as refused:
        parse_response(document)
    return refused.value.message


@pytest.mark.parametrize(
    "status",
    [
        b"9007199254740993",
        b"18446744073709551616",
        b"123456789012345678901234567890",
        b"1.0",
        b"1",
        b"1.10",
        b"-0.0",
        b"1E5",
        b'{"z":1,"a":{"y":2,"b":3}}',
        '"\u2028 \U0001f600 é"'.encode(),
        rb'"\u00e9\/"',
        b"[ 1,\t2 ]",
    ],
)
def test_a_status_is_kept_token_by_token(status):
    response = parse_response(b'{"status": ' + status + b"}")

    assert response.outcome.status == RawJson(status)
    assert isinstance(response.outcome.status, RawJson)


def test_all_that_a_composer_may_emit_arrives():
    response = parse_response(
        b'{"conditions":[{"type":"Ready","status":"True","reason":"R","message":"m"}],'
        b'"children":[{"kind":"net","kind_version":2,"name":"n","spec":{"n":1.0},"labels":{"a":"b"}},'
        b'{"kind":"vm","kind_version":1,"name":"v","provider_config_ref":"fast"}],'
        b'"edges":[{"from":{"kind":"vm","name":"v"},"to":{"kind":"net","name":"n"},'
        b'"values":[{"dependent_field":"/net","source_field":"/id"}]}],"output":[1],"recompose":true,"allow_empty":true}'
    )

    assert response.outcome == Outcome(
        conditions=[Condition("Ready", "True", "R", "m")],
        children=[
            ChildSpec("net", 2, "n", RawJson(b'{"n":1.0}'), {"a": "b"}),
            ChildSpec("vm", 1, "v", None, {}, "fast"),
        ],
        edges=[DepEdge(Ref("vm", "v"), Ref("net", "n"), [ValueFlow("/net", "/id")])],
        output=RawJson(b"[1]"),
        recompose=True,
        allow_empty=True,
    )


def test_a_refusal_says_path_expected_got_and_what_was_received():
    message = refusal(b'{"children":[{"kind":"net","kind_version":"1","name":"n"}]}')

    assert "/children/0/kind_version: expected integer, got string" in message
    assert 'received: {"children":' in message


def test_a_refusal_shows_the_first_200_bytes_only():
    message = refusal(b'{"error":"' + b"x" * 10_000 + b'"}')

    assert "(10012 bytes)" in message
    assert len(message) < 600


def test_a_refusal_is_fit_for_a_terminal_whatever_was_sent():
    assert r"received: \x1b[2J\x00\x07" in refusal(b"\x1b[2J\x00\x07")


@pytest.mark.parametrize(
    ("member", "good", "bad", "path"),
    [
        ("conditions", '{"type":"A","status":"True"}', '{"type":"A","status":1}', "/conditions/3000/status"),
        ("children", '{"kind":"a","kind_version":1,"name":"b"}', '{"kind":"a","kind_version":1}', "/children/3000"),
        (
            "edges",
            '{"from":{"kind":"a","name":"b"},"to":{"kind":"a","name":"b"}}',
            '{"from":{"kind":"a","name":"b"},"to":{"kind":"a","name":7}}',
            "/edges/3000/to/name",
        ),
        ("configs", '{"kind":"a","kind_version":1,"name":"b","spec":1}', "[]", "/configs/3000"),
    ],
)
def test_of_a_thousand_items_the_one_that_is_wrong_is_named(member, good, bad, path):
    items = [good] * 3_000 + [bad, bad]
    assert f"protocol: {path}: expected" in refusal(f'{{"id":"1","{member}":[{",".join(items)}]}}'.encode())


def test_a_path_of_endless_keys_is_cut():
    message = refusal(b'{"status":{"' + b"k" * 1_000_000 + b'":NaN}}')

    assert "/status/kkk" in message
    assert len(message) < 1_200


def test_a_version_that_is_written_as_a_fraction_is_refused():
    assert "kind_version" in refusal(b'{"children":[{"kind":"net","kind_version":1.0,"name":"n"}]}')


def test_an_edge_joins_children_of_this_resource_only():
    edge = DepEdge(Ref("vm", "v"), Ref("net", "n"))
    outcome = Outcome(children=[ChildSpec("vm", 1, "v")], edges=[edge])

    check_edges(outcome, [Ref("net", "n")])
    with pytest.raises(ResponseError, match="/edges/0/to: expected a child of this resource, got net/n"):
        check_edges(outcome, [])


def test_a_child_that_is_there_twice_is_refused():
    children = [ChildSpec("vm", 1, "v"), ChildSpec("vm", 2, "v")]

    with pytest.raises(ResponseError, match="/children/1: vm/v is already /children/0"):
        check_edges(Outcome(children=children), [])


# Documents that are nearly right: whatever the schema says of one, the reader must say too.

texts = st.sampled_from(["", "a", "Ready", "True", "False", "maybe", "net", "Net", "a/b", "/a", "/~2", "a" * 64, "é"])
scalars = st.none() | st.booleans() | st.integers(-2, 40_000) | st.sampled_from([0.5, -1.5, 1e300]) | texts
anything = st.recursive(scalars, lambda inner: st.lists(inner, max_size=2) | st.dictionaries(texts, inner, max_size=2))


def near(**members):
    """Objects with these members; each may be missing or of any type."""
    return anything | st.fixed_dictionaries(
        {}, optional={name: strategy | anything for name, strategy in members.items()}
    )


def some(strategy):
    return st.lists(strategy, max_size=2)


ref = near(kind=st.just("net"), name=st.just("n"))
version = st.integers(1, 3)
responses = st.fixed_dictionaries(
    {},
    optional={
        "id": st.just("7") | anything,
        "status": anything,
        "conditions": some(
            near(type=texts, status=st.sampled_from(["True", "False", "Unknown"]), reason=texts, message=texts)
        ),
        "children": some(
            near(
                kind=st.just("net"),
                kind_version=version,
                name=st.just("n"),
                spec=anything,
                labels=near(a=texts),
                provider_config_ref=texts,
            )
        ),
        "edges": some(
            near(**{"from": ref, "to": ref, "values": some(near(dependent_field=st.just("/a"), source_field=texts))})
        ),
        "configs": some(near(kind=st.just("net"), kind_version=version, name=st.just("n"), spec=anything)),
        "error": near(message=texts, terminal=st.booleans(), reason=texts, retry_after_seconds=st.floats(0, 10)),
        "describe": near(kind=texts),
        "unknown": anything,
    },
)


@settings(max_examples=400)
@given(responses)
def test_the_reader_and_the_schema_agree_on_any_document(document):
    text = json.dumps(document).encode()
    try:
        parse_response(text)
        accepted = True
    except ResponseError:
        accepted = False

    assert accepted == SCHEMA.is_valid(loads(text))


@pytest.mark.parametrize(
    ("names", "advice"),
    [
        ({"statuss"}, "did you mean 'status'? put it under one of"),
        ({"level", "condition"}, "did you mean 'conditions'? put it under one of"),
        ({"level", "msg"}, "put it under one of"),
    ],
)
def test_an_object_with_no_field_of_a_response_is_told_the_field_that_it_may_have_meant(names, advice):
    assert not_a_response(names, b"{}").hint.startswith(advice)
