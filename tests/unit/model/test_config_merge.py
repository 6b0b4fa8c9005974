"""default ⊕ override: the shared vectors, and what holds for any two documents."""

import base64
import json
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stdworker import protocol_files
from stdworker.errors import ConfigError, JsonError
from stdworker.model.config import effective_bundle, effective_config, merge
from stdworker.model.json_text import RawJson, check, dumps

VECTORS = json.loads(protocol_files.read("kind/v1/merge-vectors.json"))

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
scalars = st.none() | st.booleans() | st.integers() | texts
values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3), max_leaves=8
)
objects = st.dictionaries(texts, values, max_size=4)


def encoded(text):
    return None if text is None else text.encode()


@pytest.mark.parametrize("vector", VECTORS["spec"], ids=lambda vector: vector["name"])
def test_the_spec_vectors(vector):
    merged = merge(encoded(vector["default"]), encoded(vector["override"]))
    if "effective_bytes" in vector:
        assert merged == vector["effective_bytes"].encode()
    elif "effective_text_contains" in vector:
        assert all(part.encode() in merged for part in vector["effective_text_contains"])
    else:
        assert (None if merged is None else json.loads(merged)) == vector["effective"]


@pytest.mark.parametrize("vector", VECTORS["bundle"])
def test_the_bundle_vectors(vector):
    default, override, effective = (
        None if vector[name] is None else base64.b64decode(vector[name])
        for name in ("default", "override", "effective")
    )
    assert effective_bundle(default, override) == effective


def reference(default, override):
    """The rule on Python values."""
    if not (isinstance(default, dict) and isinstance(override, dict)):
        return override
    both = {key: reference(default[key], value) if key in default else value for key, value in override.items()}
    return {**default, **both}


@given(objects, objects)
def test_objects_merge_member_by_member(default, override):
    assert merge(dumps(default), dumps(override)).value() == reference(default, override)


@given(objects)
def test_merging_with_itself_or_with_nothing_changes_nothing(document):
    text = dumps(document)
    assert merge(text, text).value() == document
    assert merge(text, b"{}").value() == document
    assert merge(text, None) == text
    assert merge(None, text) == text


@given(objects, objects)
def test_an_override_merged_twice_is_merged_once(default, override):
    once = merge(dumps(default), dumps(override))
    assert merge(once, dumps(override)).value() == once.value()


@given(objects, values)
def test_an_override_that_is_no_object_never_wipes_the_default(default, override):
    if not isinstance(override, dict):
        assert merge(dumps(default), dumps(override)) == dumps(default)


@given(objects, objects)
def test_the_result_is_legal_json_again(default, override):
    check(merge(dumps(default), dumps(override)))


def test_numbers_and_key_order_survive_a_merge():
    merged = merge(b'{"z": 1.0, "a": 123456789012345678901234567890}', b'{"b": 1e2}')
    assert merged == b'{"z":1.0,"a":123456789012345678901234567890,"b":1e2}'


@dataclass
class Region:
    name: str
    zones: list[int]
    size: int = 3


def test_a_config_is_decoded_into_a_type():
    config = effective_config(b'{"name":"eu","zones":[1]}', b'{"zones":[2,3]}', into=Region)
    assert config == Region("eu", [2, 3])


@pytest.mark.parametrize(
    ("override", "path", "told"),
    [
        (b'{"name": 7}', "/name", "Expected `str`, got `int`"),
        (b'{"zones": [1, "two"]}', "/zones/1", "Expected `int`, got `str`"),
        (b"{}", "", "missing required field `name`"),
    ],
)
def test_a_config_that_does_not_fit_is_loud_and_names_the_path(override, path, told):
    default = None if not path else b'{"name":"eu","zones":[1]}'
    with pytest.raises(ConfigError, match=told) as error:
        effective_config(default, override, into=Region)
    assert error.value.path == path


def test_no_config_decodes_as_the_defaults_of_a_type():
    @dataclass
    class Relaxed:
        size: int = 3

    assert effective_config(None, None, into=Relaxed) == Relaxed()
    assert effective_config(None, None) is None


def test_a_config_that_is_not_json_is_an_error():
    with pytest.raises(JsonError):
        effective_config(b'{"a":', None)
    with pytest.raises(ConfigError, match="not JSON"):
        effective_config(b'{"a":', None, into=Region)


def test_each_decoding_is_a_copy_of_its_own():
    default = RawJson(b'{"list":[1]}')
    effective_config(default, None)["list"].append(2)
    assert effective_config(default, None) == {"list": [1]}
