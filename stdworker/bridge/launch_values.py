"""The values of a launch config: each reader takes one and its place, and says in a ConfigError what was expected."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from stdworker.errors import ConfigError, ConfigKeyError
from stdworker.framing.response import excerpt
from stdworker.model.json_text import RawJson, escape_token, members

SECONDS_MAX = 31_536_000.0
UNIX_PATH_BYTES_MAX = 107  # Linux: sun_path without its NUL
PORT_MAX = 65_535

_SOCKET = re.compile(r"unix:/[^\0]+|tcp:(?:\[[0-9A-Fa-f:.]+\]|[^:\s/]+):[0-9]{1,5}")


def check_keys(found: Mapping[str, RawJson], known: Mapping[str, Any], path: str) -> None:
    """Refuse a key that isn't known, naming the nearest one that is."""
    for key in found:
        if key not in known:
            raise ConfigKeyError(key, known, path=path)


def object_of(raw: RawJson, path: str) -> dict[str, RawJson]:
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


def text(raw: RawJson, path: str) -> str:
    found: str = _value(raw, path, "a text that is not empty", lambda v: type(v) is str and v.strip() != "")
    return found


def texts(raw: RawJson, path: str) -> tuple[str, ...]:
    found = _value(raw, path, "an array of texts", lambda v: type(v) is list and all(type(item) is str for item in v))
    return tuple(found)


def environment(raw: RawJson, path: str) -> Mapping[str, str]:
    """What is wrong is told without the value: it may be a secret."""
    if not raw.startswith(b"{"):
        raise ConfigError(f'expected an object as {{"NAME": "value"}}, got {_type_name(raw)}', path=path)
    return {_variable(key, path): _variable_text(value, path, key) for key, value in object_of(raw, path).items()}


def _variable_text(raw: RawJson, path: str, name: str) -> str:
    if not raw.startswith(b'"'):
        place = f"{path}/{escape_token(name)}"
        raise ConfigError(f"expected a text, got {_type_name(raw)}", path=place, hint="put it in quotes")
    return str(raw.value())


def _type_name(raw: RawJson) -> str:
    names = {"{": "an object", "[": "an array", '"': "a text", "t": "true", "f": "false"}
    return names.get(chr(raw[0]), "a number")


def _variable(name: str, path: str) -> str:
    if not name or "=" in name or "\0" in name:
        raise ConfigError(f"{name!r} can't be the name of an environment variable", path=path)
    return name


def one_of(words: Sequence[str]) -> Callable[[RawJson, str], str]:
    def read(raw: RawJson, path: str) -> str:
        word: str = _value(raw, path, f"one of {', '.join(words)}", lambda v: v in words)
        return word

    return read


def flag(raw: RawJson, path: str) -> bool:
    found: bool = _value(raw, path, "true or false", lambda v: type(v) is bool)
    return found


def socket_address(raw: RawJson, path: str) -> str:
    expected = 'an address as "unix:/path" or "tcp:host:port"'
    address: str = _value(raw, path, expected, lambda v: type(v) is str and _SOCKET.fullmatch(v) is not None)
    place = address.partition(":")[2]
    if address.startswith("tcp:") and not 1 <= int(place.rpartition(":")[2]) <= PORT_MAX:
        raise _wrong(raw, path, f"a port from 1 to {PORT_MAX}")
    if address.startswith("unix:") and len(place.encode()) > UNIX_PATH_BYTES_MAX:
        raise _wrong(raw, path, f"a path of at most {UNIX_PATH_BYTES_MAX} bytes, the most that a Unix socket can have")
    return address


def whole(least: int, most: int) -> Callable[[RawJson, str], int]:
    def read(raw: RawJson, path: str) -> int:
        number: int = _value(
            raw, path, f"a whole number from {least} to {most}", lambda v: type(v) is int and least <= v <= most
        )
        return number

    return read


def seconds(raw: RawJson, path: str) -> float:
    expected = f"seconds as a number from 0 to {SECONDS_MAX:.0f}"
    return float(_value(raw, path, expected, lambda v: type(v) in (int, float) and 0 <= v <= SECONDS_MAX))


def timeout(raw: RawJson, path: str) -> float | None:
    """0 is no limit, not "at once"."""
    return seconds(raw, path) or None


def verbatim(raw: RawJson, _: str) -> RawJson:
    """Whatever it is, the program's own matter."""
    return raw
