"""How one claim's wants are dealt: never more than fits, never nothing where something fits."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from stdworker.engine.broker.dispatch import Dispatcher, rotated
from stdworker.engine.broker.session import Running, Session
from stdworker.engine.broker.subscription import Subscription
from stdworker.model.kind import KindVersion
from stdworker.model.task import Lease

PAIRS = [KindVersion(name, 1) for name in ("a", "b", "c", "d")]


@st.composite
def sessions(draw):
    made = []
    for number in range(draw(st.integers(0, 4))):
        pairs = draw(st.dictionaries(st.sampled_from(PAIRS), st.integers(0, 20), min_size=1))
        session = Session(Subscription(f"w{number}", pairs, draw(st.integers(1, 20))), now=0.0)
        session.open = draw(st.booleans())
        session.silent = draw(st.booleans())
        for held in range(draw(st.integers(0, 10))):
            session.hold(Running(Lease(f"{number}-{held}", 1), draw(st.sampled_from(PAIRS))))
        for slots in session.pairs.values():
            slots.ready = draw(st.booleans())
        made.append(session)
    return made


def dealt(streams, hot, turns=1):
    dispatcher = Dispatcher(None, "b", set(streams), None, None, None, lambda: 0.0)
    dispatcher.heat(hot)
    for _ in range(turns):
        wants = dispatcher.wants()
    return wants


@given(sessions(), st.sets(st.sampled_from(PAIRS)))
def test_no_stream_is_asked_for_more_than_it_or_the_pair_can_take(streams, hot):
    total = Counter()
    for want in dealt(streams, hot):
        (session,) = [session for session in streams if session.worker == want.worker]
        assert 0 < want.credit <= session.credit(want.pair)
        assert want.pair in hot
        total[want.worker] += want.credit
    for session in streams:
        assert total[session.worker] <= max(0, session.inflight_max - len(session.running))


@given(sessions(), st.sets(st.sampled_from(PAIRS)))
def test_a_stream_with_credit_for_a_pair_that_has_work_is_asked_for_something(streams, hot):
    asked = {want.worker for want in dealt(streams, hot)}

    assert asked == {session.worker for session in streams if any(session.credit(pair) for pair in hot)}


def test_with_credit_for_one_task_each_pair_gets_its_turn():
    session = Session(Subscription("w", dict.fromkeys(PAIRS, 1), 1), now=0.0)
    session.open = True

    first = {dealt([session], PAIRS, turns)[0].pair for turns in range(1, 5)}

    assert first == set(PAIRS)


def test_credit_that_one_pair_can_not_use_goes_to_the_next():
    session = Session(Subscription("w", {PAIRS[0]: 1, PAIRS[1]: 50}, 10), now=0.0)
    session.open = True

    wants = {want.pair: want.credit for want in dealt([session], PAIRS, turns=2)}

    assert wants == {PAIRS[0]: 1, PAIRS[1]: 9}


def scant(*streams, hot=PAIRS):
    dispatcher = Dispatcher(None, "b", set(streams), None, None, None, lambda: 0.0)
    dispatcher.heat(hot)
    return dispatcher._is_scant()


def busy(held, inflight_max=64):
    session = Session(Subscription("w", dict.fromkeys(PAIRS, inflight_max), inflight_max), now=0.0)
    session.open = True
    for number in range(held):
        session.hold(Running(Lease(str(number), 1), PAIRS[0]))
    return session


def test_a_claim_waits_for_more_credit_only_while_every_hungry_stream_is_nearly_full():
    assert scant(busy(60))
    assert scant(busy(60), busy(57)), "seven of 64"
    assert scant(busy(60), busy(64)), "a full one is not hungry"
    assert not scant(busy(60), busy(56)), "an eighth"
    assert not scant(busy(60), busy(0))
    assert not scant(busy(64)), "there is nothing to wait for"
    assert not scant(busy(60), hot=[])
    assert not scant(busy(4, inflight_max=5)), "few tasks, and each counts"


def test_rotating_nothing_is_nothing():
    assert rotated([], 3) == []
    assert rotated([1, 2, 3], 4) == [2, 3, 1]
