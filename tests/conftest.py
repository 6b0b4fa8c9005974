"""Fixtures for tests of every kind: the engine as a real process, and a worker that follows a script."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import grpc
import grpc.aio
import pytest
from hypothesis import settings

from stdworker.engine.store.postgres import PostgresDatabase
from stdworker.engine.store.sqlite import SqliteDatabase
from stdworker.model.task import Lease
from stdworker.testing.postgres import CARELESS, PostgresServer, find_binaries, run_postgres
from stdworker.wire.generated import worker_pb2 as pb
from stdworker.wire.service import EXTENSIONS, WorkerClient, encode_extensions

BIN = Path(sys.executable).parent
# FUZZ_ROUNDS multiplies all that is searched at random: hypothesis here, the behaviours of programs in unit/bridge.
# Without it every run searches the same, so that a change is judged by what it changed.
ROUNDS = os.environ.get("FUZZ_ROUNDS")
settings.register_profile("project", max_examples=100 * int(ROUNDS or 1), deadline=None, derandomize=ROUNDS is None)
settings.load_profile("project")

POLLER_SECONDS = 0.2  # for the last events of a loop that is about to be closed
HANG_SECONDS = 60
POLL_SECONDS = 0.005
MEMORY_BYTES_MIN = 2 * 2**30
READY = re.compile(r"ready: [\w ]+ on (\S+),(?: probes on \S+,)? (?:broker on (\S+)|no broker), store (\S+)")


def pytest_collection_finish() -> None:
    """All tests of the suite are in memory from now on: to look through them took a fifth of a second each time."""
    gc.collect()
    gc.freeze()


class WatchedProcess:
    """A process whose output, both streams of it, is read as it comes."""

    def __init__(self, *command: str | Path, **options: Any) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options
        )
        self.output = ""
        self._grew = threading.Condition()
        self._ended = False
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        with self.process.stdout as stdout:
            for line in stdout:
                with self._grew:
                    self.output += line
                    self._grew.notify_all()
        with self._grew:
            self._ended = True
            self._grew.notify_all()

    def said(self, pattern: str | re.Pattern[str]) -> re.Match[str]:
        """Wait until the output has it."""
        with self._grew:
            self._grew.wait_for(lambda: self._ended or re.search(pattern, self.output), HANG_SECONDS)
        match = re.search(pattern, self.output)
        assert match, f"never said {pattern!r}:\n{self.output}"
        return match

    def stop(self, number: int = signal.SIGTERM) -> int:
        self.signal(number)
        return self.ended()

    def signal(self, number: int) -> None:
        self.process.send_signal(number)

    def ended(self) -> int:
        """Wait for its end, and for the end of its output; the exit status."""
        status = self.process.wait(HANG_SECONDS)
        self._reader.join(HANG_SECONDS)
        return status

    def kill(self) -> None:
        self.process.kill()
        self.ended()


class ServeProcess(WatchedProcess):
    """`converge serve` with the store in a folder of the test's, on ports that the system chose."""

    def __init__(self, folder: Path, settings: dict[str, str]) -> None:
        self.folder = folder
        environment = {
            "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
            "DATABASE_URL": f"sqlite:///{folder}/converge.db",
            "LISTEN_ADDR": "127.0.0.1:0",
            "BROKER_ADDR_LISTEN": "127.0.0.1:0",
            **({"HEALTH_ADDR": "127.0.0.1:0"} if settings.get("ROLE") == "broker" else {}),
            **settings,
        }
        super().__init__(BIN / "converge", "serve", env=environment, cwd=folder)
        self.rest, self.broker, self.store = self.said(READY).groups()


