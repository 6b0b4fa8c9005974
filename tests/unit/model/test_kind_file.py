"""The kind file as code and as JSON Schema: both accept the same."""

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from referencing import Registry, Resource

from stdworker import protocol_files
from stdworker.errors import ManifestError
from stdworker.model.kind_file import KindFile

WORK = {"name": "work", "trigger": "specChange", "emits": ["status"]}
FILE = {"kind": "a", "kind_version": 1, "reactions": [WORK]}


def schema(name):
    return orjson.loads(protocol_files.read(f"kind/v1/{name}"))


@pytest.fixture(scope="module")
def validator():
    manifest = Resource.from_contents(schema("manifest.schema.json"))
    registry = Registry().with_resource("manifest.schema.json", manifest)
    return Draft202012Validator(schema("kind-file.schema.json"), registry=registry)


def accepted(document):
    try:
        KindFile.of(document, where="test")
    except ManifestError:
        return False
    return True


ACCEPTED = [
    {},
    {"default_config": {}},
    {"default_config": {"settings": 1, "mode": "stream"}},
    {"default_bundle": "aGk="},
    {"$schema": "kind-file.schema.json", "type": "manifest"},
    {"spec_schema": {"type": "object"}, "max_inflight": 3},
]
REFUSED = [
    {"default_config": []},
    {"default_config": None},
    {"default_config": {"command": "x"}},
    {"default_bundle": 1},
    {"default_confg": {}},
    {"kind": "A"},
    {"kind": "a\n"},
    {"kind_version": "1"},
    {"reactions": [WORK | {"emit": []}]},
    {"reactions": [WORK | {"name": "a\n"}]},
    {"spec_schema": True},
]


@pytest.mark.parametrize("members", ACCEPTED)
def test_what_the_schema_accepts_is_read(validator, members):
    assert validator.is_valid(FILE | members)
    assert accepted(FILE | members)


@pytest.mark.parametrize("members", REFUSED)
def test_what_the_schema_refuses_is_refused(validator, members):
    assert not validator.is_valid(FILE | members)
    assert not accepted(FILE | members)


VALUES = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 40_000), st.text(max_size=3), st.just({}), st.just([]), st.just("a")
)
KEYS = st.sampled_from([*schema("manifest.schema.json")["$defs"]["members"]["properties"], "default_config", "zzz"])


@given(st.dictionaries(KEYS, VALUES, max_size=4))
def test_whatever_is_read_the_schema_accepts_too(validator, members):
    if accepted(FILE | members):
        assert validator.is_valid(FILE | members)


def test_the_violations_of_all_parts_are_told_at_once():
    with pytest.raises(ManifestError) as refused:
        KindFile.of(FILE | {"kind": "A", "default_config": 1, "default_bundle": 2}, where="a.kind.json")

    assert [path for path, _ in refused.value.violations] == ["/kind", "/default_config", "/default_bundle"]


@pytest.mark.parametrize(
    ("told", "place"),
    [
        ({"$ref": "#/nowhere"}, "/$ref"),
        ({"properties": {"a/b": {"$ref": "file:///etc/passwd"}}}, "/properties/a~1b/$ref"),
        ({"allOf": [{"$ref": "http://127.0.0.1:9/schema"}]}, "/allOf/0/$ref"),
        ({"$dynamicRef": "#nowhere"}, "/$dynamicRef"),
        ({"$id": "http://here.example/a", "$ref": "b"}, "/$ref"),
    ],
)
def test_a_reference_of_a_schema_leads_to_a_place_in_it(told, place):
    with pytest.raises(ManifestError) as refused:
        KindFile.of(FILE | {"status_schema": told}, where="a.kind.json")

    assert [path for path, _ in refused.value.violations] == [f"/status_schema{place}"]


@pytest.mark.parametrize(
    "told",
    [
        {"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#"}}},
        {"$ref": "#a", "$defs": {"a": {"$anchor": "a"}}},
        {"$defs": {"a": {"$id": "http://here.example/a", "$defs": {"b": {}}, "$ref": "#/$defs/b"}}},
        {"properties": {"$ref": {"type": "string"}, "$id": {"type": "string"}}},
        {"const": {"$ref": "#/nowhere"}},
    ],
)
def test_what_looks_like_a_lost_reference_and_is_none_is_accepted(told):
    assert accepted(FILE | {"spec_schema": told})


def test_the_document_is_kept_as_it_was_written():
    text = b'{"kind": "a", "kind_version": 1, "reactions": [], "default_config": {"x": 1.0, "y": 1e2}}'

    found = KindFile.parse(text, "a.kind.json")

    assert found.document == text
    assert found.default_config == b'{"x": 1.0, "y": 1e2}'
