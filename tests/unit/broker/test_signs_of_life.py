"""Heartbeats against results: what overtakes what must not matter."""

from __future__ import annotations

import pytest

from stdworker.engine.broker.attesting import Attester
from stdworker.engine.broker.session import Running, Session
from stdworker.engine.broker.subscription import Subscription
from stdworker.model.kind import KindVersion, Stage
from stdworker.model.task import Lease
from stdworker.wire.generated import worker_pb2 as pb

pytestmark = pytest.mark.anyio

LEAF = KindVersion("leaf", 1)
LEASE = Lease("t", 1)


class Store:
    """Every lease is valid, or none is; `meanwhile` happens while it answers."""

    def __init__(self, valid=True, meanwhile=lambda: None):
        self.valid, self.meanwhile = valid, meanwhile
        self.told = []

    async def attest(self, leases, broker, worker):
        self.told += leases
        self.meanwhile()
        return [] if self.valid else list(leases)


@pytest.fixture
def session():
    made = Session(Subscription("w", {LEAF: 1}, 1, extensions=frozenset({"cancel"})), now=0.0)
    made.open = True
    return made


def attester(store, adopted):
    return Attester(store, "b", lambda session, lease: adopted.append(lease))


def end(session):
    session.drop(LEASE.token)
    session.begin_settling(LEASE.token)


async def test_a_result_that_came_before_the_heartbeat_was_written_is_not_held_again(session):
    adopted = []
    life = attester(Store(), adopted)
    session.hold(Running(LEASE, LEAF))
    life.heard(session, [LEASE])
    end(session)

    await life.tick()

    assert not adopted
    assert session.credit(LEAF) == 1


async def test_a_result_that_came_while_the_heartbeat_was_written_is_not_held_again(session):
    adopted = []
    life = attester(Store(meanwhile=lambda: end(session)), adopted)
    session.hold(Running(LEASE, LEAF))
    life.heard(session, [LEASE])

    await life.tick()

    assert not adopted


async def test_a_lease_whose_result_waits_for_a_slow_store_is_not_reaped_meanwhile(session):
    store, adopted = Store(), []
    life = attester(store, adopted)
    session.hold(Running(LEASE, LEAF))
    end(session)
    life.heard(session, [LEASE])

    await life.tick()

    assert store.told == [LEASE]
    assert not adopted


async def test_a_task_that_ended_while_its_lease_was_found_void_is_not_cancelled(session):
    life = attester(Store(valid=False, meanwhile=lambda: end(session)), [])
    session.hold(Running(LEASE, LEAF))
    life.heard(session, [LEASE])

    await life.tick()
    session.outbox.close()

    assert await session.outbox.next() is None


async def test_a_valid_lease_that_the_stream_did_not_hold_is_adopted(session):
    adopted = []
    life = attester(Store(), adopted)
    life.heard(session, [LEASE])

    await life.tick()

    assert adopted == [LEASE]


async def test_a_heartbeat_that_names_what_is_settled_and_not_told_yet_cancels_nothing():
    session = Session(Subscription("w", {LEAF: 1}, 1, extensions=frozenset({"cancel", "settled"})), now=0.0)
    session.outbox.put_settled([LEASE])
    life = attester(Store(valid=False), [])
    life.heard(session, [LEASE])

    await life.tick()
    session.outbox.close()

    assert pb.WorkStreamServerMsg.FromString(await session.outbox.next()).WhichOneof("body") == "settled"
    assert await session.outbox.next() is None


async def test_what_a_stream_attested_that_has_ended_is_not_written_so_that_its_lease_stays_where_it_went(session):
    store = Store()
    life = attester(store, [])
    life.heard(session, [LEASE])
    life.forget(session)

    await life.tick()

    assert store.told == []


def test_a_lease_that_is_identified_twice_counts_once(session):
    session.hold(Running(LEASE))
    for _ in range(2):
        session.identify(Running(LEASE, LEAF, Stage.WORK))
    session.drop(LEASE.token)

    assert session.credit(LEAF) == 1