class ScriptedWorker:
    """One stream of a worker. It answers nothing by itself. `one_loop` closes its channel."""

    channels: ClassVar[list[grpc.aio.Channel]] = []

    def __init__(self, target: str, extensions: Iterable[str] = EXTENSIONS, **channel_options: int) -> None:
        options = [(f"grpc.{name}", value) for name, value in channel_options.items()]
        self.channel = grpc.aio.insecure_channel(target, options=[*options, ("grpc.use_local_subchannel_pool", 1)])
        self.channels.append(self.channel)
        self.client = WorkerClient(self.channel)
        self.call = self.client.work_stream(metadata=encode_extensions(tuple(extensions)))
        self.received: list[pb.WorkStreamServerMsg] = []
        self._left: list[pb.WorkStreamServerMsg] = []
        self._arrived = asyncio.Condition()
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.CancelledError):
            while (message := await self.call.read()) is not grpc.aio.EOF:
                async with self._arrived:
                    self.received.append(message)
                    self._left.append(message)
                    self._arrived.notify_all()
        async with self._arrived:
            self._arrived.notify_all()

    async def send(self, **body: Any) -> None:
        await self.send_message(pb.WorkStreamClientMsg(**body))

    async def send_message(self, message: pb.WorkStreamClientMsg) -> None:
        await self.call.write(message.SerializeToString())

    async def subscribe(
        self,
        *kinds: str,
        most: int = 10,
        versions: Sequence[int] = (),
        each: Sequence[int] = (),
        resumed: Sequence[Lease] = (),
    ) -> ScriptedWorker:
        names = kinds or ("leaf",)
        await self.send(
            subscribe=pb.Subscribe(
                kinds=names,
                kind_versions=versions or [1] * len(names),
                max_inflight=most,
                pair_inflight=each,
                resumed=[pb.ResumedTask(lease_token=lease.token, claim_epoch=lease.epoch) for lease in resumed],
            )
        )
        return self

    async def frame(self) -> pb.WorkStreamServerMsg:
        """The next frame in order."""
        return await self._take()

    async def next(self, body: str) -> Any:
        """The next frame of this kind. Others that came before can still be taken: some come in any order."""
        return getattr(await self._take(body), body)

    async def tasks(self, count: int) -> list[pb.StageTask]:
        """So many tasks, alone or in batches."""
        tasks: list[pb.StageTask] = []
        while len(tasks) < count:
            message = await self._take("task", "tasks")
            tasks.extend([message.task] if message.WhichOneof("body") == "task" else message.tasks.tasks)
        return tasks

    async def _take(self, *bodies: str) -> pb.WorkStreamServerMsg:
        """The first of the frames that nobody took, of one of these kinds if any are given."""

        def found() -> pb.WorkStreamServerMsg | None:
            return next((frame for frame in self._left if not bodies or frame.WhichOneof("body") in bodies), None)

        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(HANG_SECONDS), self._arrived:
                await self._arrived.wait_for(lambda: found() or self._reading.done())
        frame = found()
        if frame is None:
            end = f"{await self.call.code()} {await self.call.details()}" if self._reading.done() else "not ended"
            came = [left.WhichOneof("body") for left in self.received]
            raise AssertionError(f"no frame came of {bodies or 'any kind'}; the stream: {end}; all that came: {came}")
        self._left.remove(frame)
        return frame

    async def task(self) -> pb.StageTask:
        (task,) = await self.tasks(1)
        return task

    async def complete(self, *tasks: pb.StageTask, **result: Any) -> None:
        for task in tasks:
            await self.send(complete=echo(task, **result))

    async def half_close(self) -> None:
        await self.call.done_writing()

    async def ended(self) -> tuple[grpc.StatusCode, str]:
        async with asyncio.timeout(HANG_SECONDS):
            return await self.call.code(), await self.call.details()

    async def cut(self) -> None:
        """The connection is gone without a goodbye."""
        self.call.cancel()
        await self.channel.close()

    async def close(self) -> None:
        await self.cut()
        await asyncio.wait({self._reading})


def echo(task: pb.StageTask, **result: Any) -> pb.StageComplete:
    return pb.StageComplete(lease_token=task.lease_token, claim_epoch=task.claim_epoch, stage=task.stage, **result)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="module")
async def one_loop(anyio_backend: str) -> AsyncIterator[None]:
    """All tests of a module share a loop: grpc's poller trips over one that was closed, in whichever test comes next.

    So calls that others left behind end before the first test, and its own before the loop does.
    """
    loop = asyncio.get_running_loop()
    told = loop.get_exception_handler()
    loop.set_exception_handler(lambda loop, context: None)
    gc.collect()
    async with grpc.aio.insecure_channel("localhost:1"):  # has the poller tell this loop what it has
        await asyncio.sleep(POLLER_SECONDS)
    loop.set_exception_handler(told)
    yield
    while ScriptedWorker.channels:
        await ScriptedWorker.channels.pop().close()
    await asyncio.sleep(POLLER_SECONDS)


@pytest.fixture
def scripted_worker() -> type[ScriptedWorker]:
    return ScriptedWorker


@pytest.fixture
def until() -> Callable[[Callable[[], Any]], Awaitable[Any]]:
    """Wait on the event loop for what nothing signals; answers what the condition did."""

    async def wait(condition: Callable[[], Any]) -> Any:
        async with asyncio.timeout(HANG_SECONDS):
            while not (found := condition()):
                await asyncio.sleep(POLL_SECONDS)
            return found

    return wait


