"""Completing words from what the engine has. Who presses a key waits for it: little is asked, and no error is told."""

from __future__ import annotations

from collections.abc import Iterator

import click

from stdworker.cli.conctl.arguments import ALIASES, TYPES
from stdworker.cli.conctl.client import Client, Connection, Failed
from stdworker.cli.conctl.items import BINDING, CONFIG, KIND, RESOURCE
from stdworker.model.json_text import loads

SECONDS_MAX = 1.0
WORDS_MAX = 100
KINDS_MAX = 20


def complete_resource(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """KIND/NAME of resources."""
    return _asked(ctx, RESOURCE, incomplete)


def complete_kind(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Kinds without their versions."""
    return list(dict.fromkeys(pair.partition("@")[0] for pair in _asked(ctx, KIND, incomplete)))


def complete_type(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Types by their names, or else by their short ones."""
    found = ([name for name in names if name.startswith(incomplete)] for names in (ALIASES, TYPES))
    return next(filter(None, found), [])


def complete_target(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """KIND/NAME of a resource or a type, and after a type the names of it."""
    words = ctx.params.get(param.name or "") or ()
    if len(words) > 1:
        return []
    if words:
        return _asked(ctx, TYPES.get(words[0].lower(), ""), incomplete)
    return [*complete_type(ctx, param, incomplete), *_asked(ctx, RESOURCE, incomplete)]


def _asked(ctx: click.Context, what: str, incomplete: str) -> list[str]:
    try:
        with Client(_connection(ctx)) as client:
            return list(_NAMES[what](client, incomplete)) if what in _NAMES else []
    except Failed:
        return []


def _connection(ctx: click.Context) -> Connection:
    """Where what was typed so far, or the environment, says that the engine is."""
    typed = {**ctx.find_root().params, **{name: value for name, value in ctx.params.items() if value is not None}}
    meant = {name: typed[name] for name in ("server", "tls_cert", "tls_key", "tls_ca", "insecure") if typed.get(name)}
    return Connection(**meant, timeout_seconds=SECONDS_MAX)


def _resources(client: Client, incomplete: str) -> Iterator[str]:
    kind, slash, name = incomplete.partition("/")
    kinds = [kind] if slash else [k["kind"] for k in client.value("/kinds")["kinds"] if k["kind"].startswith(kind)]
    query = {"kind": kinds[:KINDS_MAX], "name": name}
    found = map(loads, client.items("/resources", "resources", query, WORDS_MAX).items) if kinds else ()
    names = (f"{resource['kind']}/{resource['name']}" for resource in found)
    return (name for name in names if name.startswith(incomplete))


def _configs(client: Client, incomplete: str) -> Iterator[str]:
    names = (loads(config)["name"] for config in client.items("/providerconfigs", "providerconfigs", {}).items)
    return (name for name in names if name.startswith(incomplete))


def _manifests(client: Client, incomplete: str) -> Iterator[str]:
    pairs = (f"{k['kind']}@{version}" for k in client.value("/kinds")["kinds"] for version in k["versions"])
    return (pair for pair in pairs if pair.startswith(incomplete))


def _bindings(client: Client, incomplete: str) -> Iterator[str]:
    found = client.items("/reactor-bindings", "reactor_bindings", {}).items
    return (name for name in (loads(binding)["name"] for binding in found) if name.startswith(incomplete))


_NAMES = {RESOURCE: _resources, CONFIG: _configs, BINDING: _bindings, KIND: _manifests}
