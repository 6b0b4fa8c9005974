"""`stdworker dev`: an engine and a worker for one folder, joined by a real gRPC connection, reloaded on change."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import httpx
from watchfiles import watch

from stdworker.cli.conctl_apply import Applying, load
from stdworker.cli.conctl_client import Client, Connection, Failed
from stdworker.errors import ConfigError
from stdworker.model.documents import SUFFIXES
from stdworker.model.json_text import loads

START_SECONDS_MAX = 20.0
STOP_SECONDS_MAX = 20.0
LOOK_MILLISECONDS = 300
REST_PORT, BROKER_PORT = 8080, 9090
SHOWN_RESOURCES_MAX = 500
PROGRAM_PREFIX = "stdworker-kind-"


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".")
@click.option("--database", metavar="FILE", help="Keep the state in this file; without it, it is gone at the end.")
def dev(folder: Path, database: str | None) -> None:
    """Run the kinds and resources of FOLDER on an engine and a worker of its own, until Ctrl-C.

    Kind files, configs and resources are applied, and applied again when a file changes.
    """
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        signal.signal(number, signal.default_int_handler)  # whatever ends us, nothing is left running
    with tempfile.TemporaryDirectory(prefix="stdworker-dev-") as scratch, ExitStack() as stack:
        session = Dev(folder.resolve(), Path(scratch), database)
        try:
            session.start(stack)
            session.run()
        except KeyboardInterrupt:
            click.echo("\nstopping")


@dataclass(slots=True)
class Dev:
    """One run of `dev`."""

    folder: Path
    scratch: Path
    database: str | None
    environment: dict[str, str] = field(default_factory=dict)
    server: str = ""
    served: frozenset[str] = frozenset()
    worker: Process | None = None
    shown: dict[str, str] = field(default_factory=dict)

    def start(self, stack: ExitStack) -> None:
        rest, broker = free_port(REST_PORT), free_port(BROKER_PORT)
        self.server = f"http://127.0.0.1:{rest}"
        self.environment = {
            **os.environ,
            "DATABASE_URL": f"sqlite:///{Path(self.database).resolve() if self.database else self.scratch / 'dev.db'}",
            "LISTEN_ADDR": f"127.0.0.1:{rest}",
            "BROKER_ADDR_LISTEN": f"127.0.0.1:{broker}",
            "BROKER_ADDR": f"http://127.0.0.1:{broker}",
        }
        engine = stack.enter_context(running("converge", self.environment, "stdworker.cli.engine", "serve"))
        self.await_engine(engine)
        stack.callback(self.stop_worker)
        self.start_worker()
        click.echo(f"engine {self.server} · docs {self.server}/docs · broker {self.environment['BROKER_ADDR']}")
        if rest != REST_PORT:
            click.echo(f"for conctl in another terminal: export CONVERGE_SERVER={self.server}")

    def await_engine(self, engine: Process) -> None:
        end = time.monotonic() + START_SECONDS_MAX
        with httpx.Client(trust_env=False) as client:
            while time.monotonic() < end:
                if engine.ended:
                    raise Failed("the engine ended at once")
                try:
                    if client.get(f"{self.server}/readyz").is_success:
                        return
                except httpx.TransportError:
                    time.sleep(0.05)
        raise Failed(f"the engine did not answer within {START_SECONDS_MAX:g} s")

    def start_worker(self) -> None:
        self.served = kinds_in(self.folder)
        folders = sorted({str(Path(file).parent) for file in self.served})
        path = os.pathsep.join([*folders, *filter(None, [os.environ.get("STDWORKER_KINDS_PATH")])])
        environment = {**self.environment, **({"STDWORKER_KINDS_PATH": path} if path else {})}
        self.worker = Process("worker", environment, "stdworker.cli.worker", "run")

    def stop_worker(self) -> None:
        if self.worker is not None:
            self.worker.stop()

    def run(self) -> None:
        self.apply()
        for changes in watch(self.folder, yield_on_timeout=True, rust_timeout=LOOK_MILLISECONDS):
            if changes:
                self.reload({Path(path) for _, path in changes})
            if self.worker is not None and self.worker.ended:
                raise Failed("the worker ended")
            self.show_changes()

    def reload(self, changed: set[Path]) -> None:
        """Apply again; another set of programs needs another worker."""
        if kinds_in(self.folder) != self.served:
            click.echo("the set of programs changed: restarting the worker")
            self.stop_worker()
            self.start_worker()
        if any(path.suffix in SUFFIXES for path in changed):
            self.apply()

    def apply(self) -> None:
        """Apply what the folder declares; a mistake in a file is told, and the next change is waited for."""
        try:
            with self.client() as client:
                Applying(client).send(load([str(self.folder)]))
        except (Failed, ConfigError) as error:
            click.echo(f"not applied: {error}", err=True)

    def show_changes(self) -> None:
        """One line for each resource whose phase, or failure, is another than the last time."""
        try:
            with self.client() as client:
                found = [loads(item) for item in client.items("/resources", "resources", {}, SHOWN_RESOURCES_MAX).items]
        except Failed as error:
            click.echo(error.message, err=True)
            return
        now = {f"{resource['kind']}/{resource['name']}": line(resource) for resource in found}
        for name, told in sorted(now.items() - self.shown.items()):
            click.echo(f"  {name}: {told}")
        for name in self.shown.keys() - now.keys():
            click.echo(f"  {name}: deleted")
        self.shown = now

    def client(self) -> Client:
        return Client(Connection(self.server))


class Process:
    """One of our own commands; it logs to our terminal."""

    def __init__(self, name: str, environment: Mapping[str, str], module: str, *arguments: str) -> None:
        code = f"from {module} import main; main()"
        self.name = name
        # Its own session: Ctrl-C reaches us alone, and we stop it in order.
        self.popen = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )

    @property
    def ended(self) -> bool:
        return self.popen.poll() is not None

    def stop(self) -> None:
        """Ask, wait, insist."""
        self.popen.send_signal(signal.SIGTERM)
        try:
            self.popen.wait(STOP_SECONDS_MAX)
        except subprocess.TimeoutExpired:
            self.popen.kill()
            self.popen.wait()


@contextmanager
def running(name: str, environment: Mapping[str, str], module: str, *arguments: str) -> Iterator[Process]:
    process = Process(name, environment, module, *arguments)
    try:
        yield process
    finally:
        process.stop()


def kinds_in(folder: Path) -> frozenset[str]:
    """The files that make programs of a folder kinds."""
    found = [*folder.rglob("*.kind.*"), *folder.rglob(f"{PROGRAM_PREFIX}*")]
    return frozenset(str(path) for path in found if path.is_file() and "node_modules" not in path.parts)


def free_port(wanted: int) -> int:
    """`wanted` if nobody listens there, else any."""
    for port in (wanted, 0):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    raise Failed("no port is free on 127.0.0.1")


def line(resource: dict[str, Any]) -> str:
    message = resource["failure"]["message"] if resource["phase"] == "Failed" else ""
    return f"{resource['phase']} {message.splitlines()[0] if message else ''}".rstrip()