@pytest.fixture
def eventually() -> Callable[[Callable[[], Any]], Any]:
    """The same without an event loop."""

    def wait(condition: Callable[[], Any]) -> Any:
        deadline = time.monotonic() + HANG_SECONDS
        while not (found := condition()):
            assert time.monotonic() < deadline, f"never came true: {found!r}"
            time.sleep(POLL_SECONDS)
        return found

    return wait


@pytest.fixture
def watch() -> Iterator[Callable[..., WatchedProcess]]:
    """Starts a command whose output is read as it comes; all started are killed at the end."""
    started: list[WatchedProcess] = []

    def start(*command: str | Path, **options: Any) -> WatchedProcess:
        started.append(WatchedProcess(*command, **options))
        return started[-1]

    yield start
    for process in started:
        process.kill()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., ServeProcess]]:
    """Starts `converge serve` with these variables set; all started are killed at the end."""
    started: list[ServeProcess] = []

    def start(**settings: str) -> ServeProcess:
        started.append(ServeProcess(tmp_path, settings))
        return started[-1]

    yield start
    for server in started:
        server.kill()


class Disk:
    """A small file system, and a file that takes what is left of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ballast = folder / "ballast"

    def fill(self) -> None:
        with self.ballast.open("wb", buffering=0) as file, contextlib.suppress(OSError):
            while True:
                file.write(b"\0" * 65_536)

    def free(self) -> None:
        self.ballast.unlink()


@pytest.fixture
def make_disk(tmp_path: Path) -> Iterator[Callable[[int], Disk]]:
    """Mounts a disk of so many MiB, which takes root; the test is skipped where that is refused."""
    folder = tmp_path / "disk"

    def mount(size_mib: int) -> Disk:
        folder.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={size_mib}m", "tmpfs", str(folder)]
        mounted = subprocess.run(command, capture_output=True, text=True, check=False)
        if mounted.returncode:
            pytest.skip(f"NOT TESTED: a full disk can't be made here, mounting is refused: {mounted.stderr.strip()}")
        return Disk(folder)

    yield mount
    if folder.is_mount():
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


# ---- databases with today's schema ----
# Copied, as making one takes ten times as long; `postgres.create_database()` gives an empty one.


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What `sqlite_url` copies."""
    path = tmp_path_factory.mktemp("migrated") / "store.db"
    SqliteDatabase(path).migrate()
    return path


@pytest.fixture(scope="session")
def migrated_database(postgres: PostgresServer) -> str:
    """What `postgres_url` copies."""
    url = postgres.create_database()
    PostgresDatabase(url).migrate()
    return url


@pytest.fixture
def sqlite_url(tmp_path: Path, migrated_file: Path) -> str:
    """A database of the test's own, on SQLite."""
    path = shutil.copy(migrated_file, tmp_path)
    return f"sqlite:///{path}"


@pytest.fixture
def postgres_url(postgres: PostgresServer, migrated_database: str) -> Iterator[str]:
    """A database of the test's own, on Postgres."""
    with postgres.database(migrated_database) as url:
        yield url


# ---- Postgres ----


@pytest.fixture(scope="session")
def postgres_binaries() -> Path:
    binaries = find_binaries()
    if binaries is None:
        if os.environ.get("CI"):
            pytest.fail("CI must have Postgres: initdb was found neither on PATH nor under /usr/lib/postgresql")
        pytest.skip("Postgres is not installed: initdb was found neither on PATH nor under /usr/lib/postgresql")
    return binaries


@pytest.fixture(scope="session")
def postgres(postgres_binaries: Path) -> Iterator[PostgresServer]:
    """A Postgres server for the session."""
    with run_postgres(postgres_binaries, CARELESS, within=memory()) as server:
        yield server


@pytest.fixture
def postgres_replica(postgres_binaries: Path, postgres: PostgresServer) -> Iterator[PostgresServer]:
    """A streaming replica of the server."""
    with run_postgres(postgres_binaries, CARELESS, source=postgres, within=memory()) as server:
        yield server


def memory() -> Path | None:
    """Where files need no disk, if there is enough of it: a database is hundreds of files, made and removed in a
    tenth of the time."""
    folder = Path("/dev/shm")
    is_ample = folder.is_dir() and os.access(folder, os.W_OK) and shutil.disk_usage(folder).free >= MEMORY_BYTES_MIN
    return folder if is_ample else None
