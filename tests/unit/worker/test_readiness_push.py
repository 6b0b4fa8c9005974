"""A change of readiness reaches the broker with the event, and says why."""

import threading
from dataclasses import replace

import pytest

from stdworker.bridge import BridgeRuntime, ProgramProvider
from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import dumps
from stdworker.model.kind import KindVersion
from stdworker.testing import make_request

THING = KindVersion("thing")
NEVER_SECONDS = 3600.0


@pytest.fixture
def told(noop):
    """A provider that can say that its readiness changed."""

    class Told(noop):
        on_ready_change = None
        readiness_reason = ""

        def turn(self, is_ready, reason=""):
            self.is_ready, self.readiness_reason = is_ready, reason
            self.on_ready_change()

    return Told()


def never_polls(ground):
    ground.pace = replace(ground.pace, readiness_seconds=NEVER_SECONDS)


def reasons(stream):
    return [(f.interest.has_worker, f.interest.reason) for f in stream.frames if f.HasField("interest")]


def test_the_broker_hears_of_a_change_without_a_poll_and_why(play, told):
    async def scenario(ground):
        never_polls(ground)
        ground.serve(told)
        stream = await ground.stream()
        told.turn(False, "db is down")
        await stream.until(lambda: len(stream.interests) == 1)
        told.turn(False, "db is still down")
        await stream.until(lambda: len(stream.interests) == 2)
        told.turn(True)
        await stream.until(lambda: len(stream.interests) == 3)
        return reasons(stream)

    assert play(scenario) == [(False, "db is down"), (False, "db is still down"), (True, "")]


def test_a_change_may_be_told_from_a_thread_and_after_the_end(play, told):
    async def scenario(ground):
        never_polls(ground)
        ground.serve(told)
        stream = await ground.stream()
        threading.Thread(target=told.turn, args=(False, "lost")).start()
        await stream.until(lambda: len(stream.interests) == 1)
        await ground.drained()

    play(scenario)
    told.turn(True)


def test_a_provider_that_tells_changes_all_the_time_is_asked_now_and_then(play, told):
    asked = 0

    async def ready():
        nonlocal asked
        asked += 1
        told.on_ready_change()
        return True

    async def scenario(ground):
        ground.pace = replace(ground.pace, readiness_seconds=NEVER_SECONDS, readiness_gap_seconds=NEVER_SECONDS)
        told.ready = ready
        ground.serve(told)
        stream = await ground.stream()
        beats = len(stream.heartbeats)
        await stream.until(lambda: len(stream.heartbeats) > beats + 2)

    play(scenario)
    assert asked == 1


def test_a_config_that_is_refused_is_why_a_pair_is_not_ready(play, noop):
    async def scenario(ground):
        provider = noop()

        async def refuse(config):
            raise ValueError("no region")

        provider.on_config = refuse
        ground.serve(provider)
        stream = await ground.stream()
        await stream.until(lambda: bool(stream.interests))
        return reasons(stream)

    [(ready, reason)] = play(scenario)
    assert not ready
    assert "no region" in reason


def test_a_provider_is_asked_again_when_it_has_a_new_config(play, noop):
    async def scenario(ground):
        never_polls(ground)

        class Choosy(noop):
            async def ready(self):
                return self.configs[-1].spec is not None

        ground.serve(Choosy())
        stream = await ground.stream()
        await stream.until(lambda: len(stream.interests) == 1)
        await stream.send_config(THING, ProviderConfig(dumps({})))
        await stream.until(lambda: len(stream.interests) == 2)
        return [ready for ready, _ in reasons(stream)]

    assert play(scenario) == [False, True]


def test_who_is_not_ready_at_the_start_is_one_line_for_each_reason(play, noop, logged):
    async def scenario(ground):
        providers = [noop(name) for name in ("a", "b", "c")]
        for provider in providers[:2]:
            provider.is_ready, provider.readiness_reason = False, "nothing configured"
        ground.serve(*providers)
        await ground.stream()
        return await logged("not ready")

    assert play(scenario) == "not ready yet: a@1, b@1: nothing configured"


@pytest.mark.parametrize(
    ("program", "why"),
    [
        pytest.param(
            """read -r line; echo '{"ready":false,"reason":"db is down"}'; echo '{}'; read -r line""",
            "the program says: db is down",
            id="a ready notice",
        ),
        pytest.param("exit 3", "the program keeps dying", id="the breaker"),
    ],
)
def test_what_a_program_says_or_does_sheds_its_kind_at_once(play, program, why, monkeypatch):
    monkeypatch.setattr("stdworker.bridge.supervision.DELAY_SECONDS_MIN", 0.01)

    async def scenario(ground):
        config = {"command": "bash", "args": ["-c", program], "mode": "stream"}
        ground.broker.configs[THING] = ProviderConfig(dumps(config))
        never_polls(ground)
        ground.serve(ProgramProvider(THING, run=BridgeRuntime()))
        stream = await ground.stream()
        await stream.send_task(make_request(THING))
        await stream.until(lambda: any(why in reason for _, reason in reasons(stream)))

    play(scenario)
