"""JSON goes through unchanged, and what can't is refused naming the place."""

import contextlib
import gc
import json
from enum import Enum
from uuid import UUID

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from stdworker.errors import JsonError
from stdworker.model.json_text import (
    GC_PAUSED_BYTES,
    RawJson,
    ascii_line,
    check,
    dumps,
    elements,
    equal,
    join_elements,
    join_members,
    loads,
    members,
)


class Colour(Enum):
    RED = "red"
    NONE = float("nan")


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4), max_leaves=12
)


@st.composite
def written(draw):
    """A value as another program may have written it."""
    indent = draw(st.none() | st.integers(0, 2))
    return json.dumps(draw(values), ensure_ascii=draw(st.booleans()), indent=indent).encode()


@given(values)
@example(2**53 + 1)
@example(2**64)
@example([-(10**30)])
@example({"\u2028": "\x85", "😀": None})
def test_what_is_written_reads_the_same(value):
    document = dumps(value)
    assert document.isascii()
    assert b"\n" not in document
    assert check(document).value() == value


@given(written())
def test_whatever_python_writes_is_accepted_as_it_is(document):
    assert check(document) == document
    assert check(document).value() == json.loads(document)


@given(written())
def test_a_checked_document_may_be_checked_again(document):
    assert check(check(document)) == document


@given(written())
def test_one_line_of_ascii_says_the_same(document):
    line = ascii_line(check(document))
    assert line.isascii()
    assert b"\n" not in line
    assert b"\r" not in line
    assert json.loads(line) == json.loads(document)


def test_a_verbatim_line_keeps_tokens_and_blanks():
    assert ascii_line(b'{"b": 1.0,\r\n "a":\t1e2}') == b'{"b": 1.0,   "a":\t1e2}'
    assert ascii_line('{"é": "😀"}'.encode()) == b'{"\\u00e9": "\\ud83d\\ude00"}'


@pytest.mark.parametrize(
    ("document", "path", "code"),
    [
        (b"", "", "cut_short"),
        (b"   ", "", "cut_short"),
        (b'{"a":', "/a", "cut_short"),
        (b"{'a':1}", "", "bad_json"),
        (b'{"a":1,}', "", "bad_json"),
        (b"[1,]", "/1", "bad_json"),
        (b"1 2", "", "trailing_text"),
        (b'{"a":01}', "/a", "bad_json"),
        (b'{"a":+1}', "/a", "bad_json"),
        (b'{"a":[1,NaN]}', "/a/1", "not_finite"),
        (b'{"a":-Infinity}', "/a", "not_finite"),
        (b'{"a":1e999}', "/a", "not_finite"),
        (b'{"a":' + b"1" * 1_001 + b"}", "/a", "number_too_long"),
        (b'{"a":{"b":1,"b":2}}', "/a/b", "duplicate_key"),
        (b'{"a":1,"\\u0061":2}', "/a", "duplicate_key"),
        (b'[{"x":1,"x":1}]', "/0/x", "duplicate_key"),
        (b'{"a":"\\ud800"}', "/a", "lone_surrogate"),
        (b'{"a":"\xff"}', "", "not_utf8"),
        (b'{"a":"\xed\xa0\x80"}', "", "not_utf8"),
        (b'{"a":"x\ny"}', "/a", "bad_string"),
        (b'{"a":"\\q"}', "/a", "bad_string"),
        (b"[" * 101 + b"]" * 101, "/0" * 100, "too_deep"),
        (b"nul", "", "bad_json"),
        (b"[1}", "", "bad_json"),
        (b'{"~/":tru}', "/~0~1", "bad_json"),
    ],
)
def test_what_cannot_be_carried_is_refused_naming_the_place(document, path, code):
    with pytest.raises(JsonError) as error:
        check(document)
    assert (error.value.path, error.value.code) == (path, code)


keys = st.sampled_from(['"a"', '"b"', r'"\u0061"', '":"', r'"\u003a"', '""'])
atoms = st.sampled_from(["1", '":"', r'"\u003a\u003A"', "null", '"{[:,"'])
repeating = st.recursive(
    atoms,
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda items: f"[{','.join(items)}]")
        | st.lists(st.tuples(keys, inner), max_size=3).map(lambda m: "{" + ",".join(map(":".join, m)) + "}")
    ),
    max_leaves=10,
)


@given(repeating)
@example(r'{"a":1,"a":"\u003a"}')
@example(r'[{"a":1,"a":2},"\u003A"]')
def test_a_key_that_appears_twice_is_found_wherever_it_is(document):
    repeats = []

    def pairs(found):
        repeats.extend(key for key, _ in found if [k for k, _ in found].count(key) > 1)

    json.loads(document, object_pairs_hook=pairs)
    try:
        refused = check(document.encode()) and None
    except JsonError as error:
        refused = error.code
    assert refused == ("duplicate_key" if repeats else None)


@pytest.mark.parametrize("end", [b"]", b",nope]"])
def test_the_collector_runs_again_after_a_large_document(end):
    with contextlib.suppress(JsonError):
        check(b"[0" + b",[]" * GC_PAUSED_BYTES + end)

    assert gc.isenabled()


