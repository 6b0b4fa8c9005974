"""The layer of each leaf is told by the same rules by which configs are merged."""

import json
from functools import reduce

from hypothesis import given
from hypothesis import strategies as st

from stdworker import protocol_files
from stdworker.model.config import merge
from stdworker.model.json_text import RawJson, dumps, equal
from stdworker.model.layers import Layer, leaves
from stdworker.model.pointer import find

DOCUMENTS = st.recursive(
    st.none() | st.integers(0, 3) | st.just([]) | st.just([1]),
    lambda inner: st.dictionaries(st.sampled_from("ab/~"), inner, max_size=3),
    max_leaves=8,
)


def layers(*documents):
    return [Layer(str(n), None if document is None else dumps(document)) for n, document in enumerate(documents)]


def told(*documents):
    return [(leaf.path, leaf.value.value(), leaf.layer) for leaf in leaves(layers(*documents))]


def pointers(value, path=""):
    if isinstance(value, dict) and value:
        for key, inner in value.items():
            yield from pointers(inner, f"{path}/{key.replace('~', '~0').replace('/', '~1')}")
    else:
        yield path


def test_each_leaf_names_the_topmost_layer_that_set_it():
    default = {"mode": "stream", "settings": {"region": "eu", "size": 1}}
    override = {"settings": {"size": 2}}

    assert told(default, override) == [
        ("/mode", "stream", "0"),
        ("/settings/region", "eu", "0"),
        ("/settings/size", 2, "1"),
    ]


def test_what_a_leaf_replaced_is_kept_the_nearest_layer_first():
    (leaf,) = leaves(layers({"a": 1}, {"a": 2}, {"a": 3}))

    assert leaf.replaced == (("1", b"2"), ("0", b"1"))


def test_null_and_arrays_replace():
    assert told({"a": [1, 2], "b": {"c": 1}}, {"a": [3], "b": None}) == [("/a", [3], "1"), ("/b", None, "1")]


def test_nothing_at_all_has_no_leaves():
    assert told(None, None) == []


@given(st.lists(st.none() | DOCUMENTS, min_size=1, max_size=4))
def test_the_leaves_are_those_of_the_effective_config(documents):
    raws = [None if document is None else dumps(document) for document in documents]
    effective = reduce(merge, raws)

    found = leaves([Layer(str(n), raw) for n, raw in enumerate(raws)])

    if effective is None:
        assert found == []
        return
    assert sorted(leaf.path for leaf in found) == sorted(pointers(effective.value()))
    for leaf in found:
        assert equal(find(effective, leaf.path), leaf.value)
        source = raws[int(leaf.layer)]
        assert source is not None
        assert equal(find(source, leaf.path), leaf.value)
        for name, value in leaf.replaced:
            assert int(name) < int(leaf.layer)
            assert value


def test_every_merge_vector_has_the_leaves_of_its_result():
    for vector in json.loads(protocol_files.read("kind/v1/merge-vectors.json"))["spec"]:
        default, override = (
            RawJson(vector[name].encode()) if vector[name] else None for name in ("default", "override")
        )
        effective = merge(default, override)
        found = leaves([Layer("default", default), Layer("override", override)])
        expected = [] if effective is None else list(pointers(effective.value()))
        assert sorted(leaf.path for leaf in found) == sorted(expected), vector["name"]
