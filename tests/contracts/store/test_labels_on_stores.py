"""Which labels anything may have."""

from __future__ import annotations

import pytest

from stdworker.engine.reconcile import Engine
from stdworker.engine.store.declarations import ApplyDocument, BindingDeclaration, ConfigDeclaration
from stdworker.engine.store.records import ResourceFilter
from stdworker.errors import Invalid
from stdworker.model.kind import KindVersion

LEAF = {"kind": "leaf", "kind_version": 1, "reactions": [{"name": "w", "trigger": "specChange", "emits": ["status"]}]}
EAR = {"kind": "ear", "kind_version": 1, "reactions": [{"name": "h", "trigger": "reactor", "emits": ["sideEffect"]}]}
LEGAL = ["a", "a.b_c-D9", "converge.sh/app", f"{'d' * 253}/{'n' * 63}"]
ILLEGAL = ["", "a:b", "a=b", "a b", "a,b", "-a", "a.", "a/b/c", "/a", "A.b/c", "é", "n" * 64, f"{'d' * 254}/n", "a\n"]


def test_what_is_labelled_is_found_by_it(with_engine):
    async def scenario(engine: Engine) -> None:
        labels = dict.fromkeys(LEGAL, "any: value = is, text")
        await engine.apply([ApplyDocument("leaf", 1, "a", labels=labels)], "ada")
        for key in LEGAL:
            found = await engine.find(ResourceFilter(labels={key: labels[key]}))
            assert [record.name for record in found.items] == ["a"]

    with_engine(scenario, LEAF, EAR)


def test_a_key_that_nothing_could_be_found_by_is_refused_everywhere(with_engine):
    async def scenario(engine: Engine) -> None:
        for key in ILLEGAL:
            labels = {key: "x"}
            (refused,) = await engine.apply([ApplyDocument("leaf", 1, "a", labels=labels)], "ada")
            assert isinstance(refused, Invalid)
            assert f"{key!r} is no label key" in refused.message
            for call in (
                engine.publish_kind(LEAF, "ada", labels=labels),
                engine.put_config(ConfigDeclaration("c", KindVersion("leaf"), labels=labels), "ada"),
                engine.put_binding(BindingDeclaration("b", "leaf", "failed", "ear", labels=labels), "ada"),
                engine.put_binding(BindingDeclaration("b", "leaf", "failed", "ear", label_match=labels), "ada"),
            ):
                with pytest.raises(Invalid, match="is no label key"):
                    await call

    with_engine(scenario, LEAF, EAR)
