import copy
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stdworker.errors import JsonError
from stdworker.model.json_text import RawJson, dumps, escape_token
from stdworker.model.pointer import find, parse, replace

DOCUMENT = RawJson(b'{"foo": ["bar", "baz"], "": 0, "a/b": 1.0, "c%d": 2, "m~n": {"deep": 9007199254740993}}')
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)


@pytest.mark.parametrize(
    ("pointer", "value"),
    [
        ("", DOCUMENT),
        ("/foo", b'["bar", "baz"]'),
        ("/foo/0", b'"bar"'),
        ("/", b"0"),
        ("/a~1b", b"1.0"),
        ("/c%d", b"2"),
        ("/m~0n/deep", b"9007199254740993"),
    ],
)
def test_the_examples_of_the_rfc_are_found_verbatim(pointer, value):
    assert find(DOCUMENT, pointer) == value


@pytest.mark.parametrize("pointer", ["/nope", "/foo/2", "/foo/-", "/foo/01", "/foo/x", "/a~1b/x", "/foo/0/0"])
def test_what_is_not_there_is_none(pointer):
    assert find(DOCUMENT, pointer) is None


def test_a_pointer_starts_with_a_slash():
    with pytest.raises(JsonError, match="must start with"):
        parse("foo")


def test_tokens_are_unescaped_in_the_right_order():
    assert parse("/~01/~1") == ["~1", "/"]


def test_replacing_leaves_every_other_token_alone():
    changed = replace(b'{"z":1.0,"a":{"b":1e2,"c":12345678901234567890123}}', "/a/b", RawJson(b"true"))
    assert changed == b'{"z":1.0,"a":{"b":true,"c":12345678901234567890123}}'


@pytest.mark.parametrize(
    ("document", "pointer", "after"),
    [
        (b"{}", "/a/b/c", {"a": {"b": {"c": 7}}}),
        (b'{"a":[1,2]}', "/a/1", {"a": [1, 7]}),
        (b'{"a":[1]}', "/a/-", {"a": [1, 7]}),
        (b'{"a":[1]}', "/a/1", {"a": [1, 7]}),
        (b'{"a":[]}', "/a/0/b", {"a": [{"b": 7}]}),
        (b"null", "", 7),
        (b'{"":1}', "/", {"": 7}),
    ],
)
def test_missing_parents_are_made(document, pointer, after):
    assert json.loads(replace(document, pointer, RawJson(b"7"))) == after


@pytest.mark.parametrize(
    ("document", "pointer", "path", "told"),
    [
        (b'{"a":"text"}', "/a/b", "/a", "inside a string"),
        (b'{"a":{"b":5}}', "/a/b/c", "/a/b", "inside a number"),
        (b'{"a":true}', "/a/0", "/a", "inside a boolean"),
        (b'{"a":null}', "/a/b", "/a", "inside a null"),
        (b'{"a":[1]}', "/a/5", "/a", "no place '5'"),
        (b'{"a":[1]}', "/a/x", "/a", "no place 'x'"),
    ],
)
def test_a_place_that_cannot_be_is_refused_naming_the_parent(document, pointer, path, told):
    with pytest.raises(JsonError, match=told) as error:
        replace(document, pointer, RawJson(b"7"))
    assert (error.value.path, error.value.code) == (path, "wrong_target")


@given(st.dictionaries(texts, st.dictionaries(texts, st.integers(), max_size=3), max_size=3), texts, texts)
def test_what_was_set_is_found(document, outer, inner):
    pointer = f"/{escape_token(outer)}/{escape_token(inner)}"
    changed = replace(dumps(document), pointer, RawJson(b'"new"'))
    expected = copy.deepcopy(document)
    expected.setdefault(outer, {})[inner] = "new"
    assert find(changed, pointer) == b'"new"'
    assert json.loads(changed) == expected
