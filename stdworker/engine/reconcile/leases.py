"""Leases: handing out stages, attesting that work goes on, and taking back what is lost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stdworker.engine.reconcile import deliver, observe, operate, overrides, schedule, settle
from stdworker.engine.reconcile.kinds import Kind
from stdworker.engine.reconcile.positions import until
from stdworker.engine.reconcile.texts import clean
from stdworker.engine.reconcile.tokens import new_tokens, row_id
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store import reactors, tasks
from stdworker.engine.store.claims import Claim, Settlement, VoidedLease, Want
from stdworker.engine.store.documents import from_text
from stdworker.engine.store.rows import DELETE, OPERATE, REACT, Node, OperationRow, TaskRow, resource_of
from stdworker.engine.store.tasks import LeaseRow, Ready
from stdworker.model.config import ProviderConfig
from stdworker.model.kind import KindVersion, Stage, Trigger
from stdworker.model.task import Lease

PAIRS_PER_STATEMENT = 16
LOST = "the worker was lost: its stream broke, or it stopped attesting that it works"

_NO_LEASE = Lease("", 0)
_NO_CONFIG = ProviderConfig()


# ---- claim ----


def claim(uow: UnitOfWork, broker: str, wants: Sequence[Want]) -> list[Claim]:
    """Lease what the wants can take: first come, first served within a pair, within the pair's cap."""
    by_pair: dict[KindVersion, list[Want]] = {}
    for want in wants:
        if want.credit > 0:
            by_pair.setdefault(want.pair, []).append(want)
    last = until(uow.now_ms)
    limits, deliveries = [], []
    pairs = tasks.have_ready(uow.db, list(by_pair), last) if len(by_pair) > 1 else by_pair
    for pair in sorted(pairs):  # their rows are locked in this order
        asked = sum(want.credit for want in by_pair[pair])
        limit = _headroom(uow, pair, asked, last)
        if limit > 0:
            limits.append((pair, limit))
        if limit < asked and pair in uow.kinds.by_pair and uow.kinds.by_pair[pair].reactor:
            deliveries.append((pair, asked - limit))
    found: list[Ready] = []
    for i in range(0, len(limits), PAIRS_PER_STATEMENT):
        found += tasks.ready(uow.db, limits[i : i + PAIRS_PER_STATEMENT], last)
    seats = {pair: _seats(wants) for pair, wants in by_pair.items()}
    claims = _lease(uow, broker, found, seats)
    return claims + deliver.claim(uow, broker, deliveries, last, seats) if deliveries else claims


def _headroom(uow: UnitOfWork, pair: KindVersion, asked: int, last: int) -> int:
    """How many tasks of its resources the pair may have leased now. Its deliveries take what these leave."""
    kind = uow.kinds.get(pair)
    if kind is None or kind.manifest.is_reactor_kind:
        return 0
    if kind.reactor is not None:
        asked = reactors.others_first(uow.db, pair, asked, last)
    cap = kind.policy.max_inflight
    return min(asked, cap - tasks.inflight(uow.db, pair)) if cap else asked


def _lease(uow: UnitOfWork, broker: str, found: list[Ready], seats: dict[KindVersion, Iterator[str]]) -> list[Claim]:
    found, operations = operate.admit(uow, found)
    claimed, claims = [], []
    for ready, token in zip(found, new_tokens([ready.id for ready in found]), strict=True):
        kind = uow.kinds.by_pair[KindVersion(ready.kind, ready.kind_version)]
        stage = _stage(kind, ready)
        if stage is None:
            _finish(uow, ready, kind)
            continue
        if why := overrides.problem(uow, kind, ready):
            _refuse(uow, ready, stage, why)
            continue
        worker, lease = next(seats[kind.pair]), Lease(token, ready.epoch + 1)
        claimed.append((ready.id, broker, worker, *lease, stage, ready.generation, ready.seq, uow.now_ms))
        claims.append(_claim(uow, ready, kind, stage, worker, lease, operations.get(ready.id)))
    if claimed:
        tasks.claim(uow.db, claimed)
    return claims


def _seats(wants: list[Want]) -> Iterator[str]:
    """Workers in turns, each as often as it has credit."""
    left = [(want.worker, want.credit) for want in wants]
    while left:
        yield from (worker for worker, _ in left)
        left = [(worker, credit - 1) for worker, credit in left if credit > 1]


def _stage(kind: Kind, ready: Ready) -> Stage | None:
    if ready.task_type == DELETE:
        return Stage.DELETE
    if ready.task_type == OPERATE:
        return Stage.OPERATE
    return schedule.next_stage(kind, ready, ready.reasons, ready.done)


def _finish(uow: UnitOfWork, ready: Ready, kind: Kind) -> None:
    """The kind has nothing to run any more for what the row was queued for."""
    node = _as_found(uow, ready)
    if node is not None and schedule.next_stage(kind, node, ready.reasons, ready.done) is None:
        uow.lock_tasks([node.id])
        uow.touch(node)
        schedule.complete(uow, node, kind, ready.reasons, ready.done, ready.generation)
        uow.remove_task(uow.tasks[ready.id])


def _as_found(uow: UnitOfWork, ready: Ready) -> Node | None:
    """The resource of a row that is held. One that others hold, or have changed since, is left to the next claim."""
    node = uow.lock_free(ready.resource_id)
    return node if node is not None and node.generation == ready.generation else None


