"""pytest fixtures: `from stdworker.testing.fixtures import scripted_broker` in a conftest.py."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from typing import Any

import pytest

from stdworker.model.task import Provider
from stdworker.testing.broker import BrokerStream, ScriptedBroker
from stdworker.worker import WorkerOptions, run_worker

Scenario = Callable[[BrokerStream], Awaitable[Any]]


@pytest.fixture
def scripted_broker() -> Callable[[Iterable[Provider], Scenario], Any]:
    """A function that serves providers against a broker in this process and runs a scenario on its stream:

    `scripted_broker([MyProvider()], scenario)` where `async def scenario(stream)` sends tasks with
    `await stream.run(make_request(…))`. Answers what the scenario answers.
    """

    async def play(providers: Iterable[Provider], scenario: Scenario) -> Any:
        stop = asyncio.Event()
        async with ScriptedBroker() as broker, broker.channel() as channel:
            worker = asyncio.create_task(run_worker(channel, providers, WorkerOptions(), stop=stop))
            try:
                return await scenario(await broker.stream())
            finally:
                stop.set()
                await worker

    return lambda providers, scenario: asyncio.run(play(providers, scenario))
