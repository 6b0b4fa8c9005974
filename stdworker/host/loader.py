"""Plugins: entry points of the group `stdworker`, loaded one by one.

A plugin that can't be imported, takes too long, exits or has a wrong hook is recorded with its traceback and
left out; the others are served. The built-in plugins come in the same way.
"""

from __future__ import annotations

import importlib.metadata
import logging
import traceback
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pluggy

from stdworker import hookspecs
from stdworker.errors import PluginError, SettingsError, StdworkerError
from stdworker.host.containment import contained
from stdworker.host.observer import Observer
from stdworker.host.registry import Registry
from stdworker.model.kind import KindVersion
from stdworker.model.kind_file import KindFile
from stdworker.model.task import Provider

if TYPE_CHECKING:
    import click

    from stdworker.model.settings import WorkerSettings

GROUP = "stdworker"
LOAD_SECONDS_MAX = 10.0
HOOK_SECONDS_MAX = 10.0

log = logging.getLogger("stdworker.plugins")


@dataclass(frozen=True, slots=True)
class Served:
    """What a provider tells of itself for lists of kinds; "" for what it doesn't tell.

    `path` is the file that the kind comes from, `mode` how a program is run, `declared_by` where the kind is
    declared, `shadows` are files that would serve it too.
    """

    path: str = ""
    mode: str = ""
    declared_by: str = ""
    shadows: Sequence[str] = ()

    @classmethod
    def by(cls, provider: Provider) -> Served:
        return cls(
            path=getattr(provider, "path", None) or "",
            mode=_mode(provider),
            declared_by=getattr(provider, "declared_by", ""),
            shadows=getattr(provider, "shadows", ()),
        )


def _mode(provider: Provider) -> str:
    """A view may show anything; one that fails costs only itself."""
    view = getattr(provider, "view", None)
    try:
        return str(getattr(view(), "mode", None) or "") if view is not None else ""
    except Exception:
        return ""


@dataclass(slots=True)
class Plugin:
    """One entry point and what became of it.

    `hooks` is a plugin manager of its own, so that nothing a plugin does to a hook call reaches another; None
    when it could not be loaded. `errors` are sentences, `tracebacks` (one for each, may be "") for its author.
    """

    name: str
    distribution: str
    version: str
    module: str
    kinds: dict[KindVersion, Served] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    tracebacks: list[str] = field(default_factory=list)
    hooks: pluggy.PluginManager | None = None

    @property
    def origin(self) -> str:
        return f"plugin {self.name} ({self.distribution} {self.version})"

    def load(self, entry: importlib.metadata.EntryPoint) -> None:
        """Import the entry point and register its hooks; what goes wrong is recorded."""
        hooks = pluggy.PluginManager(hookspecs.PROJECT)
        hooks.add_hookspecs(hookspecs)
        try:
            with contained(self.name, LOAD_SECONDS_MAX):
                hooks.register(entry.load(), name=self.name)
                hooks.check_pending()
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.fail(error, "can't be loaded")
        else:
            self.hooks = hooks

    def call(self, hook: str, **arguments: Any) -> list[Any]:
        """All that the plugin's implementations of a list hook answer; nothing when that fails, which is recorded."""
        if self.hooks is None:
            return []
        try:
            with contained(self.name, HOOK_SECONDS_MAX):
                return [item for answer in getattr(self.hooks.hook, hook)(**arguments) for item in answer]
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            self.fail(error, f"{hook} failed")
            return []

    def fail(self, error: BaseException, doing: str = "") -> None:
        """Record an error: one of ours explains itself, any other says what was being done."""
        explained = isinstance(error, StdworkerError)
        self.errors.append(str(error) if explained else f"{doing}: {type(error).__name__}: {error}".rstrip(": "))
        self.tracebacks.append("" if explained else "".join(traceback.format_exception(error)))
        log.error("%s: %s", self.origin, self.errors[-1])


