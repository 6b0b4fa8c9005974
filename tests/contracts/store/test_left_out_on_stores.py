"""What a declaration leaves out stays as it is, null clears it (decision 39)."""

from __future__ import annotations

import pytest

from stdworker.engine.reconcile import Engine
from stdworker.engine.store.declarations import BindingDeclaration, ConfigDeclaration
from stdworker.errors import Invalid
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion

PAIR = KindVersion("leaf")
LEAF = {"kind": "leaf", "kind_version": 1, "reactions": [{"name": "w", "trigger": "specChange", "emits": ["status"]}]}
EAR = {"kind": "ear", "kind_version": 1, "reactions": [{"name": "h", "trigger": "reactor", "emits": ["sideEffect"]}]}


def test_what_a_config_leaves_out_is_kept_and_null_clears_it(with_engine):
    async def scenario(engine: Engine) -> None:
        whole = ConfigDeclaration("c", PAIR, True, RawJson(b'{"n": 1.0}'), b"bundle", {"a": "1"})
        _, before = await engine.put_config(whole, "ada")
        result, kept = await engine.put_config(ConfigDeclaration("c", PAIR), "ada")
        assert (result, kept) == ("unchanged", before)
        result, edited = await engine.put_config(ConfigDeclaration("c", PAIR, spec=RawJson(b'{"n":2}')), "ada")
        assert (result, edited.is_default, edited.bundle, edited.spec) == ("configured", True, b"bundle", b'{"n":2}')
        _, cleared = await engine.put_config(ConfigDeclaration("c", PAIR, False, None, None, None), "ada")
        assert (cleared.is_default, cleared.spec, cleared.bundle, cleared.labels) == (False, None, None, {})

    with_engine(scenario, LEAF, EAR)


def test_what_a_new_config_leaves_out_it_does_not_have(with_engine):
    async def scenario(engine: Engine) -> None:
        _, made = await engine.put_config(ConfigDeclaration("c", PAIR), "ada")
        assert (made.is_default, made.spec, made.bundle, made.labels) == (False, None, None, {})

    with_engine(scenario, LEAF, EAR)


def test_what_a_binding_leaves_out_is_kept_and_null_clears_it(with_engine):
    async def scenario(engine: Engine) -> None:
        whole = BindingDeclaration("b", "leaf", "failed", "ear", 1, 1, {"a": "1"}, False, {"mine": "1"})
        _, before = await engine.put_binding(whole, "ada")
        result, kept = await engine.put_binding(BindingDeclaration("b", "leaf", "failed", "ear"), "ada")
        assert (result, kept) == ("unchanged", before)
        result, moved = await engine.put_binding(BindingDeclaration("b", "leaf", "synced", "ear"), "ada")
        assert (result, moved.transition, moved.enabled) == ("configured", "synced", False)
        cleared = BindingDeclaration("b", "leaf", "synced", "ear", None, None, None, True, None)
        _, row = await engine.put_binding(cleared, "ada")
        assert (row.watch_kind_version, row.reactor_version, row.label_match) == (None, None, "{}")
        assert (row.enabled, row.labels) == (True, "{}")

    with_engine(scenario, LEAF, EAR)


def test_what_a_binding_keeps_must_still_fit(with_engine):
    async def scenario(engine: Engine) -> None:
        await engine.publish_kind({**LEAF, "kind": "bush", "kind_version": 2}, "ada")
        await engine.put_binding(BindingDeclaration("b", "leaf", "failed", "ear", 1), "ada")
        with pytest.raises(Invalid, match="bush has no such version"):
            await engine.put_binding(BindingDeclaration("b", "bush", "failed", "ear"), "ada")

    with_engine(scenario, LEAF, EAR)
