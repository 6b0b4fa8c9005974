"""The effective launch config of a kind, explained: each leaf with its layer, what is sealed, what is wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace

from stdworker.bridge.launch import (
    LaunchConfig,
    Limits,
    NoCommand,
    check_command,
    check_sealed,
    effective_launch,
    parse_launch,
    sealed_keys,
)
from stdworker.bridge.redact import Redactor
from stdworker.errors import ConfigError, ConfigKeyError, Terminal
from stdworker.model.json_text import RawJson, dumps, escape_token, join_members, members
from stdworker.model.layers import DEFAULT, OVERRIDE, Layer, Leaf, leaves
from stdworker.model.pointer import parse
from stdworker.model.secrets import mask

KIND_FILE, BUILT_IN = "kind file", "built-in default"

_NULL = RawJson(b"null")
_NOT_KEYS = ("command", "pool_key", "settings", "limits")  # fields that have no built-in default of their own


@dataclass(frozen=True, slots=True)
class Mistake:
    """Something that a task would fail of. `path` is where, `layer` who said it ("" when unknown)."""

    path: str
    layer: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class Explained:
    """`leaves` and `config`, which is what the program gets, show no secrets."""

    leaves: Sequence[Leaf]
    config: RawJson | None
    sealed: Sequence[str]
    mistakes: Sequence[Mistake]


def explain_layers(
    base: RawJson | None, default: RawJson | None, override: RawJson | None, *, program: str | None, is_sealed: bool
) -> Explained:
    """Kind file ⊕ default ⊕ override. `program` is the command where no config names one."""
    said = [(KIND_FILE, base), (DEFAULT, default), (OVERRIDE, override)]
    shown = leaves([Layer(name, mask(raw) if raw is not None else None) for name, raw in said])
    effective = effective_launch(base, default, override)
    own = effective_launch(base, default, None)
    settings = (members(mask(effective or RawJson(b"{}"))) or {}).get("settings")
    told = [*map(_without_null, shown), *_built_in({leaf.path for leaf in shown})]
    fixed = program if is_sealed else None
    found = [
        *_illegal(effective, program, shown),
        *_another(effective, fixed, shown),
        *_touched(own, override, is_sealed),
    ]
    redact = Redactor(own, override)
    return Explained(
        told,
        None if settings == _NULL else settings,
        _sealed(own, is_sealed),
        [replace(mistake, message=redact(mistake.message)) for mistake in found],
    )


# ---- built-in defaults ----


def built_in_defaults() -> dict[str, RawJson]:
    """What holds where no layer says anything, by pointer."""
    launch = LaunchConfig(command="")
    found = {f"/{f.name}": getattr(launch, f.name) for f in fields(LaunchConfig) if f.name not in _NOT_KEYS}
    found |= {f"/limits/{f.name}": getattr(launch.limits, f.name) for f in fields(Limits)}
    return {path: dumps(list(value) if isinstance(value, tuple) else value) for path, value in found.items()}


def _built_in(said: set[str]) -> Iterator[Leaf]:
    for path, value in built_in_defaults().items():
        if path not in said and not any(other.startswith(f"{path}/") for other in said):
            yield Leaf(path, value, BUILT_IN)


def _without_null(leaf: Leaf) -> Leaf:
    """Null is as good as absent for the keys of a launch config; inside settings it is a value."""
    default = built_in_defaults().get(leaf.path)
    if leaf.value != _NULL or default is None:
        return leaf
    return Leaf(leaf.path, default, BUILT_IN, ((leaf.layer, _NULL), *leaf.replaced))


# ---- what is wrong ----


def _sealed(own: RawJson | None, is_sealed: bool) -> list[str]:
    try:
        return sorted(sealed_keys(own, sealed_by_default=is_sealed))
    except ConfigError:
        return []


def _touched(own: RawJson | None, override: RawJson | None, is_sealed: bool) -> Iterator[Mistake]:
    """Every sealed key that the override sets, one by one."""
    for key, raw in (members(override or b"{}") or {}).items():
        try:
            check_sealed(own, join_members({key: raw}), sealed_by_default=is_sealed)
        except Terminal as error:
            yield Mistake(f"/{escape_token(key)}", OVERRIDE, error.message, error.hint)
        except ConfigError:  # `sealed` itself is malformed, which is told
            return


def _another(effective: RawJson | None, fixed: str | None, shown: Sequence[Leaf]) -> Iterator[Mistake]:
    """A worker's own program can't be exchanged by a config."""
    try:
        if fixed is not None:
            check_command(effective, fixed)
    except ConfigError as error:
        yield Mistake(error.path, _layer_of(error.path, shown), error.message, error.hint)


def _illegal(effective: RawJson | None, program: str | None, shown: Sequence[Leaf]) -> Iterator[Mistake]:
    """Every key that is wrong: each is left out, and the rest read again."""
    if effective is not None and members(effective) is None:
        yield Mistake("", "", "a launch config is an object", "")
        return
    top = members(effective or b"{}") or {}
    while True:
        try:
            parse_launch(join_members(top), default_command=program)
        except NoCommand as error:
            if program is not None or "mode" in top:
                yield Mistake("", "", error.message, error.hint)
            return
        except ConfigError as error:
            path = f"{error.path}/{escape_token(error.key)}" if isinstance(error, ConfigKeyError) else error.path
            yield Mistake(path, _layer_of(path, shown), error.message, error.hint)
            tokens = parse(path)
            if not tokens or top.pop(tokens[0], None) is None:
                return
        else:
            return


def _layer_of(path: str, shown: Sequence[Leaf]) -> str:
    """Who said what is at this place, or the last thing below it."""
    said = [leaf.layer for leaf in shown if leaf.path == path or leaf.path.startswith(f"{path}/")]
    return said[-1] if said else ""
