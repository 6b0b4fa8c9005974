"""The engine's verbs: which decision answers which call, and what may share a transaction."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Any, TypeVar

from stdworker.engine.reconcile import (
    apply,
    bindings,
    configs,
    deliver,
    hasten,
    leases,
    operate,
    orphans,
    plan,
    publish,
    quarantine,
    recheck,
    resync,
    revisions,
    settle,
    sweeps,
)
from stdworker.engine.reconcile.batcher import Verb
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store import catalog, events, members, reactors
from stdworker.engine.store.claims import Claim, VoidedLease
from stdworker.model.task import Lease

DEAD_LETTERS_KEEP = 10_000
WRITER_KEPT_MS = 24 * 3_600_000  # longer than a commit can be in doubt, by far
MEMBER_KEPT_MS = 60_000  # a process that was killed is shown as lost for so long

T = TypeVar("T")


def _settle(uow: UnitOfWork, calls: list[Any]) -> list[list[bool]]:
    landed = settle.settle(uow, [settlement for settlements in calls for settlement in settlements])
    return _split(landed, [len(settlements) for settlements in calls])


def _attest(uow: UnitOfWork, calls: list[Any]) -> list[list[Lease]]:
    return [leases.attest(uow, broker, worker, held) for broker, worker, held in calls]


def _release(uow: UnitOfWork, calls: list[Any]) -> list[None]:
    leases.lock(uow, [lease for _, held, _ in calls for lease in held])
    for broker, held, counted in calls:
        leases.release(uow, broker, held, counted=counted)
    return [None] * len(calls)


def _progress(uow: UnitOfWork, calls: list[Any]) -> list[None]:
    leases.progress(uow, calls)
    return [None] * len(calls)


def _voided(uow: UnitOfWork, calls: list[Any]) -> list[list[VoidedLease]]:
    return [leases.voided(uow, broker) for broker in calls]


def _claim(uow: UnitOfWork, calls: list[Any]) -> list[list[Claim]]:
    return [leases.claim(uow, broker, wants) for broker, wants in calls]


def _together(decide: Callable[..., Sequence[T]]) -> Callable[[UnitOfWork, list[Any]], list[list[T]]]:
    """A verb whose calls are an actor and documents: all of one actor are decided together."""

    def run(uow: UnitOfWork, calls: list[Any]) -> list[list[T]]:
        answers: list[list[T]] = []
        for actor, group in groupby(calls, key=itemgetter(0)):
            uow.actor = actor
            given = [documents for _, documents in group]
            decided = decide(uow, [document for documents in given for document in documents])
            answers += _split(decided, [len(documents) for documents in given])
        return answers

    return run


def _split(answers: Sequence[T], sizes: list[int]) -> list[list[T]]:
    rest = iter(answers)
    return [[next(rest) for _ in range(size)] for size in sizes]


def _follow_up(uow: UnitOfWork, calls: list[Any]) -> list[bool]:
    """One step of so many rows at most; was there anything to do?"""
    uow.follow_up = recheck.consume(uow, calls[0] or recheck.BATCH_ROWS) or sweeps.advance(uow)
    return [uow.follow_up] * len(calls)


def _prune(uow: UnitOfWork, calls: list[Any]) -> list[int]:
    if not uow.db.lock_sweep():
        return [0] * len(calls)
    catalog.forget_writers(uow.db, uow.now_ms - WRITER_KEPT_MS)
    pruned = []
    for keep, keep_ms, limit in calls:
        oldest_ms = uow.now_ms - keep_ms
        dead = reactors.prune(uow.db, DEAD_LETTERS_KEEP, oldest_ms, limit)
        pruned.append(max(dead, events.prune(uow.db, keep, oldest_ms, limit)))
    return pruned


def _hasten(uow: UnitOfWork, calls: list[Any]) -> list[int]:
    return [hasten.hasten(uow) for _ in calls]


def _identify(uow: UnitOfWork, calls: list[Any]) -> list[None]:
    for identity in calls:
        catalog.identify(uow.db, identity)
    return [None] * len(calls)


def _report_member(uow: UnitOfWork, calls: list[Any]) -> list[None]:
    for member in calls:
        members.save(uow.db, member, uow.now_ms)
    members.prune(uow.db, uow.now_ms - MEMBER_KEPT_MS)
    return [None] * len(calls)


def _remove_member(uow: UnitOfWork, calls: list[Any]) -> list[None]:
    for id in calls:
        members.remove(uow.db, id)
    return [None] * len(calls)


def _once(act: Callable[[UnitOfWork], None]) -> Callable[[UnitOfWork, list[Any]], list[None]]:
    """A verb whose calls have no argument: one act is all of them."""

    def run(uow: UnitOfWork, calls: list[Any]) -> list[None]:
        act(uow)
        return [None] * len(calls)

    return run


def _each(decide: Callable[..., T]) -> Callable[[UnitOfWork, list[Any]], list[T]]:
    """A verb whose calls begin with the actor and are made one by one."""

    def run(uow: UnitOfWork, calls: list[Any]) -> list[T]:
        answers = []
        for actor, *arguments in calls:
            uow.actor = actor
            answers.append(decide(uow, *arguments))
        return answers

    return run


ATTEST = Verb("attest", _attest, rank=0)
RELEASE = Verb("release", _release, rank=1)
PROGRESS = Verb("progress", _progress, rank=2)
VOIDED = Verb("voided", _voided, rank=3)
SETTLE = Verb("settle", _settle, rank=4)
APPLY = Verb("apply", _together(apply.apply), rank=5, by_actor=True)
DECLARE = Verb("declare", _together(apply.declare), rank=5, by_actor=True)
CLAIM = Verb("claim", _claim, rank=6)

APPLY_ALONE = Verb("apply", _together(apply.apply), alone=True)
APPLY_DRY = Verb("apply", _together(apply.apply), alone=True, dry=True)
PLAN = Verb("plan", _each(plan.plan), alone=True, dry=True)
FOLLOW_UP = Verb("follow up", _follow_up, alone=True, in_turn=True)
SET_ASIDE = Verb(
    "set aside", lambda uow, calls: [recheck.set_aside(uow, why) for why in calls], alone=True, in_turn=True
)
REAP = Verb("reap", lambda uow, calls: [leases.reap(uow, silent) for silent in calls], alone=True)
REPORT_MEMBER = Verb("report member", _report_member, alone=True)
REMOVE_MEMBER = Verb("remove member", _remove_member, alone=True)
EXPIRE = Verb("expire orphans", _once(orphans.expire), alone=True)
HASTEN = Verb("hasten", _hasten, alone=True)
RESYNC = Verb("resync", _once(resync.run_due), alone=True, in_turn=True)
PRUNE = Verb("prune", _prune, alone=True)
IDENTIFY = Verb("identify", _identify, alone=True)
PROBE = Verb("probe", _once(lambda uow: catalog.probe(uow.db)), alone=True)
RECONCILE = Verb("reconcile", _each(apply.reconcile), alone=True)
DELETE = Verb("delete", _each(apply.delete), alone=True)
PUT_BINDING = Verb("put binding", _each(bindings.put), alone=True, exclusive=True)
DELETE_BINDING = Verb("delete binding", _each(bindings.remove), alone=True, exclusive=True)
RETRY_DEAD_LETTER = Verb("retry dead letter", _each(deliver.retry), alone=True)
QUARANTINE = Verb("quarantine", _each(quarantine.freeze), alone=True)
UNQUARANTINE = Verb("unquarantine", _each(quarantine.release), alone=True)
ROLL_BACK = Verb("roll back", _each(revisions.roll_back), alone=True)
OPERATE = Verb("operate", _each(operate.request), alone=True)
PUBLISH_KIND = Verb("publish kind", _each(publish.publish), alone=True, exclusive=True)
DELETE_KIND = Verb("delete kind", _each(publish.delete), alone=True, exclusive=True)
SET_POLICY = Verb("set policy", _each(publish.set_policy), alone=True, exclusive=True)
PUT_CONFIG = Verb("put config", _each(configs.put), alone=True, exclusive=True)
DELETE_CONFIG = Verb("delete config", _each(configs.remove), alone=True, exclusive=True)
REVEAL_CONFIG = Verb("reveal config", _each(configs.reveal), alone=True)
