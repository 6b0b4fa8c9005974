"""How a program is run: the launch config, which is the spec of its kind's provider config."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from stdworker.bridge.launch_values import (
    SECONDS_MAX,
    check_keys,
    environment,
    flag,
    object_of,
    one_of,
    seconds,
    socket_address,
    text,
    texts,
    timeout,
    verbatim,
    whole,
)
from stdworker.errors import ConfigError, JsonError, Terminal
from stdworker.model.config import merge
from stdworker.model.json_text import DEPTH_MAX, RawJson, check, dumps, members
from stdworker.model.kind_file import KindFile

PROCESSES_MAX = 1_000
CONCURRENCY_MAX = 10_000
BYTES_MAX = 1 << 40
FILES_MAX = 1 << 20

MODES = ("oneshot", "stream", "socket")
TASK_KEYS = ("settings", "timeout_seconds")  # these may differ between tasks of one process
ALWAYS_SEALED = ("sealed", "inherit_env", "env_passthrough", "user", "group")


@dataclass(frozen=True, slots=True)
class Limits:
    """What a program may cost. `stdout_bytes` counts per request, `line_bytes` before the LF.

    `memory_bytes`, `cpu_seconds` and `open_files` are held by the system, None is as much as the worker has.
    """

    stdout_bytes: int = 64 << 20
    line_bytes: int = 16 << 20
    stderr_tail_bytes: int = 64 << 10
    depth: int = DEPTH_MAX
    memory_bytes: int | None = None
    cpu_seconds: int | None = None
    open_files: int | None = None


@dataclass(frozen=True, slots=True)
class LaunchConfig:
    """A launch config that was read and found legal. Durations are seconds, None means no limit.

    With mode `socket` there may be no command: "".
    """

    command: str
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    settings: RawJson | None = None
    timeout_seconds: float | None = None
    mode: str = "oneshot"
    processes: int = 1
    concurrency: int = 1
    pools_max: int = 16
    spares: int = 0
    socket: str | None = None
    user: str | None = None
    group: str | None = None
    record: bool = False
    cwd: str | None = None
    strict: bool = False
    grace_seconds: float = 5.0
    progress_timeout_seconds: float | None = None
    inherit_env: bool = False
    env_passthrough: tuple[str, ...] = ()
    limits: Limits = Limits()
    pool_key: bytes = b""

    @property
    def persistent(self) -> bool:
        """Whether processes, or connections, outlive a request."""
        return self.mode != "oneshot"

    @property
    def slots(self) -> int:
        """How many requests run at once in its processes."""
        return self.processes * self.concurrency


class NoCommand(ConfigError):
    """Nobody has said yet which program, or which socket, serves the kind."""

    code = "not_configured"


def parse_launch(effective: RawJson | None, *, default_command: str | None = None) -> LaunchConfig:
    """Read an effective launch config. Raises ConfigError naming the key; NoCommand when nobody is named to ask."""
    top = object_of(effective if effective is not None else RawJson(b"{}"), "")
    check_keys(top, _KEYS, "")
    given = {key: reader(top[key], f"/{key}") for key, reader in _KEYS.items() if key in top}
    given.setdefault("command", default_command or "")
    _check_mode(given)
    given["pool_key"] = _pool_key(top, given["command"])
    given.pop("sealed", None)
    return LaunchConfig(**given)


def check_kind_file(kind_file: KindFile, program: str) -> None:
    """Raise ConfigError, with the place, when the `default_config` of a kind file is no launch config of `program`.

    What it leaves for a config of the broker to say is no mistake.
    """
    try:
        parse_launch(kind_file.default_config, default_command=program)
    except NoCommand:
        return
    except ConfigError as error:
        place = "/default_config" if error.path else "/default_config: "
        raise ConfigError(f"{kind_file.where}: {place}{error.message}", hint=error.hint, code=error.code) from None


def check_exact(config: RawJson | None) -> None:
    """Raise ConfigError for a config that no program could be handed as it is: not every broker refuses those."""
    try:
        check(config or b"{}")
    except JsonError as error:
        raise ConfigError(f"the config can't be used: {error.message}", code=error.code) from None


def check_sealed(base: RawJson | None, override: RawJson | None, *, sealed_by_default: bool) -> None:
    """Raise Terminal when an override touches a key that the default config seals."""
    top = members(override or b"{}") or {}
    if not top:
        return
    touched = sorted(sealed_keys(base, sealed_by_default=sealed_by_default) & top.keys())
    if touched:
        told = f"the resource's own config sets {touched[0]!r}, which the kind's config seals"
        raise Terminal(told, reason="SealedKey", code="sealed_key", hint="set it in the kind's default config")


def sealed_keys(base: RawJson | None, *, sealed_by_default: bool) -> set[str]:
    """What an override may not touch. Raises ConfigError when `sealed` is no list of texts."""
    said = (members(base or b"{}") or {}).get("sealed")
    if said is not None and said != b"null":
        return {*texts(said, "/sealed"), *ALWAYS_SEALED}
    return {*SEALED_BY_DEFAULT} if sealed_by_default else {*ALWAYS_SEALED}


def check_command(effective: RawJson | None, fixed: str) -> None:
    """Raise ConfigError when a config names another program than the one that is the kind; any path to it will do."""
    named = (members(effective or b"{}") or {}).get("command")
    if named is not None and not _is_program(named.value(), fixed):
        told = f"the program of this kind is {fixed}; a config can't name another"
        raise ConfigError(told, path="/command", code="fixed_command")


def _is_program(named: object, fixed: str) -> bool:
    if named in (None, fixed):
        return True
    try:
        return isinstance(named, str) and Path(named).is_absolute() and Path(named).samefile(fixed)
    except (OSError, ValueError):
        return False


def effective_launch(base: RawJson | None, default: RawJson | None, override: RawJson | None) -> RawJson | None:
    """Kind file ⊕ default config ⊕ the resource's own."""
    return merge(merge(base, default), override)


