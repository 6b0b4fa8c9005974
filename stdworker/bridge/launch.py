"""How a program is run: the launch config, which is the spec of its kind's provider config."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from stdworker.errors import ConfigError, ConfigKeyError, JsonError, Terminal
from stdworker.framing.response import excerpt
from stdworker.model.config import merge
from stdworker.model.json_text import DEPTH_MAX, RawJson, check, dumps, escape_token, members
from stdworker.model.kind_file import KindFile

T = TypeVar("T")

PROCESSES_MAX = 1_000
CONCURRENCY_MAX = 10_000
SECONDS_MAX = 31_536_000.0
BYTES_MAX = 1 << 40
UNIX_PATH_BYTES_MAX = 107  # Linux: sun_path without its NUL
PORT_MAX = 65_535
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
    top = _object(effective if effective is not None else RawJson(b"{}"), "")
    _check_keys(top, _KEYS, "")
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
        text = f"the resource's own config sets {touched[0]!r}, which the kind's config seals"
        raise Terminal(text, reason="SealedKey", code="sealed_key", hint="set it in the kind's default config")


def sealed_keys(base: RawJson | None, *, sealed_by_default: bool) -> set[str]:
    """What an override may not touch. Raises ConfigError when `sealed` is no list of texts."""
    said = (members(base or b"{}") or {}).get("sealed")
    if said is not None and said != b"null":
        return {*_texts(said, "/sealed"), *ALWAYS_SEALED}
    return {*SEALED_BY_DEFAULT} if sealed_by_default else {*ALWAYS_SEALED}


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


def _check_keys(found: Mapping[str, RawJson], known: Mapping[str, Any], path: str) -> None:
    for key in found:
        if key not in known:
            raise ConfigKeyError(key, known, path=path)


def _object(raw: RawJson, path: str) -> dict[str, RawJson]:
    """The members that say something: null is the same as absent."""
    found = members(raw)
    if found is None:
        raise _wrong(raw, path, "an object")
    return {key: value for key, value in found.items() if value != b"null"}


def _wrong(raw: RawJson, path: str, expected: str) -> ConfigError:
    return ConfigError(f"expected {expected}, got {excerpt(raw)}", path=path)


def _value(raw: RawJson, path: str, expected: str, accept: Callable[[Any], bool]) -> Any:
    value = raw.value()
    if not accept(value):
        raise _wrong(raw, path, expected)
    return value


def _text(raw: RawJson, path: str) -> str:
    text: str = _value(raw, path, "a text that is not empty", lambda v: type(v) is str and v.strip() != "")
    return text


def _any_text(raw: RawJson, path: str) -> str:
    text: str = _value(raw, path, "a text", lambda v: type(v) is str)
    return text


def _texts(raw: RawJson, path: str) -> tuple[str, ...]:
    found = _value(raw, path, "an array of texts", lambda v: type(v) is list and all(type(item) is str for item in v))
    return tuple(found)


def _environment(raw: RawJson, path: str) -> Mapping[str, str]:
    return {
        _variable(key, path): _any_text(value, f"{path}/{escape_token(key)}")
        for key, value in _object(raw, path).items()
    }


def _variable(name: str, path: str) -> str:
    if not name or "=" in name or "\0" in name:
        raise ConfigError(f"{name!r} can't be the name of an environment variable", path=path)
    return name


def _flag(raw: RawJson, path: str) -> bool:
    flag: bool = _value(raw, path, "true or false", lambda v: type(v) is bool)
    return flag


def _mode(raw: RawJson, path: str) -> str:
    mode: str = _value(raw, path, f"one of {', '.join(MODES)}", lambda v: v in MODES)
    return mode


def _socket(raw: RawJson, path: str) -> str:
    expected = 'an address as "unix:/path" or "tcp:host:port"'
    address: str = _value(raw, path, expected, lambda v: type(v) is str and _SOCKET.fullmatch(v) is not None)
    place = address.partition(":")[2]
    if address.startswith("tcp:") and not 1 <= int(place.rpartition(":")[2]) <= PORT_MAX:
        raise _wrong(raw, path, f"a port from 1 to {PORT_MAX}")
    if address.startswith("unix:") and len(place.encode()) > UNIX_PATH_BYTES_MAX:
        raise _wrong(raw, path, f"a path of at most {UNIX_PATH_BYTES_MAX} bytes, the most that a Unix socket can have")
    return address


def _whole(least: int, most: int) -> Callable[[RawJson, str], int]:
    def read(raw: RawJson, path: str) -> int:
        number: int = _value(
            raw, path, f"a whole number from {least} to {most}", lambda v: type(v) is int and least <= v <= most
        )
        return number

    return read


def _seconds(raw: RawJson, path: str) -> float:
    expected = f"seconds as a number from 0 to {SECONDS_MAX:.0f}"
    return float(_value(raw, path, expected, lambda v: type(v) in (int, float) and 0 <= v <= SECONDS_MAX))


def _timeout(raw: RawJson, path: str) -> float | None:
    """0 is no limit, not "at once"."""
    return _seconds(raw, path) or None


def _limits(raw: RawJson, path: str) -> Limits:
    found = _object(raw, path)
    _check_keys(found, _LIMITS, path)
    return Limits(**{key: reader(found[key], f"{path}/{key}") for key, reader in _LIMITS.items() if key in found})


def _verbatim(raw: RawJson, _: str) -> RawJson:
    return raw


_LIMITS: dict[str, Callable[[RawJson, str], int]] = {
    "stdout_bytes": _whole(1, BYTES_MAX),
    "line_bytes": _whole(1, BYTES_MAX),
    "stderr_tail_bytes": _whole(0, BYTES_MAX),
    "depth": _whole(1, DEPTH_MAX),
    "memory_bytes": _whole(1, BYTES_MAX),
    "cpu_seconds": _whole(1, int(SECONDS_MAX)),
    "open_files": _whole(8, FILES_MAX),
}

_KEYS: dict[str, Callable[[RawJson, str], Any]] = {
    "command": _text,
    "args": _texts,
    "env": _environment,
    "settings": _verbatim,
    "timeout_seconds": _timeout,
    "mode": _mode,
    "processes": _whole(1, PROCESSES_MAX),
    "concurrency": _whole(1, CONCURRENCY_MAX),
    "pools_max": _whole(1, PROCESSES_MAX),
    "spares": _whole(0, PROCESSES_MAX),
    "socket": _socket,
    "user": _text,
    "group": _text,
    "record": _flag,
    "cwd": _text,
    "strict": _flag,
    "grace_seconds": _seconds,
    "progress_timeout_seconds": _timeout,
    "inherit_env": _flag,
    "env_passthrough": _texts,
    "sealed": _texts,
    "limits": _limits,
}

SEALED_BY_DEFAULT = tuple(sorted({*_KEYS} - {*TASK_KEYS}))  # for kinds that come with their program

_SOCKET = re.compile(r"unix:/[^\0]+|tcp:(?:\[[0-9A-Fa-f:.]+\]|[^:\s/]+):[0-9]{1,5}")


def _pool_key(top: Mapping[str, RawJson], command: str) -> bytes:
    """Equal for configs that one set of processes can serve."""
    launch = {key: value.value() for key, value in top.items() if key not in (*TASK_KEYS, "sealed")}
    return dumps(dict(sorted({**launch, "command": command}.items())))
