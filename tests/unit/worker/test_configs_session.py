"""Default configs reach providers once, in order, before the tasks that need them."""

import asyncio
import threading
from dataclasses import replace

import pytest

from stdworker.errors import Released
from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion
from stdworker.model.outcome import Outcome
from stdworker.testing import make_request

BOTH = pytest.mark.parametrize("peer", [{}, {"extensions": ()}], ids=["extensions", "base"])
THING = KindVersion("thing")


def config(text, bundle=None):
    return ProviderConfig(RawJson(text.encode()), bundle)


def a_task(**parts):
    return make_request(THING, **parts)


async def echo_config(request):
    return Outcome(status=request.config())


@BOTH
def test_configs_are_read_before_anything_is_served(play, noop, peer):
    async def scenario(ground):
        ground.broker.configs[THING] = config('{"region": "eu"}', b"zip")
        provider = noop(work=echo_config)
        ground.serve(provider)
        stream = await ground.stream()
        known = list(provider.configs)
        return known, (await stream.run(a_task())).outcome.status

    known, status = play(scenario, **peer)
    assert known == [config('{"region": "eu"}', b"zip")]
    assert status == b'{"region":"eu"}'


@BOTH
def test_on_config_is_called_once_at_start_also_without_a_config(play, noop, peer):
    async def scenario(ground):
        provider = noop()
        ground.serve(provider)
        stream = await ground.stream()
        await stream.run(a_task())
        return provider.configs

    assert play(scenario, **peer) == [ProviderConfig()]


@BOTH
def test_a_push_is_told_only_when_the_content_changed(play, noop, peer):
    async def scenario(ground):
        provider = noop(work=echo_config)
        ground.serve(provider)
        stream = await ground.stream()
        for text in ('{"a":1}', '{"a":1}', '{"a":2}', '{"a":2}'):
            await stream.send_config(THING, config(text))
            await stream.run(a_task())
        return provider.configs

    assert play(scenario, **peer) == [ProviderConfig(), config('{"a":1}'), config('{"a":2}')]


@BOTH
def test_a_task_that_follows_a_push_sees_it_and_starts_after_on_config(play, noop, peer):
    async def scenario(ground):
        told = []
        release = asyncio.Event()

        class Slow(noop):
            async def on_config(self, given):
                if given.spec:
                    await release.wait()
                told.append(given.spec)

            async def work(self, request):
                return Outcome(status=[request.config(), len(told)])

        ground.serve(Slow())
        stream = await ground.stream()
        await stream.send_config(THING, config('{"a":1}'))
        lease = await stream.send_task(a_task())
        await stream.until(lambda: [lease.token] in stream.heartbeats)
        release.set()
        return (await stream.result(lease)).outcome.status

    assert play(scenario, **peer) == b'[{"a":1},2]'


def test_on_config_never_runs_twice_at_once_and_always_ends_with_the_latest(play, noop):
    async def scenario(ground):
        seen = []
        lock = threading.Lock()

        class Careful(noop):
            def on_config(self, given):
                assert lock.acquire(blocking=False)
                threading.Event().wait(0.005)
                seen.append(given.spec)
                lock.release()

        ground.serve(Careful(work=echo_config))
        stream = await ground.stream()
        for number in range(20):
            await stream.send_config(THING, config(f'{{"n":{number}}}'))
        status = (await stream.run(a_task())).outcome.status
        return seen, status

    seen, status = play(scenario)
    assert status == b'{"n":19}'
    assert seen[-1] == b'{"n":19}'
    assert seen == sorted(set(seen), key=seen.index)


def test_a_default_deleted_while_the_worker_was_away_is_noticed(play, noop):
    async def scenario(ground):
        ground.broker.configs[THING] = config('{"a":1}')
        provider = noop(work=echo_config)
        ground.serve(provider)
        old = await ground.stream()
        await old.until(lambda: len(ground.broker.pulls) == 2)  # before and after it connected
        await old.run(a_task())  # what was pushed before is heard
        del ground.broker.configs[THING]
        old.cut()
        new = await ground.stream(1)
        await new.until(lambda: provider.configs[-1] == ProviderConfig())
        return provider.configs, (await new.run(a_task())).outcome.status

    configs, status = play(scenario, extensions=())
    assert configs == [config('{"a":1}'), ProviderConfig()]
    assert status is None


