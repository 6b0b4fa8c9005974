"""`stdworker dev`: an engine and a worker for one folder, joined by a real gRPC connection, reloaded on change."""

from __future__ import annotations

import logging
import os
import signal
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from watchfiles import watch
from watchfiles.main import FileChange

from stdworker.cli.conctl.apply import Applying
from stdworker.cli.conctl.client import Client, Connection, Failed
from stdworker.cli.conctl.items import SCOPE_FILE, files, load, ordered
from stdworker.cli.dev.processes import Engine, Process
from stdworker.cli.dev.programs import Programs
from stdworker.cli.dev.scratch import scratch_folder
from stdworker.cli.signals import ending_signals
from stdworker.errors import ConfigError
from stdworker.model.documents import SUFFIXES
from stdworker.model.json_text import loads
from stdworker.model.kind import KindVersion
from stdworker.model.settings import WorkerSettings

LOOK_MILLISECONDS = 300
REST_PORT, BROKER_PORT = 8080, 9090
SHOWN_RESOURCES_MAX = 500


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), default=".")
@click.option("--database", metavar="FILE", help="Keep the state in this file; without it, it is gone at the end.")
def dev(folder: Path, database: str | None) -> None:
    """Run the kinds and resources of FOLDER on an engine and a worker of its own, until Ctrl-C.

    Kind files, configs and resources are applied, and applied again when a file changes; when a program
    changes, the resources of its kind are reconciled. A program without a kind file is asked to describe itself
    if its text has the words `describe` and `reactions`.
    """
    on_signals(signal.default_int_handler)  # whatever ends us, nothing is left running
    logging.getLogger("stdworker.kinds").setLevel(logging.ERROR)  # the worker tells it
    with scratch_folder() as scratch, ExitStack() as stack:
        session = Dev(folder.resolve(), scratch, database)
        try:
            session.start(stack)
            session.run()
        except KeyboardInterrupt:
            on_signals(lambda *_: session.kill())
            click.echo("\nstopping; Ctrl-C again stops at once")


def on_signals(handler: Callable[..., None]) -> None:
    for number in ending_signals():
        signal.signal(number, handler)


