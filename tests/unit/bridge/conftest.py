"""Providers around real programs, and proof that no process and no descriptor is left of them."""

from __future__ import annotations

import asyncio
import os
import time
import uuid
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from stdworker.bridge import BridgeResult, BridgeRuntime, ProgramProvider, supervision
from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import RawJson, dumps
from stdworker.model.kind import KindVersion, Stage, Trigger
from stdworker.model.resource import Resource
from stdworker.model.task import ReactionRequest

KIND = KindVersion("greeter")
MARK = "LC_STDWORKER_TEST"  # a name that the allow-list passes on to every program


@pytest.fixture
async def mark(until, leaves_nothing) -> AsyncIterator[str]:
    """Every program of the test has this in its environment; at the end nobody may have it."""
    mark = uuid.uuid4().hex
    yield mark
    await until(lambda: not programs_with(mark))  # a process that was killed needs a moment to go


@pytest.fixture
async def runtime(mark) -> AsyncIterator[BridgeRuntime]:
    runtime = BridgeRuntime({"PATH": os.environ["PATH"], MARK: mark})
    yield runtime
    await runtime.close()


@pytest.fixture
async def provide(runtime) -> AsyncIterator[Callable[..., Program]]:
    """Make a provider with the members of a launch config as its kind's default."""
    made: list[Program] = []

    async def with_config(options: dict[str, Any] | None = None, **config: Any) -> Program:
        made.append(Program(ProgramProvider(KIND, run=runtime, **(options or {})), config))
        await made[-1].configure(**config)
        return made[-1]

    yield with_config
    for program in made:
        await program.provider.close()


@pytest.fixture
def script(tmp_path) -> Callable[..., str]:
    """Write an executable; answers its path."""

    def write(content: str, name: str = "program") -> str:
        path = tmp_path / name
        path.write_text(content)
        path.chmod(0o755)
        return str(path)

    return write


@pytest.fixture
def impatient(monkeypatch) -> None:
    """What died, or was lost, is started again after hundredths of a second."""
    monkeypatch.setattr(supervision, "DELAY_SECONDS_MIN", 0.01)
    monkeypatch.setattr(supervision, "DELAY_SECONDS_MAX", 0.05)


class Program:
    """A provider under a config, asked as a worker would."""

    def __init__(self, provider: ProgramProvider, config: dict[str, Any]) -> None:
        self.provider = provider
        self.default = ProviderConfig(dumps(config))

    async def configure(self, **config: Any) -> None:
        self.default = ProviderConfig(dumps(config) if config else None)
        await self.provider.on_config(self.default)

    def request(
        self,
        spec: bytes = b'{"n":1}',
        *,
        stage: Stage = Stage.WORK,
        name: str = "ada",
        seconds: float | None = None,
        override: dict[str, Any] | None = None,
        **fields: Any,
    ) -> ReactionRequest:
        resource = Resource(f"uid-of-{name}", KIND.kind, name, 1, 7, spec_json=RawJson(spec))
        return ReactionRequest(
            stage,
            Trigger.SPEC_CHANGE,
            stage.value,
            KIND,
            resource,
            default=self.default,
            override=ProviderConfig(None if override is None else dumps(override)),
            deadline=None if seconds is None else time.monotonic() + seconds,
            **fields,
        )

    async def run(self, *arguments: Any, **fields: Any) -> BridgeResult:
        return await asyncio.wait_for(self.provider.run(self.request(*arguments, **fields)), 60)

    async def status(self, *arguments: Any, **fields: Any) -> Any:
        """The status that it answered, verbatim; its failure raised."""
        result = await self.run(*arguments, **fields)
        if result.failure is not None:
            raise result.failure
        assert result.outcome is not None
        return result.outcome.status


def programs_with(mark: str) -> list[int]:
    """Processes that carry the mark and are alive."""
    return [int(entry.name) for entry in Path("/proc").iterdir() if entry.name.isdigit() and mark in environ(entry)]


def environ(process: Path) -> str:
    try:
        return (process / "environ").read_bytes().decode("utf-8", "replace")
    except OSError:  # gone meanwhile, or a zombie
        return ""


@pytest.fixture
def alive(mark) -> Callable[[], list[int]]:
    """The programs that run now."""
    return lambda: programs_with(mark)