def test_configs_are_read_again_now_and_then(play, noop):
    async def scenario(ground):
        ground.pace = replace(ground.pace, pull_seconds=0.02, pull_base_seconds=0.02)
        provider = noop()
        ground.serve(provider)
        stream = await ground.stream()
        ground.broker.configs[THING] = config('{"late":true}')
        await stream.until(lambda: provider.configs[-1] == config('{"late":true}'))
        return provider.configs

    assert play(scenario) == [ProviderConfig(), config('{"late":true}')]


def test_a_pull_never_replaces_what_was_pushed_after_it_was_sent(play, noop):
    async def scenario(ground):
        ground.pace = replace(ground.pace, pull_seconds=0.02, pull_base_seconds=0.02)
        provider = noop(work=echo_config)
        ground.serve(provider)
        stream = await ground.stream()
        ground.broker.pulls_wait_for = asyncio.Event()
        asked = len(ground.broker.pulls)
        await stream.until(lambda: len(ground.broker.pulls) > asked)
        await stream.send_config(THING, config('{"pushed":1}'))
        await stream.run(a_task())
        ground.broker.configs[THING] = config('{"pushed":1}')
        asked = len(ground.broker.pulls)
        ground.broker.pulls_wait_for.set()
        await stream.until(lambda: len(ground.broker.pulls) > asked)
        return (await stream.run(a_task())).outcome.status, len(provider.configs)

    assert play(scenario) == (b'{"pushed":1}', 2)


def test_a_push_for_a_pair_that_is_not_served_is_ignored(play, noop):
    async def scenario(ground):
        ground.serve(noop())
        stream = await ground.stream()
        await stream.send_config(KindVersion("other"), config("1"))
        return (await stream.run(a_task())).failure

    assert play(scenario) is None


@pytest.mark.parametrize("error", [ValueError("no region"), SystemExit(1), asyncio.CancelledError()])
def test_a_config_that_a_provider_refuses_makes_it_not_ready_until_it_changes(play, noop, error, logged):
    async def scenario(ground):
        class Picky(noop):
            async def on_config(self, given):
                if given.spec == b'"bad"':
                    raise error

        ground.serve(Picky())
        stream = await ground.stream()
        await stream.send_config(THING, config('"bad"'))
        await stream.until(lambda: ("thing@1", False, 100) in stream.interests)
        refused = await stream.run(a_task())
        await stream.send_config(THING, config('"good"'))
        await stream.until(lambda: ("thing@1", True, 100) in stream.interests)
        line = await logged("refuses its config")
        return refused.failure, (await stream.run(a_task())).failure, line

    refused, accepted, line = play(scenario)
    assert isinstance(refused, Released)
    assert refused.reason == "NotReady"
    assert accepted is None
    assert type(error).__name__ in line


def test_a_refused_config_is_offered_again_at_the_next_pull(play, noop):
    async def scenario(ground):
        class Flaky(noop):
            attempts = 0

            async def on_config(self, given):
                Flaky.attempts += 1
                if Flaky.attempts < 3:
                    raise ConnectionError

        ground.pace = replace(ground.pace, pull_seconds=0.02, pull_base_seconds=0.02)
        ground.serve(Flaky())
        stream = await ground.stream()
        await stream.until(lambda: ("thing@1", True, 100) in stream.interests)

    play(scenario)


def test_until_the_first_on_config_returned_a_pair_is_not_ready_and_others_are(play, noop):
    async def scenario(ground):
        release = asyncio.Event()

        class Slow(noop):
            async def on_config(self, given):
                await release.wait()

        ground.serve(Slow(), noop("quick"))
        stream = await ground.stream()
        await stream.until(lambda: ("thing@1", False, 100) in stream.interests)
        assert (await stream.run(make_request(KindVersion("quick")))).failure is None
        release.set()
        await stream.until(lambda: ("thing@1", True, 100) in stream.interests)
        return stream.interests

    assert play(scenario) == [("thing@1", False, 100), ("thing@1", True, 100)]


def test_tasks_wait_for_an_on_config_that_hangs_only_so_long(play, noop):
    async def scenario(ground):
        release = asyncio.Event()

        class Stuck(noop):
            async def on_config(self, given):
                if given.spec:
                    await release.wait()

        ground.pace = replace(ground.pace, on_config_seconds=0.05)
        ground.serve(Stuck())
        stream = await ground.stream()
        await stream.send_config(THING, config("1"))
        failure = (await stream.run(a_task())).failure
        await stream.until(lambda: ("thing@1", False, 100) in stream.interests)
        release.set()
        await stream.until(lambda: ("thing@1", True, 100) in stream.interests)
        return failure, (await stream.run(a_task())).failure

    failure, later = play(scenario)
    assert isinstance(failure, Released)
    assert later is None
