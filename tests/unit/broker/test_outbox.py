"""What is joined into one frame, and what is not kept waiting for it."""

from __future__ import annotations

import asyncio

import pytest

from stdworker.engine.broker.outbox import SETTLED_AT_ONCE, Outbox
from stdworker.model.task import Lease

pytestmark = pytest.mark.anyio

HANG_SECONDS = 20


async def turns(count=10):
    for _ in range(count):
        await asyncio.sleep(0)


def leases(count, first=0):
    return [Lease(f"token-{n}", 1) for n in range(first, first + count)]


async def test_results_that_are_settled_one_after_the_other_are_told_in_one_frame():
    outbox = Outbox(frozenset({"settled"}))
    frame = asyncio.create_task(outbox.next())
    await turns()

    for n in range(3):
        outbox.put_settled(leases(1, first=n))
        await turns()

    settled = (await asyncio.wait_for(frame, HANG_SECONDS)).settled
    assert list(settled.lease_token) == ["token-0", "token-1", "token-2"]


async def test_many_settled_results_and_those_of_a_closed_stream_are_told_at_once():
    outbox = Outbox(frozenset({"settled"}))
    frame = asyncio.create_task(outbox.next())
    outbox.put_settled(leases(SETTLED_AT_ONCE))
    await turns()
    assert frame.done()

    last = asyncio.create_task(outbox.next())
    outbox.put_settled(leases(1))
    outbox.close()
    await turns()
    assert list(last.result().settled.lease_token) == ["token-0"]
    assert await outbox.next() is None
