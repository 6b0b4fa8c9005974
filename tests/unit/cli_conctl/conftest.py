"""A real engine behind a real socket, with a worker inside, and a way to type commands at it."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator

import pytest
import uvicorn
from click.testing import CliRunner, Result

from stdworker.cli.conctl.commands import cli
from stdworker.engine.api import build_app
from stdworker.engine.reconcile import Engine
from stdworker.engine.store.claims import Claim, Settlement, Want
from stdworker.model.kind import KindVersion, Stage
from stdworker.model.outcome import ChildSpec, DepEdge, Outcome, ValueFlow

KINDS = """
kind: leaf
kind_version: 1
description: A thing without children.
spec_schema: {type: object, properties: {size: {type: number}}}
reactions: [{name: work, trigger: specChange, emits: [status]}]
---
kind: stack
kind_version: 1
description: Two leaves, one after the other.
spec_schema: {type: object}
reactions: [{name: compose, trigger: specChange, emits: [children, edges, status]}]
"""


def settle(claim: Claim) -> Settlement:
    """What the worker makes of a task: a stack has two leaves; a leaf fails if its spec says how, and a
    reactor whatever it is told."""
    if claim.stage is Stage.REACT:
        return Settlement(claim.lease, claim.stage, error="nobody listens", terminal=True)
    if claim.stage is Stage.COMPOSE:
        labels = claim.resource.labels if "copies" in claim.resource.spec else {}
        leaves = [ChildSpec("leaf", 1, f"{claim.resource.name}-{name}", {}, labels) for name in ("db", "web")]
        edge = DepEdge(leaves[1].ref, leaves[0].ref, [ValueFlow("/url", "/url")])
        return Settlement(claim.lease, claim.stage, Outcome(status={}, children=leaves, edges=[edge]))
    if failure := claim.resource.spec.get("fail"):
        return Settlement(claim.lease, claim.stage, error=failure, terminal=True)
    return Settlement(claim.lease, claim.stage, Outcome(status={"url": f"http://{claim.resource.name}"}))


async def work(engine: Engine) -> None:
    pairs = [KindVersion("leaf"), KindVersion("stack"), KindVersion("mute")]
    async with engine.watch() as watch:
        while True:
            claims = await engine.claim([Want(pair, 100, "worker") for pair in pairs], "broker")
            if claims:
                await engine.settle([settle(claim) for claim in claims])
            else:
                await watch.next(0.5)


async def serve(database: str, listener: socket.socket, ready: Callable[[asyncio.Event], None]) -> None:
    engine = await Engine.open(database)
    server = uvicorn.Server(uvicorn.Config(build_app(engine), lifespan="off", log_level="warning"))
    stop = asyncio.Event()
    running = [asyncio.create_task(coroutine) for coroutine in (engine.run(), work(engine), server.serve([listener]))]
    ready(stop)
    await stop.wait()
    server.should_exit = True
    await running.pop()
    for task in running:
        task.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    await engine.close()


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[str]:
    """The address of an engine that serves the kinds leaf and stack."""
    database = f"sqlite:///{tmp_path_factory.mktemp('engine')}/converge.db"
    started = threading.Event()
    stops: list[Callable[[], None]] = []

    def ready(stop: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        stops.append(lambda: loop.call_soon_threadsafe(stop.set))
        started.set()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=lambda: asyncio.run(serve(database, listener, ready)))
        thread.start()
        assert started.wait(30)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}"
        assert run(address, "apply", "-f", "-", stdin=KINDS).exit_code == 0
        yield address
        stops[0]()
        thread.join(30)
        assert not thread.is_alive()


def run(address: str, *words: str, stdin: str = "") -> Result:
    return CliRunner().invoke(cli, ["--server", address, *words], input=stdin, prog_name="conctl")


@pytest.fixture
def conctl(server) -> Callable[..., Result]:
    """Type a command at the engine."""
    return lambda *words, stdin="": run(server, *words, stdin=stdin)
