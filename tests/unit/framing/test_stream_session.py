"""The table of a persistent process: whose answer is it, and what follows."""

import itertools

import pytest

from stdworker.framing.session import TABLE, Action, Event, Session, State


def session(*ids, cancel=False):
    made: Session[str] = Session()
    made.cancel_announced = cancel
    for name in ids:
        made.send(name, f"owner of {name}")
    return made


def test_an_answer_is_delivered_to_the_request_that_it_names():
    held = session("1", "2")

    assert held.meant("2") == "2"
    assert held.answer("2") is Action.DELIVER
    assert held.owners == ["owner of 1"]


def test_a_second_answer_is_nobody_s():
    held = session("1")
    held.answer("1")

    assert held.meant("1") is None
    assert held.answer("1") is Action.NONE


def test_an_answer_without_id_is_for_the_only_request():
    assert session("1").meant(None) == "1"
    assert session("1", "2").meant(None) is None
    assert session().meant(None) is None


def test_after_a_request_ended_without_answer_none_without_id_is_believed():
    held = session("1")
    held.give_up("1")
    held.send("2", "owner of 2")

    assert held.meant(None) is None
    assert held.meant("2") == "2"


def test_giving_up_what_was_answered_leaves_no_doubt():
    held = session("1")
    held.answer("1")
    held.give_up("1")

    assert not held.doubtful


def test_without_cancel_a_request_that_is_given_up_costs_the_process():
    assert session("1").give_up("1") is Action.REPLACE


def test_with_cancel_the_program_is_asked_and_keeps_the_place_until_it_answers():
    held = session("1", cancel=True)

    assert held.give_up("1") is Action.ASK
    assert (len(held), held.owners) == (1, [])
    assert held.answer("1") is Action.FREE
    assert len(held) == 0


def test_with_cancel_unheard_the_process_is_replaced():
    held = session("1", cancel=True)
    held.give_up("1")

    assert held.out_of_patience("1") is Action.REPLACE
    assert held.out_of_patience("1") is Action.NONE


def test_one_failure_leaves_the_others_in_flight():
    held = session("1", "2")

    assert held.fail("1") == ["owner of 1"]
    assert held.owners == ["owner of 2"]
    assert not held.doubtful


def test_a_failure_of_all_names_those_who_still_waited():
    held = session("1", "2", cancel=True)
    held.give_up("1")

    assert held.fail(None) == ["owner of 2"]
    assert (len(held), held.doubtful) == (0, True)


@pytest.mark.parametrize(("state", "event"), list(itertools.product(State, Event)))
def test_every_cell_of_the_table_keeps_a_request_or_ends_it_with_an_action(state, event):
    following, action = TABLE.get((state, event), (state, Action.NONE))

    assert (action is Action.NONE) == ((state, event) not in TABLE)
    assert following is not None or action in (Action.DELIVER, Action.FREE, Action.REPLACE)
