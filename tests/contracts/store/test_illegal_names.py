"""A name that there can't be is refused with what has it, and with nothing else: Postgres takes none with a NUL."""

from __future__ import annotations

import pytest

from stdworker.engine.reconcile import Engine
from stdworker.engine.store.claims import Settlement, Want
from stdworker.engine.store.declarations import ApplyDocument
from stdworker.errors import Invalid
from stdworker.model.config import ProviderConfigSpec
from stdworker.model.kind import KindVersion
from stdworker.model.outcome import Outcome
from stdworker.model.resource import Ref

LEAF = {"kind": "leaf", "kind_version": 1, "reactions": [{"name": "w", "trigger": "specChange", "emits": ["status"]}]}
PLAN = {"name": "plan", "trigger": "specChange", "emits": ["children", "configs", "status"]}
GROUP = {"kind": "group", "kind_version": 1, "reactions": [PLAN]}


@pytest.mark.parametrize(
    "odd",
    [
        ApplyDocument("leaf", 1, "a\0"),
        ApplyDocument("leaf\0", 1, "b"),
        ApplyDocument("leaf", 1, "b", provider_config_ref="c\0"),
    ],
)
def test_a_document_with_one_fails_alone(with_engine, odd):
    async def scenario(engine: Engine) -> None:
        for apply in (engine.plan, engine.declare):
            good, bad = await apply([ApplyDocument("leaf", 1, "a"), odd], "ada")
            assert (good.result, type(bad)) == ("created", Invalid)

    with_engine(scenario, LEAF)


def test_a_result_with_one_fails_alone(with_engine):
    async def scenario(engine: Engine) -> None:
        await engine.declare([ApplyDocument("group", 1, name) for name in "ab"], "ada")
        claims = await engine.claim([Want(KindVersion("group"), 2, "worker")], "broker")
        outcomes = [Outcome(configs=[ProviderConfigSpec(name, "leaf", 1)]) for name in ("c", "c\0")]
        results = [Settlement(claim.lease, claim.stage, made) for claim, made in zip(claims, outcomes, strict=True)]
        assert await engine.settle(results) == [True, True]
        failures = [(await engine.get(Ref("group", name))).failure_reason for name in "ab"]
        assert failures == ["", "InvalidConfigs"]

    with_engine(scenario, LEAF, GROUP)
