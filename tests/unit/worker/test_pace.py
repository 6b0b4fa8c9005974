import random

import pytest

from stdworker.worker.pace import Backoff, Pace


class Fixed(random.Random):
    """Always the same place in the range: 0 is its start, 1 its end."""

    def __init__(self, place):
        super().__init__()
        self.place = place

    def uniform(self, low, high):
        return low + (high - low) * self.place


def test_the_delay_doubles_from_one_second_to_thirty():
    backoff = Backoff(Pace(), Fixed(0.5))
    assert [backoff.next(hurried=False) for _ in range(7)] == [1, 2, 4, 8, 16, 30, 30]


@pytest.mark.parametrize(("place", "delay"), [(0, 0.75), (1, 1.25)])
def test_each_delay_is_spread_by_a_quarter(place, delay):
    assert Backoff(Pace(), Fixed(place)).next(hurried=False) == delay


@pytest.mark.parametrize(("place", "delay"), [(0, 0.5), (1, 1.0)])
def test_while_leases_can_be_saved_it_hurries(place, delay):
    backoff = Backoff(Pace(), Fixed(place))
    assert [backoff.next(hurried=True) for _ in range(3)] == [delay] * 3


def test_a_session_longer_than_the_delay_resets_it():
    backoff = Backoff(Pace(), Fixed(0.5))
    for _ in range(4):
        backoff.next(hurried=False)
    backoff.lived(10)
    assert backoff.next(hurried=False) == 16
    backoff.lived(31)
    assert backoff.next(hurried=False) == 1


def test_two_workers_do_not_move_in_step():
    first, second = (Backoff(Pace(), random.Random(seed)) for seed in (1, 2))
    assert [first.next(hurried=False) for _ in range(5)] != [second.next(hurried=False) for _ in range(5)]
