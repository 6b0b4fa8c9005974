"""Which schemas may replace which: the table of `protocol/`, and a search for instances that prove us wrong."""

import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from stdworker import protocol_files
from stdworker.engine.compatibility import breaks

VECTORS = json.loads(protocol_files.read("kind/v1/compatibility-vectors.json"))
VALUES = [None, True, False, 0, 1, 2, 3, 4, -1, 1.5, "", "a", "b", "ab", "abc"]


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
def test_a_schema_breaks_what_the_table_says(vector):
    found = breaks(vector["old"], vector["new"], inverted=vector.get("inverted", False))
    assert sorted({pointer for pointer, _ in found}) == sorted(vector["breaks"])


def test_the_table_has_enough_of_both():
    assert sum(bool(vector["breaks"]) for vector in VECTORS) > 60
    assert sum(not vector["breaks"] for vector in VECTORS) > 60


def test_a_sentence_tells_what_was_and_what_is():
    assert breaks({"minimum": 1}, {"minimum": 2}) == [
        ("/minimum", "minimum was 1, is now 2: values that were valid may be refused")
    ]
    assert breaks({"minimum": 2}, {"minimum": 1}, inverted=True) == [
        ("/minimum", "minimum was 2, is now 1: readers may meet values that were ruled out")
    ]


def test_a_schema_without_end_is_compared_in_bounded_time():
    def web(size, leaf):
        """Each definition refers to all."""
        names = [f"d{i}" for i in range(size)]
        more = {"type": "object", "required": ["a"]}
        either = [more | {"properties": {"a": {"$ref": f"#/$defs/{name}"}}} for name in names]
        return {"$ref": "#/$defs/d0", "$defs": {n: {"anyOf": [*either, leaf]} for n in names}}

    found = breaks(web(12, {"minLength": 1}), web(12, {"minLength": 2}))
    assert [pointer for pointer, _ in found] == [""]
    assert "too large" in found[0][1]


def test_a_schema_too_deep_is_a_break():
    def deep(leaf):
        for _ in range(120):
            leaf = {"properties": {"a": leaf}, "additionalProperties": False}
        return leaf

    assert breaks(deep({"type": "string"}), deep({"type": "string"})) == []
    assert "too deep" in breaks(deep({"type": "string"}), deep({"type": "null"}))[0][1]


# ---- search ----

COUNTS = st.integers(0, 3)
NUMBERS = st.integers(-1, 4)
NAMES = st.sampled_from("abc")
LEAVES = st.sampled_from(VALUES)
TYPES = st.sampled_from(["null", "boolean", "integer", "number", "string", "array", "object"])


def schemas():
    return st.recursive(st.booleans() | simple() | st.just({"$ref": "#/$defs/t"}), compound, max_leaves=6)


def simple():
    return st.fixed_dictionaries(
        {},
        optional={
            "type": TYPES | st.lists(TYPES, min_size=1, max_size=3, unique=True),
            "enum": st.lists(LEAVES, min_size=1, max_size=3),
            "const": LEAVES,
            "minimum": NUMBERS,
            "exclusiveMaximum": NUMBERS,
            "multipleOf": st.sampled_from([1, 2, 4]),
            "minLength": COUNTS,
            "maxLength": COUNTS,
            "pattern": st.sampled_from(["^a", "b"]),
            "minItems": COUNTS,
            "maxItems": COUNTS,
            "uniqueItems": st.booleans(),
            "required": st.lists(NAMES, max_size=2, unique=True),
            "minProperties": COUNTS,
            "maxProperties": COUNTS,
            "dependentRequired": st.dictionaries(NAMES, st.lists(NAMES, max_size=1), max_size=1),
        },
    ).map(lambda schema: dict(list(schema.items())[:3]))


def compound(inner):
    named = st.dictionaries(NAMES, inner, max_size=2)
    objects = st.fixed_dictionaries(
        {"type": st.just("object"), "properties": named},
        optional={
            "additionalProperties": inner,
            "patternProperties": st.dictionaries(st.sampled_from(["^a", "c"]), inner, max_size=1),
            "propertyNames": inner,
            "required": st.lists(NAMES, max_size=2, unique=True),
            "dependentSchemas": st.dictionaries(NAMES, inner, max_size=1),
            "unevaluatedProperties": st.booleans(),
        },
    )
    arrays = st.fixed_dictionaries(
        {"items": inner},
        optional={"prefixItems": st.lists(inner, min_size=1, max_size=2), "contains": inner, "maxItems": COUNTS},
    )
    several = st.lists(inner, min_size=1, max_size=3)
    unions = st.sampled_from(["anyOf", "oneOf", "allOf"]).flatmap(lambda word: st.fixed_dictionaries({word: several}))
    others = st.fixed_dictionaries({"not": inner}) | st.fixed_dictionaries({"if": inner, "then": inner, "else": inner})
    mixed = st.tuples(objects, unions).map(lambda both: both[0] | both[1])
    return objects | objects | arrays | unions | others | mixed


