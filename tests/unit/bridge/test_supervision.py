"""When a program that dies may start again, and when its kind stops taking work."""

import random

import pytest

from stdworker.bridge.supervision import (
    DEATHS_MAX,
    DEATHS_WITHIN_SECONDS,
    DELAY_SECONDS_MAX,
    JITTER,
    STABLE_SECONDS,
    Mistakes,
    Redials,
    Supervision,
)
from stdworker.errors import ConfigError

IDLE: frozenset[str] = frozenset()


class Middle(random.Random):
    """No jitter."""

    def uniform(self, a, b):
        return (a + b) / 2


@pytest.fixture
def supervision():
    return Supervision(Middle())


def test_idle_deaths_delay_the_next_start_twice_as_long_each_time_up_to_a_limit(supervision):
    delays = [supervision.died(now * 1_000.0, 0, IDLE) for now in range(9)]

    assert delays == [1, 2, 4, 8, 16, 32, 60, 60, 60]


def test_delays_are_jittered():
    delays = {Supervision(random.Random(seed)).died(0, 0, IDLE) for seed in range(200)}

    assert min(delays) >= 1 - JITTER
    assert max(delays) <= 1 + JITTER
    assert len(delays) > 100


def test_only_stable_uptime_resets_the_delay(supervision):
    supervision.died(0, 0, IDLE)
    supervision.died(1, 0, IDLE)

    supervision.succeeded()
    assert supervision.died(2, STABLE_SECONDS - 1, IDLE) == 4
    assert supervision.died(3, STABLE_SECONDS, IDLE) == 1


def test_five_deaths_within_two_minutes_open_the_breaker(supervision):
    for now in range(DEATHS_MAX - 1):
        supervision.died(now, 0, IDLE)
        assert not supervision.open

    supervision.died(DEATHS_WITHIN_SECONDS, 0, IDLE)
    assert supervision.open


def test_deaths_further_apart_don_t(supervision):
    for number in range(20):
        supervision.died(number * (DEATHS_WITHIN_SECONDS / (DEATHS_MAX - 1) + 1), 0, IDLE)

    assert not supervision.open


def test_one_resource_that_kills_its_process_is_to_blame_alone(supervision):
    delays = [supervision.died(now, 0, {"poison"}) for now in range(20)]

    assert set(delays) == {0.0}
    assert not supervision.open


def test_requests_of_two_resources_lost_in_a_row_count(supervision):
    for now in range(DEATHS_MAX + 1):
        supervision.died(now, 0, {f"resource {now % 2}"})

    assert supervision.open


def test_a_death_with_several_requests_in_flight_says_nothing_yet(supervision):
    assert {supervision.died(now, 0, {"one", "two"}) for now in range(20)} == {0.0}
    assert not supervision.open


def test_a_success_in_between_clears_the_suspicion(supervision):
    for now in range(20):
        supervision.died(now, 0, {f"resource {now % 2}"})
        supervision.succeeded()

    assert not supervision.open


@pytest.mark.parametrize("sign_of_life", [Supervision.succeeded, Supervision.stayed_up])
def test_a_sign_of_life_closes_the_breaker(supervision, sign_of_life):
    for now in range(DEATHS_MAX):
        supervision.died(now, 0, IDLE)

    sign_of_life(supervision)

    assert not supervision.open
    supervision.died(DEATHS_MAX, 0, IDLE)
    assert not supervision.open


@pytest.fixture
def redials():
    return Redials(Middle())


def test_a_program_that_went_away_is_dialed_at_once_and_then_less_and_less_often(redials):
    assert [redials.failed(now * 1_000.0, 0) for now in range(9)] == [0, 1, 2, 4, 8, 16, 32, 60, 60]


def test_connections_that_are_lost_together_are_one_loss(redials):
    redials.failed(0, 0)

    together = [redials.failed(10.0 + n / 1_000, 9) for n in range(8)]

    assert together == pytest.approx([1 - n / 1_000 for n in range(8)])
    assert redials.failed(11.1, 0.01) == 2


def test_a_connection_that_was_stable_makes_the_delays_begin_anew(redials):
    for now in range(5):
        redials.failed(now, 0)

    assert redials.failed(1_000, STABLE_SECONDS) == 0
    assert redials.failed(1_001, 0.5) == 1


def test_a_connection_that_answered_is_dialed_again_at_once(redials):
    for now in range(5):
        redials.failed(now, 0)

    redials.succeeded()

    assert redials.failed(1_000, 0.5) == 0
    assert redials.failed(1_001, 0) == 1


def test_the_third_mistake_in_a_row_is_one_too_many():
    mistakes = Mistakes()

    assert [mistakes.made(ConfigError("no")) for _ in range(4)] == [False, False, True, False]
    assert mistakes.reason == "no"


def test_a_start_that_succeeds_forgives_mistakes():
    mistakes = Mistakes()
    for _ in range(2):
        mistakes.made(ConfigError("no"))

    assert not mistakes.mended()
    assert [mistakes.made(ConfigError("no")) for _ in range(3)] == [False, False, True]
    assert mistakes.mended()
    assert mistakes.reason == ""


def test_no_delay_is_over_the_limit_even_after_a_thousand_deaths():
    supervision = Supervision(random.Random(1))

    assert max(supervision.died(now, 0, IDLE) for now in range(1_000)) <= DELAY_SECONDS_MAX * (1 + JITTER)