def _refuse(uow: UnitOfWork, ready: Ready, stage: Stage, why: str) -> None:
    """No worker could do it: it fails for good, until a config is edited."""
    node = _as_found(uow, ready)
    if node is not None:
        uow.lock_tasks([node.id])
        uow.touch(node)
        row = uow.tasks[ready.id]
        row.generation = ready.generation
        settle.fail(uow, node, row, Settlement(_NO_LEASE, stage, error=why, reason="BadConfig", terminal=True))


def _claim(
    uow: UnitOfWork,
    ready: Ready,
    kind: Kind,
    stage: Stage,
    worker: str,
    lease: Lease,
    operation: OperationRow | None,
) -> Claim:
    resync = schedule.is_resync(ready.reasons)
    reaction = kind.reaction(stage, only_children=schedule.is_from_below(ready.reasons), resync=resync)
    if operation is not None:
        reaction = kind.manifest.operation(operation.verb)
    trigger = reaction.trigger if reaction else Trigger.SPEC_CHANGE
    spec, bundle = ready.config_spec, ready.config_bundle
    return Claim(
        lease,
        worker,
        stage,
        Trigger.RESYNC if resync and stage in (Stage.COMPOSE, Stage.WORK) else trigger,
        reaction.name if reaction else "",
        kind.pair,
        observe.resource(ready),
        kind.manifest_version,
        kind.policy.task_deadline_seconds * 1000,
        uow.kinds.default_revisions.get(kind.pair, 0),
        ProviderConfig(from_text(spec), bundle) if spec or bundle else _NO_CONFIG,
        observe.children(uow.db, ready.resource_id) if stage is Stage.COMPOSE else (),
        observe.descendants(uow.db, ready.resource_id) if stage is Stage.ROLLUP else (),
        observe.operation(operation) if operation is not None else None,
    )


# ---- attest, release, reap ----


def attest(uow: UnitOfWork, broker: str, worker: str, leases: Sequence[Lease]) -> list[Lease]:
    """Move leases to this broker and renew them; those that are void are returned.

    The word that a lease was superseded may have been lost with its stream: it is told again on the new one.
    """
    held = {row.id: row for row in tasks.held(uow.db, [id for id in map(row_id, leases) if id is not None])}
    valid, void = [], []
    for lease in leases:
        row = held.get(row_id(lease) or 0)
        if row is None or (row.token, row.epoch) != lease:
            void.append(lease)
            continue
        valid.append(row.id)
        if row.superseded is not None and (row.claimed_by, row.worker) != (broker, worker):
            uow.hint("voided", KindVersion(row.kind, row.kind_version))
    if valid:
        tasks.beat(uow.db, valid, broker=broker, worker=worker, now=uow.now_ms)
    return void


def release(uow: UnitOfWork, broker: str, leases: Sequence[Lease], *, counted: bool) -> None:
    """Take back leases that this broker still owns; `counted`: lost without a goodbye, which is an attempt."""
    for row in lock(uow, leases):
        if row.claimed_by == broker:
            _take_back(uow, row, counted=counted)


def reap(uow: UnitOfWork, silent: Sequence[LeaseRow]) -> int:
    """Take back leases that nobody attested; one that was renewed since it was judged is left alone."""
    judged = {lease.id: lease for lease in silent}
    rows = lock(uow, [Lease(lease.token, lease.epoch) for lease in silent])
    lost = [row for row in rows if row.heartbeat_at == judged[row.id].heartbeat_at]
    for row in lost:
        _take_back(uow, row, counted=True)
    return len(lost)


def lock(uow: UnitOfWork, leases: Sequence[Lease]) -> list[TaskRow]:
    """The queue rows of those leases that are valid, with their resources."""
    by_id = {id: lease for lease in leases if (id := row_id(lease)) is not None}
    uow.lock([resource_of(id) for id in by_id])
    uow.lock_rows(by_id)
    found = [(uow.tasks.get(id), lease) for id, lease in by_id.items()]
    return [row for row, lease in found if row is not None and (row.token, row.epoch) == lease]


def _take_back(uow: UnitOfWork, row: TaskRow, *, counted: bool) -> None:
    if row.task_type == REACT:
        deliver.take_back(uow, row, LOST if counted else "")
        return
    node = uow.nodes[row.resource_id]
    uow.touch(node)
    if counted and row.superseded is None:
        stage = Stage(row.stage or Stage.WORK)
        lost = Settlement(Lease(row.token or "", row.epoch), stage, error=LOST, reason="WorkerLost")
        settle.fail(uow, node, row, lost)
    else:
        settle.give_back(uow, node, row)


# ---- progress, void leases ----


def progress(uow: UnitOfWork, reports: Sequence[tuple[Lease, float | None, str]]) -> None:
    """Note how far running tasks are."""
    latest = {row_id(lease): (lease, fraction, message) for lease, fraction, message in reports}
    held = tasks.held(uow.db, [id for id in latest if id is not None])
    rows = []
    for row in held:
        lease, fraction, message = latest[row.id]
        if (row.token, row.epoch) == lease:
            rows.append((row.id, fraction, clean(message)))
    if rows:
        tasks.progress(uow.db, rows)


def voided(uow: UnitOfWork, broker: str) -> list[VoidedLease]:
    """What its workers must be told to stop, each lease once."""
    return [VoidedLease(Lease(token, epoch), why) for token, epoch, why in tasks.take_void(uow.db, broker)]