@pytest.mark.parametrize(("digits", "accepted"), [(999, True), (1_000, True), (1_001, False)])
@pytest.mark.parametrize("form", ["{}", "1{}", "0.{}", "1e-{}", "-{}"])
def test_a_number_has_at_most_a_thousand_characters(digits, accepted, form):
    number = form.format("7" * (digits + 2 - len(form)))
    assert len(number) == digits
    if accepted:
        assert check(f'{{"a":{number}}}'.encode()) == f'{{"a":{number}}}'.encode()
    else:
        with pytest.raises(JsonError, match="1001 characters"):
            check(f'{{"a":{number}}}'.encode())


@pytest.mark.parametrize(
    "document",
    [
        b"[" * 100 + b"]" * 100,
        b'"' + b"[{" * 200 + b'"',
        b'{"a:b:c":":"}',
        b'{"a":' + b"1" * 1_000 + b"}",
        b"1e308",
        b"-0.0",
        b' {"a" : [ ] } ',
        b'"\\ud83d\\ude00"',
        b'"1234567890123456789012345"',
        b'{"a":{"a":{"a":1}}}',
    ],
)
def test_what_looks_suspicious_but_is_legal_is_accepted(document):
    assert check(document) == document


@pytest.mark.parametrize(
    ("value", "path", "told"),
    [
        ({"a": [1, float("nan")]}, "/a/1", "nan"),
        ({"a": float("inf")}, "/a", "inf"),
        ({"a/b": "\ud800"}, "/a~1b", "surrogate"),
        ({"a": {1, 2}}, "/a", "set"),
        ({1: 2}, "", "not a string"),
        (b"bytes", "", "bytes"),
        ([object()], "/0", "object"),
        ({"a": {"\ud800": 1}}, "/a", "surrogate"),
        ({"a": 10**1_000}, "/a", "more than 1000 characters"),
        ({"a": [-(10**999)]}, "/a/0", "more than 1000 characters"),
        ({"a": 10**5_000}, "/a", "more than 1000 characters"),
        ([Colour.NONE], "/0", "nan"),
    ],
)
def test_a_value_that_json_cannot_say_is_refused_naming_the_place(value, path, told):
    with pytest.raises(JsonError, match=told) as error:
        dumps(value)
    assert error.value.path == path


@pytest.mark.parametrize("beside", [1, 2**64], ids=["small numbers", "large numbers"])
def test_members_of_enums_and_uuids_are_written_whatever_stands_beside_them(beside):
    uid = UUID(int=7)
    assert dumps([Colour.RED, uid, beside]) == dumps(["red", str(uid), beside])


def nested(depth):
    value = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize("depth", [101, 200, 500, 5_000])
def test_values_nested_too_deep_are_refused(depth):
    with pytest.raises(JsonError, match="deeper"):
        dumps(nested(depth))


def test_values_may_be_nested_a_hundred_deep():
    assert check(dumps(nested(100))) == b"[" * 100 + b"]" * 100


def test_null_and_other_characters_are_written_exactly():
    assert dumps({"a": None, "é": ["😀", 1.0]}) == b'{"a":null,"\\u00e9":["\\ud83d\\ude00",1.0]}'


def test_a_raw_document_inside_a_value_is_refused_rather_than_misread():
    with pytest.raises(JsonError, match="/a"):
        dumps({"a": RawJson(b"1")})


def test_integers_of_any_size_are_exact():
    assert loads(b"[9007199254740993,18446744073709551616]") == [2**53 + 1, 2**64]


@given(values, st.randoms())
def test_equal_ignores_key_order_and_blanks(value, random):
    def shuffled(item):
        if isinstance(item, dict):
            keys = list(item)
            random.shuffle(keys)
            return {key: shuffled(item[key]) for key in keys}
        return [shuffled(inner) for inner in item] if isinstance(item, list) else item

    assert equal(json.dumps(value).encode(), json.dumps(shuffled(value), indent=1).encode())


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        (b"1", b"1.0", False),
        (b"1", b'"1"', False),
        (b"100", b"1e2", False),
        (b'{"a":1}', b'{"a":1,"b":null}', False),
        (b'"\\u0061"', b'"a"', True),
        (b"[1,2]", b"[2,1]", False),
        (b"0", b"false", False),
        (b"1", b"true", False),
        (None, b"null", False),
        (None, None, True),
    ],
)
def test_equal_takes_numbers_as_they_are_written(a, b, same):
    assert equal(a, b) is same


@given(st.dictionaries(texts, values, max_size=4))
def test_members_are_verbatim_and_join_again(value):
    document = dumps(value)
    parts = members(document)
    assert list(parts) == list(value)
    assert equal(join_members(parts), document)


@given(st.lists(values, max_size=4))
def test_elements_are_verbatim_and_join_again(value):
    document = dumps(value)
    assert equal(join_elements(elements(document)), document)


@pytest.mark.parametrize("document", [b"1", b"[]", b"null", b'{"a":', b""])
def test_what_is_no_object_has_no_members(document):
    assert members(document) is None


@pytest.mark.parametrize("document", [b"1", b"{}", b"null", b"[1"])
def test_what_is_no_array_has_no_elements(document):
    assert elements(document) is None
