"""`converge`: run the engine."""

from __future__ import annotations

import asyncio
import os
import shlex
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

import stdworker
from stdworker.cli.collector import spare_the_collector, uncollected
from stdworker.cli.ending import CommandLine
from stdworker.cli.logs import set_up_logging
from stdworker.cli.settings import given, settings_options
from stdworker.cli.signals import drain_then_abort, end_within, ending_signals
from stdworker.errors import SettingsError, StdworkerError

ABORT_SECONDS = 1.0  # from the second signal to the end, if nothing of it takes longer by itself
SWITCH_SECONDS = 0.001  # between the store's thread and the loop: 5 ms, the default, delays every answer

VARIABLES = {
    "ROLE": "all; control: REST without workers; broker: workers without REST. The parts need Postgres. [all]",
    "DATABASE_URL": "Where state is kept: sqlite:///FILE or postgresql://… [sqlite:///converge.db]",
    "DATABASE_READ_URL": "A replica of the Postgres database, for lists. [none]",
    "SQLITE_SYNCHRONOUS": "full: each commit reaches the disk; normal: a power cut may cost the last ones. [normal]",
    "LISTEN_ADDR": "REST and docs: host:port, or :port for all interfaces; also after https://. [127.0.0.1:8080]",
    "ALLOWED_HOSTS": "Names by which REST may be called, beside loopback and addresses; * is any. [none]",
    "BROKER_ADDR_LISTEN": "Workers: as for REST, or unix:///path. [127.0.0.1:9090]",
    "HEALTH_ADDR": "Probes and metrics in plain HTTP: host:port or :port. [beside REST; ROLE=broker: 127.0.0.1:8081]",
    "TLS_CERT_FILE": "The engine's certificate: a listener whose address has no scheme then speaks TLS. [none]",
    "TLS_KEY_FILE": "Its key. [none]",
    "TLS_CLIENT_CA_FILE": "Who signs clients and workers: those without a certificate are refused. [none]",
    "API_AUTHZ_SPIFFE_IDS": "Who may use REST: SPIFFE ids, separated by commas; ID/* is all below. [all]",
    "WORKER_AUTHZ_SPIFFE_IDS": "Who may work: as for REST. [all]",
    "CORS_ALLOWED_ORIGINS": "Origins whose pages may call REST, separated by commas. [none]",
    "API_RATE_LIMIT_RPS": "Requests a second of one client; 0 is no limit. [0]",
    "SHUTDOWN_DRAIN": "How long results may still land after a signal. [45s]",
    "LEASE_RECONNECT_WINDOW": "How long a lost worker may take to return for its tasks. [5s]",
    "LEASE_LIVENESS_WINDOW": "How long a task may be silent before it is run again. [15s]",
    "RETRY_BASE": "The first delay after a failure; it doubles each time. [2s]",
    "RETRY_CAP": "The longest such delay. [5m]",
    "REVISIONS_KEEP": "How many specs of each resource are kept, the live one among them. [20]",
    "EVENTS_KEEP": "How many events are kept. [100000]",
    "EVENTS_KEEP_FOR": "How long events are kept. [720h]",
    "LOG_LEVEL": "debug, info, warn or error. [info]",
    "LOG_FORMAT": "text or json. [text]",
}


class BadSetting(click.ClickException):
    """A setting that can't be used."""

    exit_code = 2


@contextmanager
def _told() -> Iterator[None]:
    """Our own errors end the command with their sentence."""
    try:
        yield
    except SettingsError as error:
        raise BadSetting(str(error)) from None
    except StdworkerError as error:
        raise click.ClickException(str(error)) from None


@click.group(cls=CommandLine, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(stdworker.__version__, prog_name="converge")
def cli() -> None:
    """The engine: keeps declared resources and drives them to what they declare."""


@cli.command()
def version() -> None:
    """Print the version."""
    click.echo(stdworker.__version__)


@cli.command()
@settings_options(VARIABLES)
def serve(**options: str | None) -> None:
    """Serve REST and workers until SIGTERM, SIGINT or SIGHUP, then drain; a second signal stops at once.

    Every option can be set as an environment variable of the same name in capitals.
    """
    try:
        from stdworker.engine.listening import allow_connections
        from stdworker.engine.settings import ServeSettings
    except ImportError as error:
        raise click.ClickException(f"{error}; the engine comes with: pip install 'stdworker[engine]'") from None
    with _told():
        settings = ServeSettings.from_environment({**os.environ, **given(options)})
        set_up_logging(settings.log_level, settings.log_format)
        allow_connections()
        status = asyncio.run(_serve(settings))
        sys.stderr.flush()
        os._exit(status)  # Python's own end waits for threads, and these for a database that may stand still


@cli.command()
@click.argument("destination", metavar="DEST", type=click.Path(path_type=Path))
@click.option("--overwrite", is_flag=True, help="Replace DEST if it is there.")
@settings_options({"DATABASE_URL": VARIABLES["DATABASE_URL"]})
def backup(destination: Path, overwrite: bool, **options: str | None) -> None:
    """Copy the SQLite database to the file DEST, consistently and while an engine uses it.

    An engine that is to go on from the copy is started with DATABASE_URL=sqlite:///DEST.
    """
    from stdworker.engine.settings import ServeSettings
    from stdworker.engine.store.backup import back_up
    from stdworker.engine.store.opening import open_database
    from stdworker.engine.store.sqlite import SqliteDatabase

    begun = time.monotonic()
    for number in {*ending_signals()} - {signal.SIGINT}:
        signal.signal(number, lambda number, frame: sys.exit(128 + number))
    with _told():
        url = ServeSettings.from_environment({**os.environ, **given(options)}).database_url
        database = open_database(url)
        if not isinstance(database, SqliteDatabase):
            dump = f"pg_dump --format=custom --file={shlex.quote(str(destination))} URL"
            raise SettingsError("DATABASE_URL", url, "an SQLite database", hint=f"Postgres copies its own: {dump}")
        size = back_up(database.path, destination, overwrite=overwrite)
    seconds = time.monotonic() - begun
    click.echo(f"copied {database.path} to {destination}: {size / 2**20:.1f} MiB in {seconds:.1f} s, checked")


async def _serve(settings: Any) -> int:
    with uncollected():
        from stdworker.engine.server import Server

    sys.setswitchinterval(SWITCH_SECONDS)
    stop, abort, opened = asyncio.Event(), asyncio.Event(), asyncio.Event()

    def drain() -> None:
        stop.set()
        if not opened.is_set():  # it may wait for a database, and nobody has been promised anything yet
            end_within(ABORT_SECONDS, 128 + received[0])

    def insist() -> None:
        abort.set()
        end_within(ABORT_SECONDS, 128 + received[-1])

    received = drain_then_abort(drain, insist)
    try:
        async with Server(settings) as server:
            opened.set()
            spare_the_collector()
            await server.run(stop, abort)
    except ExceptionGroup as group:
        raise _first_of(group) from group
    return 128 + received[-1] if abort.is_set() else 0


def _first_of(group: ExceptionGroup[Exception]) -> Exception:
    first = group.exceptions[0]
    return _first_of(first) if isinstance(first, ExceptionGroup) else first


def main() -> None:
    """The `converge` command: exit status 0, 1 (failed), 2 (usage or settings) or 128 + the second signal."""
    cli(prog_name="converge")
