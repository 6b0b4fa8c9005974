"""Specs made from schemas."""

import pytest

from stdworker.testing.conformance.samples import NoSample, fits, place, sample


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "minLength": 20}}},
        {"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "maxLength": 2}}},
        {"type": "object", "required": ["a"], "properties": {"a": {"type": "string", "pattern": "^[0-9.]+$"}}},
        {"type": "object", "required": ["a"], "properties": {"a": {"enum": ["north", "south"]}}},
        {"type": "object", "required": ["a"], "properties": {"a": {"const": 7}}},
        {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer", "minimum": 10}}},
        {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer", "maximum": -3}}},
        {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer", "exclusiveMinimum": 10}}},
        {"type": "object", "required": ["a"], "properties": {"a": {"type": "integer", "multipleOf": 7, "minimum": 8}}},
        {"type": "object", "required": ["a"], "properties": {"a": {"type": ["null", "boolean"]}}},
        {"type": "object", "required": ["a"], "properties": {"a": {"type": "array", "minItems": 2, "items": {}}}},
        {"required": ["a"], "properties": {"a": {"$ref": "#/$defs/ip"}}, "$defs": {"ip": {"format": "ipv4"}}},
        {"oneOf": [{"type": "object", "required": ["a"]}, {"type": "object", "required": ["b"]}]},
        {"allOf": [{"type": "object", "required": ["a"]}, {"properties": {"a": {"type": "integer"}}}]},
        {"anyOf": [False, {"type": "string"}]},
    ],
    ids=str,
)  # fmt: skip
def test_a_sample_is_what_the_schema_allows(schema):
    assert fits(schema, sample(schema))
    assert fits(schema, sample(schema, full=True))


def test_the_least_sample_has_what_is_required_and_the_full_one_all_that_is_declared():
    schema = {
        "type": "object",
        "required": ["a"],
        "properties": {"a": {"type": "string"}, "b": {"type": "object", "properties": {"c": {"type": "boolean"}}}},
    }

    assert sample(schema) == {"a": "check"}
    assert sample(schema, full=True) == {"a": "check", "b": {"c": True}}


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "^zebra [0-9]{40}$"},
        {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#/properties/a"}}},
        {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "https://elsewhere.example/"}}},
        {"type": "object", "required": ["a"], "properties": {"a": False}},
        {"type": "object", "required": ["a"], "properties": {"a": {"$ref": "#named"}}},
        {"type": "string", "minLength": 10_000_000_000},
        {"$ref": "#"},
    ],
    ids=str,
)
def test_a_schema_that_takes_a_person_to_satisfy_has_no_sample(schema):
    with pytest.raises(NoSample):
        sample(schema)


def test_a_value_goes_where_the_schema_has_a_place_of_its_type():
    schema = {
        "type": "object",
        "properties": {
            "region": {"type": "string", "enum": ["north"]},
            "owner": {"type": "object", "properties": {"name": {"type": "string"}}},
            "size": {"type": "integer"},
        },
        "additionalProperties": False,
    }

    assert place(schema, {"region": "north"}, "Ada", type_names=("string",)) == {
        "region": "north",
        "owner": {"name": "Ada"},
    }
    assert place(schema, {}, 7, type_names=("integer",)) == {"size": 7}
    assert place(None, {"a": 1}, 7, type_names=("integer",)) == {"a": 1, "check": 7}
    with pytest.raises(NoSample):
        place(schema, {}, 1.5, type_names=("number",))
    with pytest.raises(NoSample):
        place(None, "a text", "Ada", type_names=("string",))