@dataclass(slots=True)
class Dev:
    """One run of `dev`."""

    folder: Path
    scratch: Path
    database: str | None
    server: str = ""
    environment: dict[str, str] = field(default_factory=dict)
    client: Client = field(init=False)
    changes: Iterator[set[FileChange]] = field(init=False)
    engine: Process | None = None
    worker: Process | None = None
    programs: Programs = field(default_factory=Programs)
    shown: dict[str, str] = field(default_factory=dict)
    mistakes: set[str] = field(default_factory=set)

    def start(self, stack: ExitStack) -> None:
        self.changes = watched(self.folder)  # before the first look: an edit in between would be lost
        self.start_engine(stack)
        self.client = stack.enter_context(Client(Connection(self.server)))
        stack.callback(self.stop_worker)
        self.start_worker(Programs.of(self.folder))
        click.echo(f"engine {self.server} · docs {self.server}/docs · broker {self.environment['BROKER_ADDR']}")
        if not self.server.endswith(f":{REST_PORT}"):
            click.echo(f"not on port {REST_PORT}, so conctl must be told: export CONVERGE_SERVER={self.server}")

    def start_engine(self, stack: ExitStack) -> None:
        """Where the environment says, else on the default ports if they are free, else on any."""
        database = Path(self.database).resolve() if self.database else self.scratch / "dev.db"
        for rest, broker in dict.fromkeys([listeners(if_free(REST_PORT), if_free(BROKER_PORT)), listeners(0, 0)]):
            variables = {"DATABASE_URL": f"sqlite:///{database}", "LISTEN_ADDR": rest, "BROKER_ADDR_LISTEN": broker}
            engine = self.engine = Engine({**of_the_engine(os.environ), **variables, "LOG_LEVEL": "info"})
            stack.callback(engine.stop)
            if addresses := engine.ready():
                self.server, self.environment["BROKER_ADDR"] = addresses
                return
        raise Failed("the engine did not start; it says why above")

    def start_worker(self, programs: Programs) -> None:
        self.programs = programs
        variables = programs.variables(WorkerSettings.from_environment(os.environ, dials=False))
        self.worker = Process({**os.environ, **self.environment, **variables}, "stdworker.cli.worker", "run")

    def stop_worker(self) -> None:
        if self.worker is not None:
            self.worker.stop()

    def kill(self) -> None:
        """End both at once; whoever waits for them goes on."""
        for process in (self.worker, self.engine):
            if process is not None:
                process.popen.kill()

    def run(self) -> None:
        if not self.apply() and not self.programs.served:
            click.echo(
                f"{self.folder} holds no kind yet: stdworker new LANGUAGE NAME makes one, in any folder below it"
            )
        for changes in self.changes:
            if changes:
                self.reload({Path(path) for _, path in changes})
            if self.worker is not None and self.worker.ended:
                raise Failed("the worker ended")
            self.show_changes()

    def reload(self, changed: set[Path]) -> None:
        """Apply again; another set of programs needs another worker, an edited program runs again."""
        programs, before = Programs.of(self.folder), self.programs
        if programs.served != before.served:
            click.echo("the kinds changed: restarting the worker")
            self.stop_worker()
            self.start_worker(programs)
        self.programs = programs
        describe_otherwise = (programs.items, programs.mistakes) != (before.items, before.mistakes)
        if describe_otherwise or any(path.suffix in SUFFIXES for path in changed):
            self.apply()
        for program in programs.served:
            if program.program in changed:
                self.reconcile(program.pair)

    def apply(self) -> int:
        """Apply what the folder declares, so many things. A mistake in a file is told once, hinders no other file."""
        found, mistakes = [*self.programs.items], {*self.programs.mistakes}
        for path in files(self.folder):
            if path.suffix.lower() in SUFFIXES and path.name != SCOPE_FILE:
                try:
                    found += load([str(path)])
                except ConfigError as error:
                    mistakes.add(str(error))
        for mistake in sorted(mistakes - self.mistakes):
            click.echo(f"not applied: {mistake}", err=True)
        self.mistakes = mistakes
        with told():
            Applying(self.client, force=True).send(ordered(found))
        return len(found)

    def reconcile(self, pair: KindVersion) -> None:
        with told():
            for resource in self.resources(kind=pair.kind):
                if resource["kind_version"] == pair.version:
                    self.client.call("POST", f"/resources/{pair.kind}/{resource['name']}/reconcile")

    def show_changes(self) -> None:
        """One line for each resource whose phase, or failure, is another than the last time."""
        with told():
            now = {f"{resource['kind']}/{resource['name']}": line(resource) for resource in self.resources()}
            for name, state in sorted(now.items() - self.shown.items()):
                click.echo(f"  {name}: {state}")
            for name in self.shown.keys() - now.keys():
                click.echo(f"  {name}: deleted")
            self.shown = now

    def resources(self, **query: str) -> list[dict[str, Any]]:
        return [loads(item) for item in self.client.items("/resources", "resources", query, SHOWN_RESOURCES_MAX).items]


def watched(folder: Path) -> Iterator[set[FileChange]]:
    """What changes from now on; an empty set when nothing did for a moment."""
    changes = watch(folder, yield_on_timeout=True, rust_timeout=LOOK_MILLISECONDS)
    next(changes)  # it begins to watch when it is asked first
    return changes


@contextmanager
def told() -> Iterator[None]:
    """What the engine refuses is told; the next change may mend it."""
    try:
        yield
    except Failed as error:
        click.echo(error.message, err=True)


def of_the_engine(variables: Mapping[str, str]) -> dict[str, str]:
    """Without what both would take for their own: HEALTH_ADDR is the worker's here."""
    return {name: value for name, value in variables.items() if name != "HEALTH_ADDR"}


def listeners(rest_port: int, broker_port: int) -> tuple[str, str]:
    """The addresses of REST and broker: those of the environment, else these ports of this machine alone."""
    ports = {"LISTEN_ADDR": rest_port, "BROKER_ADDR_LISTEN": broker_port}
    rest, broker = (os.environ.get(name, f"127.0.0.1:{port}") for name, port in ports.items())
    return rest, broker


def if_free(port: int) -> int:
    """The port if nobody listens there, else 0: any."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return 0
    return port


def line(resource: dict[str, Any]) -> str:
    message = resource["failure"]["message"] if resource["phase"] == "Failed" else ""
    return f"{resource['phase']}: {message.splitlines()[0]}" if message else str(resource["phase"])
