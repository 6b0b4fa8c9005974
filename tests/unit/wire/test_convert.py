"""What goes over the wire comes out the same."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from stdworker.errors import Released, Retry, Terminal
from stdworker.model.config import ProviderConfig, ProviderConfigSpec
from stdworker.model.json_text import RawJson, dumps
from stdworker.model.kind import KindVersion, Stage, Transition, Trigger
from stdworker.model.outcome import ChildSpec, Condition, DepEdge, Outcome, ValueFlow
from stdworker.model.resource import Operation, Ref, Resource
from stdworker.model.task import Lease, ReactionRequest, Result
from stdworker.wire import convert
from stdworker.wire.convert_result import decode_result, encode_result
from stdworker.wire.convert_task import decode_task, encode_task
from stdworker.wire.generated import worker_pb2 as pb

LEASE = Lease("6f1c", 3)
UID = "3f2504e0-4f89-11d3-9a0c-0305e82c3301"

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
words = st.text(string.ascii_lowercase, min_size=1, max_size=8)
uids = st.uuids().map(str)
counts = st.integers(0, 2**63 - 1)
documents = st.recursive(
    st.none() | st.booleans() | st.integers() | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=6,
).map(dumps)
maybe = st.none() | documents
labels = st.dictionaries(text, text, max_size=3)
resources = st.builds(
    Resource,
    uid=uids,
    kind=words,
    name=words,
    kind_version=st.integers(0, 32_767),
    generation=counts,
    synced_gen=counts,
    spec_json=maybe,
    status_json=maybe,
    labels=labels,
    owner_uid=st.none() | uids,
    root_uid=st.none() | uids,
    is_ready=st.booleans(),
    phase=words,
    finalizers=st.lists(words, max_size=2).map(tuple),
    deletion_requested_at_ms=st.none() | st.integers(1, 2**63 - 1),
    frozen_until_ms=st.none() | st.integers(1, 2**63 - 1),
    quarantined=st.booleans(),
)
statuses = st.sampled_from(["True", "False", "Unknown"])
conditions = st.lists(st.builds(Condition, words, statuses, text, text), max_size=2)
refs = st.builds(Ref, words, words)
flows = st.lists(st.builds(ValueFlow, text, text), max_size=2)
outcomes = st.builds(Outcome, status=maybe, conditions=conditions)
compositions = st.builds(
    Outcome,
    status=maybe,
    conditions=conditions,
    children=st.lists(st.builds(ChildSpec, words, st.integers(1, 9), words, maybe, labels, text), max_size=3),
    edges=st.lists(st.builds(DepEdge, refs, refs, flows), max_size=2),
    configs=st.lists(st.builds(ProviderConfigSpec, words, words, st.integers(1, 9), maybe), max_size=2),
)
configs = st.builds(ProviderConfig, maybe, st.none() | st.binary(min_size=1, max_size=8))


@st.composite
def requests(draw) -> ReactionRequest:
    stage = draw(st.sampled_from(Stage))
    request = ReactionRequest(
        stage=stage,
        trigger=draw(st.sampled_from(Trigger)),
        reaction=draw(words),
        kind=KindVersion(draw(words), draw(st.integers(1, 99))),
        resource=draw(resources),
        override=draw(configs),
    )
    if stage is Stage.COMPOSE:
        request.observed = draw(st.lists(resources, max_size=2))
    if stage is Stage.ROLLUP:
        request.descendants = draw(st.lists(resources, max_size=2))
    if stage is Stage.OPERATE:
        request.operation = draw(st.builds(Operation, words, maybe, st.integers(1, 99), text))
    if stage is Stage.REACT:
        request.transition = draw(st.sampled_from(Transition))
        request.dedup_token = draw(text)
    return request


def a_request(stage: Stage = Stage.WORK) -> ReactionRequest:
    return ReactionRequest(
        stage, Trigger.SPEC_CHANGE, "work", KindVersion("bucket", 2), Resource(UID, "bucket", "photos")
    )


@given(requests())
def test_a_request_of_every_stage_survives_the_way_to_a_worker(request):
    frame = encode_task(LEASE, request, deadline_ms=0).SerializeToString()
    task = decode_task(pb.StageTask.FromString(frame))
    assert task.lease == LEASE
    assert (task.stage, task.kind) == (request.stage, request.kind)
    assert task.request == request


@given(st.sampled_from([Stage.WORK, Stage.ROLLUP, Stage.REACT, Stage.DELETE]), outcomes)
def test_status_and_conditions_survive_the_way_to_the_broker(stage, outcome):
    assert there_and_back(stage, Result(outcome)) == Result(outcome)


@given(compositions)
def test_a_composition_survives_the_way_to_the_broker(outcome):
    assert there_and_back(Stage.COMPOSE, Result(outcome)) == Result(outcome)


@given(documents)
def test_the_output_of_an_operation_survives(output):
    assert there_and_back(Stage.OPERATE, Result(Outcome(output=output))).outcome.output == output


def there_and_back(stage: Stage, result: Result) -> Result:
    frame = encode_result(LEASE, convert.STAGE_NUMBERS[stage], result).SerializeToString()
    lease, decoded_stage, decoded = decode_result(pb.StageComplete.FromString(frame))
    assert (lease, decoded_stage) == (LEASE, stage)
    return decoded


@pytest.mark.parametrize(
    "failure",
    [
        Terminal("no such region", reason="BadRegion"),
        Retry("busy", after=2.5, reason="Throttled"),
        Retry("busy"),
        Released("draining"),
        Terminal("half done", status=RawJson(b'{"step": 1.0}')),
    ],
)
def test_a_failure_survives_with_its_class_reason_delay_and_status(failure):
    back = there_and_back(Stage.WORK, Result(failure=failure)).failure
    assert type(back) is type(failure)
    assert (back.message, back.reason, back.status) == (failure.message, failure.reason, failure.status)
    assert getattr(back, "after", None) == getattr(failure, "after", None)


def test_a_failure_without_a_message_is_still_a_failure():
    assert there_and_back(Stage.WORK, Result(failure=Retry(""))).failure.message == "Retry"


def test_a_message_with_a_lone_surrogate_is_escaped_not_lost():
    assert there_and_back(Stage.WORK, Result(failure=Retry("bad \udcff byte"))).failure.message == r"bad \udcff byte"


def test_a_uid_that_is_not_16_bytes_is_none():
    assert convert.decode_uid(b"short") == ""
    assert convert.encode_uid(None) == b""


@given(uids)
def test_a_uid_is_the_same_text_on_both_sides(uid):
    assert convert.decode_uid(convert.encode_uid(uid)) == uid


def test_documents_travel_verbatim():
    spec = RawJson(b'{ "n": 9007199254740993, "one": 1.0 }')
    request = a_request()
    request.resource.spec_json = spec
    assert decode_task(encode_task(LEASE, request)).request.resource.spec_json == spec


@pytest.mark.parametrize(
    ("stage", "trigger"),
    [
        (Stage.COMPOSE, "specChange"),
        (Stage.WORK, "specChange"),
        (Stage.ROLLUP, "childrenSettled"),
        (Stage.DELETE, "deleteRequested"),
        (Stage.OPERATE, "operation"),
        (Stage.REACT, "reactor"),
    ],
)
def test_a_base_peer_says_no_trigger_and_the_stage_implies_it(stage, trigger):
    message = encode_task(LEASE, a_request(stage))
    message.ClearField("trigger")
    assert decode_task(message).request.trigger == trigger


def test_the_deadline_runs_from_receipt():
    task = decode_task(encode_task(LEASE, a_request(), deadline_ms=1_500), received=100.0)
    assert task.request.deadline == 101.5


def test_no_deadline_is_none():
    assert decode_task(encode_task(LEASE, a_request())).request.deadline is None


def test_the_default_config_is_the_workers():
    default = ProviderConfig(RawJson(b'{"a":1}'))
    assert decode_task(encode_task(LEASE, a_request()), default).request.config() == {"a": 1}


def test_the_requests_own_status_wins_over_the_resources():
    message = encode_task(LEASE, a_request())
    message.work_req.resource.status = b'"old"'
    message.work_req.status = b'"new"'
    assert decode_task(message).request.resource.status == "new"


@pytest.mark.parametrize(
    ("change", "code", "named"),
    [
        (lambda m: setattr(m, "stage", 77), "unknown_stage", "77"),
        (lambda m: setattr(m, "stage", 0), "unknown_stage", "0"),
        (lambda m: m.ClearField("reaction"), "no_reaction", "reaction"),
        (lambda m: m.ClearField("work_req"), "missing_payload", "work_req"),
    ],
)
def test_a_task_that_cannot_be_decoded_is_terminal_and_names_what_is_wrong(change, code, named):
    message = encode_task(LEASE, a_request())
    change(message)
    with pytest.raises(Terminal, match=named) as failure:
        decode_task(message)
    assert failure.value.code == code


def test_a_result_of_an_unknown_stage_echoes_its_number():
    complete = encode_result(LEASE, 77, Result(failure=Terminal("unknown")))
    assert complete.stage == 77
    assert (complete.lease_token, complete.claim_epoch) == LEASE


@pytest.mark.parametrize(
    ("outcome", "told"),
    [
        (Outcome(status={"a": [float("nan")]}), "the status: /a/0: .*nan"),
        (Outcome(children=[ChildSpec("a", 1, "b")]), "compose"),
        (Outcome(conditions=["Ready"]), "can't be sent"),
        (Outcome(conditions=[Condition("Ready", True)]), "can't be sent"),
    ],
)
def test_an_outcome_that_cannot_be_sent_is_a_terminal_failure_that_says_why(outcome, told):
    failure = there_and_back(Stage.WORK, Result(outcome)).failure
    assert isinstance(failure, Terminal)
    assert failure.reason == "BadOutcome"
    with pytest.raises(Terminal, match=told):
        raise failure


def test_a_childs_spec_that_is_not_json_names_the_child():
    result = Result(Outcome(children=[ChildSpec("disk", 1, "root", {"size": {1, 2}})]))
    failure = there_and_back(Stage.COMPOSE, result).failure
    assert "the spec of child disk/root: /size" in str(failure)


def test_what_a_composer_asks_for_arrives():
    asked = there_and_back(Stage.COMPOSE, Result(Outcome(recompose=True, allow_empty=True))).outcome
    assert (asked.recompose, asked.allow_empty) == (True, True)
    base = decode_result(pb.StageComplete(stage=pb.STAGE_COMPOSE, compose=pb.ComposeResult()))[2].outcome
    assert (base.recompose, base.allow_empty) == (False, False)


def test_a_composite_that_wants_no_child_says_so():
    complete = encode_result(LEASE, pb.STAGE_COMPOSE, Result(Outcome()))
    assert complete.HasField("compose")


@given(configs)
def test_a_config_survives_as_push_and_as_answer(config):
    pair = KindVersion("bucket", 2)
    assert convert.decode_config(convert.encode_config_update(pair, config)) == (pair, config)
    assert convert.decode_config(convert.encode_config_entry(pair, config)) == (pair, config)