# ---- reading ----


def _check_mode(given: Mapping[str, Any]) -> None:
    mode = given.get("mode", "oneshot")
    for key, needed in (("socket", "socket"), ("spares", "stream")):
        if given.get(key) and mode != needed:
            raise ConfigError(f"{key} needs mode: {needed}, the mode is {mode}", path=f"/{key}")
    if mode == "socket":
        if "socket" not in given:
            raise NoCommand("no socket is configured yet", hint='set "socket" in the kind\'s provider config')
    elif not given["command"]:
        raise NoCommand("no program is configured yet", hint='set "command" in the kind\'s provider config')


def _limits(raw: RawJson, path: str) -> Limits:
    found = object_of(raw, path)
    check_keys(found, _LIMITS, path)
    return Limits(**{key: reader(found[key], f"{path}/{key}") for key, reader in _LIMITS.items() if key in found})


_LIMITS: dict[str, Callable[[RawJson, str], int]] = {
    "stdout_bytes": whole(1, BYTES_MAX),
    "line_bytes": whole(1, BYTES_MAX),
    "stderr_tail_bytes": whole(0, BYTES_MAX),
    "depth": whole(1, DEPTH_MAX),
    "memory_bytes": whole(1, BYTES_MAX),
    "cpu_seconds": whole(1, int(SECONDS_MAX)),
    "open_files": whole(8, FILES_MAX),
}

_KEYS: dict[str, Callable[[RawJson, str], Any]] = {
    "command": text,
    "args": texts,
    "env": environment,
    "settings": verbatim,
    "timeout_seconds": timeout,
    "mode": one_of(MODES),
    "processes": whole(1, PROCESSES_MAX),
    "concurrency": whole(1, CONCURRENCY_MAX),
    "pools_max": whole(1, PROCESSES_MAX),
    "spares": whole(0, PROCESSES_MAX),
    "socket": socket_address,
    "user": text,
    "group": text,
    "record": flag,
    "cwd": text,
    "strict": flag,
    "grace_seconds": seconds,
    "progress_timeout_seconds": timeout,
    "inherit_env": flag,
    "env_passthrough": texts,
    "sealed": texts,
    "limits": _limits,
}

SEALED_BY_DEFAULT = tuple(sorted({*_KEYS} - {*TASK_KEYS}))  # for kinds that come with their program


def _pool_key(top: Mapping[str, RawJson], command: str) -> bytes:
    """Equal for configs that one set of processes can serve."""
    launch = {key: value.value() for key, value in top.items() if key not in (*TASK_KEYS, "sealed")}
    return dumps(dict(sorted({**launch, "command": command}.items())))