class Plugins:
    """The plugins of this environment, broken ones too, in the order of their names."""

    def __init__(self, plugins: Iterable[Plugin]) -> None:
        self._plugins = tuple(plugins)

    def __iter__(self) -> Iterator[Plugin]:
        return iter(self._plugins)

    @classmethod
    def load(cls, *, allowed: Sequence[str] | None = None) -> Plugins:
        """Load every installed plugin, or those that STDWORKER_PLUGINS allows.

        Raises SettingsError if an allowed plugin is not installed.
        """
        entries = sorted(importlib.metadata.entry_points(group=GROUP), key=lambda entry: entry.name)
        names = list(dict.fromkeys(entry.name for entry in entries))
        for name in allowed or ():
            if name not in names:
                raise SettingsError("STDWORKER_PLUGINS", name, f"plugins that are installed: {', '.join(names)}")
        return cls(_load(entry for entry in entries if allowed is None or entry.name in allowed))

    @property
    def broken(self) -> list[Plugin]:
        return [plugin for plugin in self._plugins if plugin.errors]

    def refuse_broken(self) -> None:
        """Raises PluginError, for STDWORKER_PLUGINS_STRICT, naming each error."""
        if self.broken:
            told = "; ".join(f"{plugin.origin}: {error}" for plugin in self.broken for error in plugin.errors)
            raise PluginError(told, hint="STDWORKER_PLUGINS_STRICT is on")

    def registry(self, settings: WorkerSettings) -> Registry:
        """Who serves which kind. Raises PluginError, naming both origins, when two serve one."""
        registry = Registry()
        for plugin in self._plugins:
            for provider in plugin.call("stdworker_providers", settings=settings):
                _serve(registry, plugin, provider)
        return registry

    def kind_files(self, settings: WorkerSettings) -> list[KindFile]:
        """The kind files that plugins ship; one that is not legal is recorded."""
        return [found for plugin in self._plugins for found in _kind_files(plugin, settings)]

    def add_commands(self, group: click.Group) -> None:
        """Let plugins add commands to the command line."""
        for plugin in self._plugins:
            plugin.call("stdworker_commands", cli=group)

    def observer(self) -> Observer | None:
        """Who tells plugins of each task's start and end; None when no plugin wants to know."""
        hooks = [(plugin.origin, plugin.hooks.hook) for plugin in self._plugins if plugin.hooks is not None]
        return Observer(hooks) or None


def _load(entries: Iterable[importlib.metadata.EntryPoint]) -> Iterator[Plugin]:
    named: dict[str, Plugin] = {}
    for entry in entries:
        distribution = entry.dist
        name, version = (distribution.name, distribution.version) if distribution else ("unknown", "0")
        plugin = Plugin(entry.name, name, version, entry.value)
        if plugin.name in named:
            plugin.fail(PluginError(f"its name is taken by {named[plugin.name].origin}", code="duplicate_plugin"))
        else:
            plugin.load(entry)
            named[plugin.name] = plugin
        yield plugin


def _serve(registry: Registry, plugin: Plugin, provider: Provider | StdworkerError) -> None:
    if isinstance(provider, StdworkerError):
        plugin.fail(provider)
        return
    try:
        served = Served.by(provider)
        registry.add(provider, ", ".join(filter(None, (plugin.origin, served.path or served.declared_by))))
    except Exception as error:
        if isinstance(error, PluginError) and error.code == "duplicate_kind":
            raise
        plugin.fail(error, "a provider can't be served")
    else:
        plugin.kinds[provider.kind] = served


def _kind_files(plugin: Plugin, settings: WorkerSettings) -> Iterator[KindFile]:
    for document in plugin.call("stdworker_kinds", settings=settings):
        try:
            yield document if isinstance(document, KindFile) else KindFile.of(document, where=plugin.origin)
        except StdworkerError as error:
            plugin.fail(error)
