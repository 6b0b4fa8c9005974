"""What authors of plugins test with."""

import asyncio

import pytest

from stdworker import ChildSpec, Condition, KindVersion, Outcome, Retry, Terminal
from stdworker.model.kind import Stage, Transition, Trigger
from stdworker.model.resource import Operation, Resource
from stdworker.testing import make_request, run_provider, run_provider_async
from stdworker.testing.fixtures import scripted_broker  # noqa: F401 - a fixture


class Greeter:
    kind = KindVersion("greeter")

    def __init__(self):
        self.greeting = "Hello"

    def on_config(self, config):
        if config.spec:
            self.greeting = config.spec.value()["greeting"]

    def ready(self):
        return True

    def work(self, request):
        name = (request.resource.spec or {}).get("name")
        if not name:
            raise Terminal("spec.name is missing", reason="NoName")
        return Outcome(status={"text": f"{self.greeting}, {name}"}, conditions=[Condition("Ready", "True")])


def test_a_provider_is_run_with_a_spec():
    outcome = run_provider(Greeter(), spec={"name": "Ada"})
    assert outcome.status.value() == {"text": "Hello, Ada"}
    assert outcome.conditions == [Condition("Ready", "True")]


def test_the_config_is_told_first_and_is_in_the_request():
    assert (
        run_provider(Greeter(), spec={"name": "Ada"}, config={"greeting": "Moin"}).status.value()["text"] == "Moin, Ada"
    )


def test_a_failure_is_raised():
    with pytest.raises(Terminal, match=r"spec\.name is missing") as failure:
        run_provider(Greeter())
    assert failure.value.reason == "NoName"


def test_a_crash_is_raised_as_the_verdict_that_a_worker_would_report():
    class Crashing(Greeter):
        def work(self, request):
            raise ZeroDivisionError

    with pytest.raises(Retry, match="ZeroDivisionError"):
        run_provider(Crashing())


def test_an_outcome_that_could_not_be_sent_fails_here_too():
    class Wrong(Greeter):
        def work(self, request):
            return Outcome(children=[ChildSpec("a", 1, "b")])

    with pytest.raises(Terminal, match="compose"):
        run_provider(Wrong())
    assert run_provider(Wrong(), stage="compose").children == [ChildSpec("a", 1, "b")]


def test_a_deadline_is_kept():
    class Slow(Greeter):
        async def work(self, request):
            await asyncio.sleep(60)

    with pytest.raises(Retry, match="deadline"):
        run_provider(Slow(), timeout=0.01)


def test_inside_a_loop_there_is_an_async_form():
    async def scenario():
        return await run_provider_async(Greeter(), spec={"name": "Ada"})

    assert asyncio.run(scenario()).status.value() == {"text": "Hello, Ada"}


def test_progress_reaches_the_request_of_the_test():
    told = []

    class Telling(Greeter):
        def work(self, request):
            request.progress(0.5, "half")

    request = make_request(Greeter.kind)
    request.report_progress = lambda fraction, message: told.append((fraction, message))
    run_provider(Telling(), request)
    assert told == [(0.5, "half")]


@pytest.mark.parametrize(
    ("stage", "trigger"),
    [
        ("compose", Trigger.SPEC_CHANGE),
        ("rollup", Trigger.CHILDREN_SETTLED),
        ("delete", Trigger.DELETE_REQUESTED),
        ("operate", Trigger.OPERATION),
        ("react", Trigger.REACTOR),
    ],
)
def test_what_a_stage_implies_need_not_be_said(stage, trigger):
    request = make_request(Greeter.kind, stage=stage)
    assert (request.stage, request.trigger, request.reaction) == (Stage(stage), trigger, stage)


def test_all_that_a_stage_carries_reaches_the_provider():
    seen = {}

    class Looking(Greeter):
        def work(self, request):
            seen[request.stage] = request

    child = Resource("", "disk", "root")
    run_provider(Looking(), stage="compose", observed=[child])
    run_provider(Looking(), stage="rollup", descendants=[child], status={"n": 1})
    run_provider(Looking(), stage="operate", operation=Operation("restart"))
    run_provider(Looking(), stage="react", transition=Transition.SYNCED, dedup_token="t-1")
    run_provider(Looking(), stage="delete", finalizers=["x"], labels={"a": "b"}, override={"region": "eu"})
    assert seen[Stage.COMPOSE].observed[0].ref == ("disk", "root")
    assert seen[Stage.ROLLUP].descendants[0].ref == ("disk", "root")
    assert seen[Stage.OPERATE].operation.verb == "restart"
    assert (seen[Stage.REACT].transition, seen[Stage.REACT].dedup_token) == (Transition.SYNCED, "t-1")
    assert (seen[Stage.DELETE].finalizer, seen[Stage.DELETE].resource.labels) == ("x", {"a": "b"})
    assert seen[Stage.DELETE].config() == {"region": "eu"}


def test_a_provider_serves_a_broker_in_the_tests_process(scripted_broker):  # noqa: F811
    async def scenario(stream):
        return (await stream.run(make_request(Greeter.kind, spec={"name": "Ada"}))).outcome

    assert scripted_broker([Greeter()], scenario).status.value() == {"text": "Hello, Ada"}
