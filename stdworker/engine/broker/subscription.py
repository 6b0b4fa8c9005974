"""The first frame of a worker: what it serves, how much of it at a time, and what it still runs."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from stdworker.errors import ProtocolError
from stdworker.model.kind import KIND, VERSION_MAX, KindVersion
from stdworker.model.task import Lease
from stdworker.wire.generated import worker_pb2 as pb

INFLIGHT_MAX = 10_000  # tasks that one stream may hold, whatever it asks for
PAIRS_MAX = 1_000
NAME_CHARACTERS_MAX = 128

_numbers = itertools.count(1)


@dataclass(frozen=True, slots=True)
class Subscription:
    """What a worker subscribed for. `worker` names the stream, for people and for the store: unique here."""

    worker: str
    pairs: dict[KindVersion, int]  # with the number of tasks of the pair at a time
    inflight_max: int  # over all pairs
    resumed: tuple[Lease, ...] = ()
    extensions: frozenset[str] = frozenset()
    version: str = ""
    hostname: str = ""
    pid: int = 0


def parse_subscribe(message: pb.WorkStreamClientMsg, extensions: frozenset[str], peer: str) -> Subscription:
    """Read the first frame. Raises ProtocolError for one that is no Subscribe, or that names no usable kind."""
    body = message.WhichOneof("body")
    if body != "subscribe":
        raise ProtocolError(f"the first frame is {body or 'empty'}; expected Subscribe", code="not_subscribed")
    told = message.subscribe
    inflight_max = min(max(told.max_inflight, 1), INFLIGHT_MAX)
    return Subscription(
        worker=f"{_name(told.worker_info, peer)}#{next(_numbers)}",
        pairs=_pairs(told, inflight_max),
        inflight_max=inflight_max,
        resumed=tuple(Lease(task.lease_token, task.claim_epoch) for task in told.resumed),
        extensions=extensions,
        version=plain(told.worker_info.version, NAME_CHARACTERS_MAX),
        hostname=plain(told.worker_info.hostname, NAME_CHARACTERS_MAX),
        pid=told.worker_info.pid,
    )


def _pairs(told: pb.Subscribe, inflight_max: int) -> dict[KindVersion, int]:
    """A version that is absent or not positive is 1, as base workers mean it; of a pair told twice the first counts."""
    if not told.kinds:
        raise ProtocolError("Subscribe names no kind; expected one or more", code="no_kinds")
    if len(told.kinds) > PAIRS_MAX:
        raise ProtocolError(f"Subscribe names {len(told.kinds)} kinds; at most {PAIRS_MAX}", code="too_many_kinds")
    pairs: dict[KindVersion, int] = {}
    limits = told.pair_inflight
    for index, kind in enumerate(told.kinds):
        version = max(1, told.kind_versions[index]) if index < len(told.kind_versions) else 1
        if not KIND.fullmatch(kind) or version > VERSION_MAX:
            raise ProtocolError(f"Subscribe names the kind {kind!r} at version {version}", code="bad_kind")
        limit = limits[index] if index < len(limits) else inflight_max
        pairs.setdefault(KindVersion(kind, version), min(limit, inflight_max))
    return pairs


def _name(info: pb.WorkerInfo, peer: str) -> str:
    """What the worker calls itself."""
    told = info.name or (f"{info.hostname}:{info.pid}" if info.hostname else peer)
    return plain(told, NAME_CHARACTERS_MAX)


def plain(text: str, characters_max: int) -> str:
    """What a worker says, fit for one line of a log or a table."""
    return "".join(c if c.isprintable() else "?" for c in text[:characters_max])
