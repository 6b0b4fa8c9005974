"""`stdworker`: run a worker, try a program, see what is installed."""

from __future__ import annotations

import asyncio
import os
import sys
from importlib import import_module
from typing import Any

import click

import stdworker
from stdworker.cli.collector import spare_the_collector, uncollected
from stdworker.cli.ending import CommandLine
from stdworker.cli.logs import set_up_logging
from stdworker.cli.plugins import kinds, plugins
from stdworker.cli.settings import given, settings_options
from stdworker.cli.signals import drain_then_abort
from stdworker.cli.terminal import plain
from stdworker.errors import SettingsError, StdworkerError
from stdworker.host.loader import Plugins
from stdworker.host.registry import Registry
from stdworker.model.settings import Environment, WorkerSettings
from stdworker.process.orphans import reap_as_init

VARIABLES = {
    "BROKER_ADDR": "Where the broker listens: http://host:port, https://host:port, unix:///path. Required.",
    "TLS_CERT_FILE": "The certificate that the worker shows to the broker; with TLS_KEY_FILE.",
    "TLS_KEY_FILE": "The key of that certificate.",
    "BROKER_CA_FILE": "Who may vouch for the broker. [the system's roots]",
    "TLS_RELOAD_INTERVAL": "How often those files are looked at. [30s]",
    "WORKER_MAX_PARALLEL": "Tasks in flight for each kind version. [100]",
    "WORKER_MAX_TOTAL": "Tasks in flight over all kinds. [no limit]",
    "WORKER_DRAIN_TIMEOUT": "How long running tasks get to finish after a signal. [30s]",
    "WORKER_KINDS": "Serve these kinds only: name or name@version, separated by commas. [all]",
    "HEALTH_ADDR": "Serve /livez, /readyz, /metrics and /status here: host:port, or :port for all interfaces.",
    "STDIO_KINDS": "Names of the kind stdio, name[@version]. [stdio]",
    "STDIO_COMPOSER_KINDS": "Names of the kind stdio-composer. [stdio-composer]",
    "STDIO_COMMAND": "The program of a stdio kind whose config names none.",
    "STDWORKER_KINDS_PATH": "Folders that are searched for kinds, before those of PATH.",
    "STDWORKER_PLUGINS": "Load these plugins only, separated by commas. [all]",
    "STDWORKER_PLUGINS_STRICT": "1: a broken plugin is fatal. [0]",
    "LOG_LEVEL": "debug, info, warn or error. [info]",
    "LOG_FORMAT": "text or json. [text]",
}
ELSEWHERE = {  # commands that load what only they need
    "call": "stdworker.cli.call",
    "check": "stdworker.cli.check",
    "dev": "stdworker.cli.dev.command",
    "doctor": "stdworker.cli.doctor.command",
    "explain": "stdworker.cli.explain",
    "new": "stdworker.cli.new",
    "replay": "stdworker.cli.replay",
    "status": "stdworker.cli.status",
}


class Commands(CommandLine):
    """Our commands, and those that plugins add; plugins are loaded only when none of ours is meant."""

    _plugins_asked = False

    def list_commands(self, ctx: click.Context) -> list[str]:
        self._add_those_of_plugins()
        return sorted({*super().list_commands(ctx), *ELSEWHERE})

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in ELSEWHERE:
            return _import_command(cmd_name)
        if cmd_name not in self.commands:
            self._add_those_of_plugins()
        return super().get_command(ctx, cmd_name)

    def _add_those_of_plugins(self) -> None:
        if self._plugins_asked:
            return
        self._plugins_asked = True
        ours = dict(self.commands)
        Plugins.load(allowed=Environment(os.environ).names("STDWORKER_PLUGINS", ()) or None).add_commands(self)
        self.commands.update(ours)


def _import_command(name: str) -> click.Command:
    try:
        with uncollected():
            command: click.Command = getattr(import_module(ELSEWHERE[name]), name)
    except ModuleNotFoundError as error:
        return _unavailable(name, f"{error}; it comes with: pip install 'stdworker[engine]'")
    return command


def _unavailable(name: str, why: str) -> click.Command:
    def refuse() -> None:
        raise click.ClickException(why)

    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    return click.Command(name, callback=refuse, help=f"Not available: {why}", context_settings=anything)


@click.group(cls=Commands, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(stdworker.__version__, prog_name="stdworker")
@click.pass_context
def cli(context: click.Context) -> None:
    """Turn executables that speak JSON lines into kinds of resources.

    Without a command: run.
    """
    if context.invoked_subcommand is None:
        context.invoke(run)


@cli.command()
def version() -> None:
    """Print the version."""
    click.echo(stdworker.__version__)


@cli.command()
@settings_options(VARIABLES)
def run(**options: str | None) -> None:
    """Serve kinds to a broker until SIGTERM, SIGINT or SIGHUP, then drain; a second signal stops at once.

    Every option can be set as an environment variable of the same name in capitals.
    """
    settings = WorkerSettings.from_environment({**os.environ, **given(options)})
    set_up_logging(settings.log_level, settings.log_format)
    plugins = Plugins.load(allowed=settings.plugins)
    registry = plugins.registry(settings)
    if settings.plugins_strict:
        plugins.refuse_broken()
    registry = registry.only(settings.kinds, missing_allowed=bool(plugins.broken))
    spare_the_collector()
    sys.exit(asyncio.run(_serve(registry, settings, plugins)))


async def _serve(registry: Registry, settings: WorkerSettings, plugins: Plugins) -> int:
    from stdworker.cli.plugin_metrics import PluginMetrics
    from stdworker.worker import WorkerOptions, serve

    stop = asyncio.Event()
    options = WorkerOptions.of(settings, observer=plugins.observer(), collectors=[PluginMetrics(plugins)])
    serving = asyncio.create_task(serve(registry, stop=stop, settings=settings, options=options))
    received = drain_then_abort(stop.set, serving.cancel)
    async with reap_as_init():
        await asyncio.wait({serving})
    if serving.cancelled():
        return 128 + received[-1]
    serving.result()
    return 0


cli.add_command(plugins)
cli.add_command(kinds)


def main() -> Any:
    """The `stdworker` command: exit status 0, 1 (failed), 2 (usage or settings) or 128 + the second signal."""
    try:
        return cli(prog_name="stdworker")
    except SettingsError as error:
        _end(error, 2)
    except StdworkerError as error:
        _end(error, 1)


def _end(error: StdworkerError, status: int) -> None:
    click.echo(plain(f"stdworker: {error}"), err=True)
    sys.exit(status)
