"""Deliveries to reactors: leased, taken, tried again, given up, and tried again by hand.

A delivery has a place in the queue like a task of a resource, and leases like one. A reactor has taken it when
its worker says so; until then it is sent again, with the same dedup token.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from stdworker.engine.reconcile import observe
from stdworker.engine.reconcile.kinds import Kind
from stdworker.engine.reconcile.texts import clean
from stdworker.engine.reconcile.tokens import new_tokens
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store import reactors, tasks
from stdworker.engine.store.claims import Claim, Settlement
from stdworker.engine.store.contract import Connection
from stdworker.engine.store.reactors import ReadyDelivery
from stdworker.engine.store.rows import REACT, DeliveryRow, TaskRow, task_id
from stdworker.errors import Conflict, NotFound
from stdworker.model.kind import KindVersion, Stage, Transition, Trigger
from stdworker.model.outcome import Outcome
from stdworker.model.task import Lease

ATTEMPTS_MAX = 20  # where the reactor's kind sets no limit: about half an hour of failures


# ---- claim ----


def claim(
    uow: UnitOfWork,
    broker: str,
    limits: Sequence[tuple[KindVersion, int]],
    last: int,
    seats: Mapping[KindVersion, Iterator[str]],
) -> list[Claim]:
    """Lease deliveries, first come, first served within a reactor."""
    leased, claims = [], []
    for pair, limit in limits:
        found = reactors.ready(uow.db, pair, limit, last)
        kind = uow.kinds.by_pair[pair]
        for ready, token in zip(found, new_tokens([ready.id for ready in found]), strict=True):
            worker, lease = next(seats[pair]), Lease(token, ready.epoch + 1)
            generation = ready.delivery.generation
            leased.append((ready.id, broker, worker, *lease, Stage.REACT, generation, ready.seq, uow.now_ms))
            claims.append(_claim(uow, ready, kind, worker, lease))
    if leased:
        tasks.claim(uow.db, leased)
    return claims


def _claim(uow: UnitOfWork, ready: ReadyDelivery, kind: Kind, worker: str, lease: Lease) -> Claim:
    return Claim(
        lease,
        worker,
        Stage.REACT,
        Trigger.REACTOR,
        kind.reactor.name if kind.reactor else "",
        kind.pair,
        observe.at_crossing(ready.delivery),
        kind.manifest_version,
        kind.policy.task_deadline_seconds * 1000,
        uow.kinds.default_revisions.get(kind.pair, 0),
        transition=Transition(ready.delivery.transition),
        dedup_token=ready.delivery.dedup_token,
    )


# ---- settle ----


def settle(uow: UnitOfWork, row: TaskRow, settlement: Settlement) -> None:
    """A result came for the lease that the row has."""
    if settlement.released:
        _queue_again(uow, row, row.position)
    elif settlement.error or settlement.terminal:
        _fail(uow, row, settlement)
    else:
        if _has_content(settlement.outcome):
            told = f"the reactor {row.pair} handed something back, which nobody can take"
            uow.event(reactors.get(uow.db, row.resource_id), "Warning", "EmitDropped", told)
        uow.remove_task(row)


def _has_content(outcome: Outcome) -> bool:
    return outcome.status is not None or bool(outcome.conditions) or outcome.output is not None


def take_back(uow: UnitOfWork, row: TaskRow, lost: str) -> None:
    """The lease ends without a result; that is an attempt if `lost` says how."""
    if lost:
        _fail(uow, row, Settlement(Lease(row.token or "", row.epoch), Stage.REACT, error=lost, reason="WorkerLost"))
    else:
        _queue_again(uow, row, row.position)


def _fail(uow: UnitOfWork, row: TaskRow, failure: Settlement) -> None:
    row.attempts += 1
    kind = uow.kinds.get(row.pair)
    gives_up = failure.terminal or row.attempts >= ((kind and kind.policy.max_transient_attempts) or ATTEMPTS_MAX)
    reason, message = failure.reason or "ReactorFailed", failure.error or "the reactor failed"
    delivery = reactors.get(uow.db, row.resource_id)
    what = "DeliveryGivenUp" if gives_up else "DeliveryFailed"
    uow.event(delivery, what, reason, message, **_about(delivery), attempts=row.attempts)
    if gives_up:
        reactors.mark(uow.db, delivery.id, uow.now_ms, row.attempts, clean(reason), clean(message))
        uow.remove_task(row)
        return
    delay_ms = uow.backoff_ms(row.attempts, asked_ms=failure.retry_after_ms)
    _queue_again(uow, row, uow.position(delay_ms=delay_ms))


def _queue_again(uow: UnitOfWork, row: TaskRow, position: int) -> None:
    """End the lease. What is for the newest version of its reactor goes to the one that is the newest now."""
    delivery = reactors.get(uow.db, row.resource_id)
    reactor = uow.kinds.reactor(delivery.reactor, delivery.reactor_version) or row.pair
    row.end_lease()
    row.kind_version, row.position = reactor.version, position
    uow.save_task(row)


# ---- by hand ----


def retry(uow: UnitOfWork, id: int) -> DeliveryRow:
    """Queue a dead letter again, as if it had never been tried. Raises NotFound, and Conflict without a reactor."""
    delivery = dead_letter(uow.db, id, lock=True)
    pair = uow.kinds.reactor(delivery.reactor, delivery.reactor_version)
    if pair is None:
        reactor = pair_text(delivery.reactor, delivery.reactor_version)
        told = f"{reactor} is not published with a reactor reaction any more"
        raise Conflict(told, hint="publish it first", code="no_reactor")
    reactors.mark(uow.db, id, None, 0, "", "")
    uow.save_task(TaskRow(task_id(id, REACT), id, *pair, uow.position()))
    uow.audit(delivery, "DeliveryRetried", delivery.message, **_about(delivery))
    return delivery


def dead_letter(db: Connection, id: int, *, lock: bool = False) -> DeliveryRow:
    """Raises NotFound."""
    delivery = reactors.dead_letter(db, id, lock=lock)
    if delivery is None:
        raise NotFound(f"there is no dead letter {id}", hint="it is queued again already, or too old to be kept")
    return delivery


def pair_text(kind: str, version: int | None) -> str:
    """A kind, with the version that a binding names if it does."""
    return kind if version is None else f"{kind}@{version}"


def _about(delivery: DeliveryRow) -> dict[str, object]:
    """What an event of its resource tells of a delivery."""
    about = {"binding": delivery.binding, "transition": delivery.transition, "dedup_token": delivery.dedup_token}
    return {"delivery": delivery.id, **about}
