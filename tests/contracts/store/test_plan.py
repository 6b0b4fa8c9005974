"""Labels of kinds and configs, and dry runs of everything, on every store."""

import hashlib
from dataclasses import replace

import pytest

from stdworker.engine.reconcile import Engine
from stdworker.engine.store.declarations import ApplyDocument, ConfigDeclaration, KindDeclaration
from stdworker.errors import Invalid
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion
from stdworker.model.resource import Ref

MAKE = {"name": "make", "trigger": "specChange", "emits": ["status", "conditions"]}
LEAF = {
    "kind": "leaf",
    "kind_version": 1,
    "reactions": [MAKE],
    "spec_schema": {"properties": {"n": {"type": "number"}}},
}
PAIR = KindVersion("leaf")


def leaf(name, spec=b"{}", **more):
    return ApplyDocument("leaf", 1, name, RawJson(spec), **more)


def test_kinds_and_configs_keep_the_labels_that_are_not_given(with_engine):
    async def scenario(engine: Engine) -> None:
        config = ConfigDeclaration("c", PAIR, is_default=True, spec=RawJson(b"{}"))
        assert (await engine.publish_kind(LEAF, "ada", labels={"a": "1"}))[0] == "created"
        assert (await engine.put_config(replace(config, labels={"a": "1"}), "ada"))[0] == "created"
        for labels, result, expected in (
            ({"a": "1"}, "unchanged", {"a": "1"}),
            ({"b": "2"}, "configured", {"b": "2"}),
            (None, "configured", {}),
        ):
            told, kind = await engine.publish_kind(LEAF, "ada", labels=labels)
            assert (told, kind.labels) == (result, expected)
            told, stored = await engine.put_config(replace(config, labels=labels), "ada")
            assert (told, stored.labels) == (result, expected)
        await engine.publish_kind(LEAF, "ada", labels={"kept": "1"})
        assert (await engine.publish_kind(LEAF, "ada"))[0] == "unchanged"
        assert (await engine.publish_kind(LEAF | {"description": "Other."}, "ada"))[1].labels == {"kept": "1"}
        await engine.put_config(replace(config, labels={"kept": "1"}), "ada")
        _, stored = await engine.put_config(replace(config, spec=RawJson(b'{"x":1}')), "ada")
        assert stored.labels == {"kept": "1"}

    with_engine(scenario)


def test_labels_alone_run_nothing_again(with_engine):
    async def scenario(engine: Engine) -> None:
        _, before = await engine.publish_kind(LEAF, "ada")
        config = ConfigDeclaration("c", PAIR, is_default=True)
        await engine.put_config(config, "ada")
        revisions = await engine.default_configs([PAIR])
        await engine.publish_kind(LEAF, "ada", labels={"a": "1"})
        await engine.put_config(replace(config, labels={"a": "1"}), "ada")
        assert (await engine.kind(PAIR)).manifest_version == before.manifest_version
        assert await engine.default_configs([PAIR]) == revisions
        told = [event.type for event in await engine.events()]
        assert told == ["KindPublished", "ConfigCreated", "KindLabelsChanged", "ConfigLabelsChanged"]

    with_engine(scenario)


def test_labels_that_are_too_many_are_refused(with_engine):
    async def scenario(engine: Engine) -> None:
        with pytest.raises(Invalid, match="at most 64 labels, got 65"):
            await engine.publish_kind(LEAF, "ada", labels={str(number): "" for number in range(65)})

    with_engine(scenario)


def test_a_plan_says_what_each_would_do_after_those_before_it_and_stores_nothing(with_engine):
    async def scenario(engine: Engine) -> None:
        plan = [
            KindDeclaration(LEAF),
            ConfigDeclaration("c", PAIR, spec=RawJson(b'{"settings":{"token":"sesame"}}'), bundle=b"PK"),
            leaf("a", b'{"n":1.0}', provider_config_ref="c", labels={"x": "y"}),
            leaf("b", b'{"n":"no"}'),
        ]
        kind, config, resource, wrong = await engine.plan(plan, "ada")
        assert [planned.result for planned in (kind, config, resource)] == ["created"] * 3
        assert kind.before is config.before is resource.before is None
        assert config.after.value() == {
            "kind": "leaf",
            "kind_version": 1,
            "name": "c",
            "is_default": False,
            "spec": {"settings": {"token": "***"}},
            "data": f"2 bytes, sha256 {hashlib.sha256(b'PK').hexdigest()}",
        }
        assert b'"spec":{"n":1.0}' in resource.after
        assert b'"provider_config_ref":"c"' in resource.after
        assert isinstance(wrong, Invalid)
        assert await engine.kinds() == []
        assert await engine.events() == []

    with_engine(scenario)


def test_a_plan_shows_both_sides_of_a_change(with_engine):
    async def scenario(engine: Engine) -> None:
        await engine.publish_kind(LEAF, "ada")
        await engine.apply([leaf("a", b'{"n":1}')], "ada")
        [same, other] = await engine.plan([leaf("a", b'{"n":1}'), leaf("a", b'{"n":2}')], "ada")
        assert (same.result, other.result) == ("unchanged", "configured")
        assert (other.before.value()["spec"], other.after.value()["spec"]) == ({"n": 1}, {"n": 2})
        [kind] = await engine.plan([KindDeclaration(LEAF | {"description": "Other."})], "ada")
        assert (kind.result, kind.before.value()) == ("configured", LEAF)
        assert (await engine.get(Ref("leaf", "a"))).generation == 1

    with_engine(scenario)