def whole(schema, definition):
    return {"$defs": {"t": definition}, "allOf": [schema]}


SMALL = [None, True, 0, 2, 3, 1.5, "", "a", "ab", [], [1], ["a", "a"], {}, {"a": 1}, {"b": "a"}, {"c": []}]
LISTS = [[], *([x] for x in SMALL), *([x, y] for x in SMALL[::2] for y in SMALL[::3]), [1, 2, "a"], [1, 1, 1]]
OBJECTS = [{name: x} for name in "abcx" for x in SMALL]
PAIRS = [{"a": x, other: y} for other in "bcx" for x in SMALL[::2] for y in SMALL[1::3]]
DEEP = [{"a": {"b": x}} for x in SMALL] + [{"a": {"a": x, "b": 1}, "c": "b"} for x in SMALL]
INSTANCES = [*VALUES, *LISTS, *OBJECTS, *PAIRS, *DEEP, {"a": 1, "b": 2, "c": 3}]


@st.composite
def pairs(draw):
    """Two schemas, mostly of the same parts: else nearly nothing is compatible."""
    definitions = st.booleans() | simple()
    definition = draw(definitions)
    old, new = draw(schemas()), draw(schemas())
    other = draw(st.just(definition) | definitions)
    mixtures = [(old, old), (old, {"anyOf": [old, new]}), ({"allOf": [old, new]}, old), (old, edited(draw, old))]
    before, after = draw(st.sampled_from([(old, new), *mixtures]))
    return whole(before, definition), whole(after, other)


def edited(draw, schema):
    """The schema with a keyword dropped, added or changed somewhere."""
    if not isinstance(schema, dict) or not schema:
        return draw(schemas())
    keyword = draw(st.sampled_from(sorted(schema)))
    value = schema[keyword]
    if keyword == "properties" and draw(st.booleans()):
        return schema | {keyword: value | {draw(NAMES): draw(schemas())}}
    if keyword in ("properties", "dependentSchemas", "patternProperties") and value:
        name = draw(st.sampled_from(sorted(value)))
        return schema | {keyword: value | {name: edited(draw, value[name])}}
    if keyword in ("items", "additionalProperties", "not", "propertyNames", "if", "contains"):
        return schema | {keyword: edited(draw, value)}
    if keyword in ("anyOf", "oneOf", "allOf", "prefixItems") and draw(st.booleans()):
        return schema | {keyword: [edited(draw, value[0]), *value[1:]]}
    if draw(st.booleans()):
        return {key: value for key, value in schema.items() if key != keyword}
    return schema | draw(simple())


def closed(schema, *, at_child=True):
    """The same without values under names that nothing declares: those are what adding a property may refuse."""
    if not isinstance(schema, dict):
        return schema
    found = dict(schema)
    for keyword, value in schema.items():
        if keyword in ("items", "additionalProperties", "contains"):
            found[keyword] = closed(value)
        elif keyword == "prefixItems":
            found[keyword] = [closed(item) for item in value]
        elif keyword in ("anyOf", "oneOf", "allOf"):
            found[keyword] = [closed(item, at_child=False) for item in value]
        elif keyword in ("properties", "patternProperties"):
            found[keyword] = {name: closed(item) for name, item in value.items()}
        elif keyword in ("$defs", "dependentSchemas"):
            found[keyword] = {name: closed(item, at_child=False) for name, item in value.items()}
    if at_child and found and "unevaluatedProperties" not in found:
        found["unevaluatedProperties"] = False
    return found


@settings(max_examples=150, deadline=None)
@given(pairs(), st.booleans())
def test_what_is_called_compatible_refuses_no_instance(pair, inverted):
    old, new = pair[::-1] if inverted else pair
    assume(not breaks(old, new, inverted=inverted))
    declared, narrow, wide = (Draft202012Validator(schema) for schema in (closed(pair[0]), *pair))
    for instance in INSTANCES:
        if not wide.is_valid(instance):
            assert not (narrow.is_valid(instance) and declared.is_valid(instance)), (instance, pair)
