"""Whatever a provider hands back, its task ends: what can't be sent is a terminal failure that names the place."""

from decimal import Decimal

import pytest

from stdworker.errors import Retry, Terminal
from stdworker.model.config import ProviderConfigSpec
from stdworker.model.kind import Stage
from stdworker.model.outcome import ChildSpec, Condition, DepEdge, Outcome
from stdworker.model.resource import Ref
from stdworker.model.task import Lease, Result
from stdworker.wire.convert import STAGE_NUMBERS
from stdworker.wire.convert_result import FAILURE_CHARACTERS_MAX, decode_result, encode_result
from stdworker.wire.generated import worker_pb2 as pb


def reported(outcome=None, failure=None, stage=Stage.WORK):
    sent = encode_result(Lease("6f1c", 3), STAGE_NUMBERS[stage], Result(outcome, failure)).SerializeToString()
    return decode_result(pb.StageComplete.FromString(sent))[2].failure


def holding_itself():
    value = {}
    value["a"] = {"b": value}
    return value


class Unreadable(dict):
    def items(self):
        raise RuntimeError("no items today")


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ({"a": [1, float("nan")]}, "the status: /a/1: .* nan is not a JSON number"),
        ({"a": float("-inf")}, "the status: /a: .* -inf is not a JSON number"),
        ({"a/b": "\ud800"}, "the status: /a~1b: .* a lone surrogate is not text"),
        ({"a": {"\udfff": 1}}, "the status: /a: .* a lone surrogate is not text, in the key"),
        ({"a": {1}}, "the status: /a: .* set is not a JSON type"),
        ({"a": b"x"}, "the status: /a: .* bytes is not a JSON type"),
        ({"a": Decimal("1.5")}, "the status: /a: .* Decimal is not a JSON type"),
        ({"a": {1: 2}}, "the status: /a: .* the key 1 is not a string"),
        ({"a": 10**5_000}, "the status: /a: .* more than 1000 characters"),
        (holding_itself(), "the status: /a/b/a/b/.* nested deeper than 100"),
        ((n for n in range(3)), "the status: .* generator is not a JSON type"),
        (Unreadable(a=1), "no items today"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_status_that_json_can_t_say_is_refused_naming_the_path(status, told):
    failure = reported(Outcome(status=status))

    assert isinstance(failure, Terminal)
    assert failure.reason == "BadOutcome"
    with pytest.raises(Terminal, match=told):
        raise failure


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (Outcome(conditions=[Condition("Ready", "maybe")]), "/conditions/0: the status is one of True, False, Unknown"),
        (
            Outcome(conditions=[Condition("Ready", "True"), Condition("A", "True", "r", "\ud800")]),
            "/conditions/1: .*lone",
        ),
        (Outcome(children=[ChildSpec("a", 1, "\ud800")]), "/children/0: a lone surrogate"),
        (Outcome(children=[ChildSpec("a", 1, "b"), None]), "/children/1: "),
        (Outcome(children=[ChildSpec("a", "1", "b")]), "/children/0: "),
        (Outcome(children=[ChildSpec("a", 2**70, "b")]), "/children/0: .*out of range"),
        (Outcome(children=[ChildSpec("a", 1, "b", {"x": float("inf")})]), "the spec of child a/b: /x: "),
        (Outcome(edges=[DepEdge(Ref("a", "b"), None)]), "/edges/0: "),
        (Outcome(configs=[ProviderConfigSpec("a", "b", 1, {"x": {2}})]), "the spec of config a: /x: "),
        (Outcome(children=7), "not iterable"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_a_composer_emits_is_refused_naming_the_item(outcome, told):
    failure = reported(outcome, stage=Stage.COMPOSE)

    assert isinstance(failure, Terminal)
    with pytest.raises(Terminal, match=told):
        raise failure


def test_a_failure_s_texts_are_such_that_every_store_can_hold_them():
    failure = reported(failure=Retry("a\0b \ud800 é", reason="\0"))

    assert failure.message == r"a\x00b \ud800 é"
    assert failure.reason == r"\x00"


def test_an_endless_message_is_cut_and_says_how_long_it_was():
    failure = reported(failure=Terminal("x" * 10 * FAILURE_CHARACTERS_MAX))

    assert len(failure.message) < FAILURE_CHARACTERS_MAX + 100
    assert failure.message.endswith(f"… ({10 * FAILURE_CHARACTERS_MAX} characters)")


def test_a_failure_is_told_though_its_status_can_t_be():
    failure = reported(failure=Retry("busy", status={"a": [float("nan")]}))

    assert isinstance(failure, Retry)
    assert failure.message.startswith("busy (its status can't be sent: /a/0: ")


@pytest.mark.parametrize("failure", [Terminal(7), Retry("busy", reason=7), Retry("busy", after=float("inf"))])
def test_a_failure_made_of_wrong_types_is_a_failure_that_says_so(failure):
    found = reported(failure=failure)

    assert isinstance(found, Terminal)
    assert found.message.startswith("the failure can't be sent: ")
