"""Why nobody takes a task that may run: the cap of its kind, or what the workers say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from stdworker.engine.reconcile.kinds import record
from stdworker.engine.reconcile.reasons import Reason
from stdworker.engine.store import catalog, members, tasks
from stdworker.engine.store.contract import Connection
from stdworker.engine.store.members import MemberRecord, ServedRecord, WorkerRecord
from stdworker.engine.store.rows import REACT, TaskRow
from stdworker.model.kind import KindVersion

AHEAD_COUNTED_MAX = 1_000


def why_untaken(db: Connection, row: TaskRow, now_ms: int) -> list[Reason]:
    """One reason; `queued` when a worker may take it at any moment."""
    pair = row.pair
    kind = catalog.kind(db, pair) if row.task_type != REACT else None  # which no cap counts
    cap = record(kind).policy.max_inflight if kind else 0
    leased = tasks.count_leased(db, pair) if cap else 0
    if 0 < cap <= leased:
        told = f"{leased} tasks of {pair} run, as many as its max_inflight allows"
        hint = f"it comes when one of them ends; PUT /kinds/{pair.kind}/versions/{pair.version}/config has the limit"
        return [Reason("at_max_inflight", told, hint)]
    up = [member for member in members.read(db) if now_ms - member.reported_at_ms < members.LOST_MS]
    return [_why_no_worker(pair, up) or _queued(db, row)]


def _why_no_worker(pair: KindVersion, up: Sequence[MemberRecord]) -> Reason | None:
    served = [(worker, entry) for worker, entry in _served(up) if entry.pair == pair]
    ready = [entry for worker, entry in served if entry.ready and not worker.silent]
    if any(member.unlisted_workers for member in up) and not ready:
        return None  # one of those may serve it
    if not served:
        return _unserved(pair, up)
    if not ready:
        why = "; ".join(dict.fromkeys(_why_not(worker, entry) for worker, entry in served))
        told = f"no worker is ready for {pair}: {why}"
        return Reason("worker_not_ready", told, "mend what they say; they take tasks again by themselves")
    if all(entry.in_flight >= entry.inflight_max for entry in ready):
        running = sum(entry.in_flight for entry in ready)
        told = f"all workers for {pair} are busy with {running} tasks, as many as they take"
        hint = "start more of them, or let each take more: WORKER_MAX_PARALLEL, and processes of the config"
        return Reason("workers_busy", told, hint)
    return None


def _unserved(pair: KindVersion, up: Sequence[MemberRecord]) -> Reason:
    others = sorted({entry.pair for _, entry in _served(up) if entry.pair.kind == pair.kind})
    but = f", only {', '.join(map(str, others))}" if others else ""
    told = f"no worker that is connected serves {pair}{but}"
    return Reason("no_worker", told, "start one that does; conctl cluster shows what is served")


def _served(up: Sequence[MemberRecord]) -> Iterator[tuple[WorkerRecord, ServedRecord]]:
    for member in up:
        if not member.draining:
            for worker in member.workers:
                for entry in worker.kinds:
                    yield worker, entry


def _why_not(worker: WorkerRecord, entry: ServedRecord) -> str:
    return f"{worker.name} is not heard" if worker.silent else entry.reason or f"{worker.name} says no"


def _queued(db: Connection, row: TaskRow) -> Reason:
    ahead = tasks.count_ahead(db, row, AHEAD_COUNTED_MAX)
    many = f"{ahead} or more" if ahead == AHEAD_COUNTED_MAX else str(ahead)
    told = f"it is queued behind {many} tasks of {row.pair}" if ahead else "it is queued; a worker is about to take it"
    return Reason("queued", told)
