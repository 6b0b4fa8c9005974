"""Real processes, and proof that none of them, nor a descriptor, is left."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest

from stdworker.process.command import Command
from stdworker.process.spawn import Process, spawn

PATH = os.environ["PATH"]


@pytest.fixture
async def start(leaves_nothing) -> AsyncIterator[Callable[..., Process]]:
    """Start a bash script; what is left at the end of the test is killed."""
    started: list[Process] = []

    def bash(script: str, **variables: str) -> Process:
        command = Command("/bin/bash", ("-c", script), None, {"PATH": PATH, **variables})
        started.append(spawn(command, asyncio.get_running_loop()))
        return started[-1]

    yield bash
    for process in started:
        process.signal_group(9) if process.alive else None
        await process.exited
        process.close()


@pytest.fixture
def program(tmp_path) -> Callable[..., Path]:
    """Write a file that may be executed."""

    def write(content: str | bytes, name: str = "program", mode: int = 0o755) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        path.chmod(mode)
        return path

    return write
