"""Reading settings from an environment: unset is the default, set but wrong is loud.

Each reader raises SettingsError naming variable, value and expected form.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple, TypedDict, TypeVar
from urllib.parse import urlsplit

import durationpy

from stdworker.errors import SettingsError
from stdworker.model.kind import KindVersion

T = TypeVar("T")

LOG_LEVELS = ("debug", "info", "warn", "warning", "error")
LOG_FORMATS = ("text", "json")

# durationpy reads days and years too, which no other program of this field does.
_GO_DURATION = re.compile(r"0|(?:(?:\d+\.?\d*|\.\d+)(?:ns|us|µs|ms|s|m|h))+")


class Environment:
    """Typed look-ups in an environment. Every method answers its default when the variable is not set."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.variables = variables

    def text(self, name: str, default: str) -> str:
        """Any text but an empty one."""
        return self._read(name, default, "a text that is not empty", str)

    def required(self, name: str, expected: str) -> str:
        if name not in self.variables:
            raise SettingsError(name, None, expected)
        return self._read(name, "", expected, str)

    def integer(self, name: str, default: int, *, least: int = 1) -> int:
        """A whole number in decimal, `least` or more."""

        def parse(text: str) -> int:
            if not text.isascii() or not text.isdigit() or int(text) < least:
                raise ValueError
            return int(text)

        return self._read(name, default, f"a whole number, {least} or more", parse)

    def duration(self, name: str, default: float, *, least: float = 0.0) -> float:
        """A Go-style duration such as `500ms`, `30s` or `1m30s`, as seconds."""

        def parse(text: str) -> float:
            seconds = float(durationpy.from_str(text).total_seconds())
            if not _GO_DURATION.fullmatch(text) or seconds < least:
                raise ValueError
            return seconds

        return self._read(name, default, "a duration such as 500ms, 30s or 1m30s", parse)

    def choice(self, name: str, default: str, allowed: tuple[str, ...]) -> str:
        """One of `allowed`, any case."""

        def parse(text: str) -> str:
            if text.lower() not in allowed:
                raise ValueError
            return text.lower()

        return self._read(name, default, f"one of {', '.join(allowed)}", parse)

    def flag(self, name: str, default: bool = False) -> bool:
        """1, true, yes, on or 0, false, no, off."""
        words = {
            "1": True,
            "true": True,
            "yes": True,
            "on": True,
            "0": False,
            "false": False,
            "no": False,
            "off": False,
        }
        return words[self.choice(name, "1" if default else "0", tuple(words))]

    def names(self, name: str, default: tuple[str, ...]) -> tuple[str, ...]:
        """A list separated by commas, blanks trimmed, order kept, duplicates dropped, none empty."""

        def parse(text: str) -> tuple[str, ...]:
            parts = [part.strip() for part in text.split(",")]
            if not all(parts):
                raise ValueError
            return tuple(dict.fromkeys(parts))

        return self._read(name, default, "a list separated by commas, without empty entries", parse)

    def kinds(self, name: str, default: tuple[KindVersion, ...]) -> tuple[KindVersion, ...]:
        """A list of `name` or `name@version`; a bare name is version 1."""

        def parse(text: str) -> tuple[KindVersion, ...]:
            return tuple(dict.fromkeys(KindVersion.parse(part.strip()) for part in text.split(",")))

        return self._read(name, default, "a list of kinds, each name or name@version, separated by commas", parse)

    def folders(self, name: str) -> tuple[Path, ...]:
        """Folders separated like those of PATH."""

        def parse(text: str) -> tuple[Path, ...]:
            return tuple(Path(part) for part in text.split(os.pathsep) if part)

        return self._read(name, (), f"folders separated by {os.pathsep!r}", parse)

    def file(self, name: str) -> Path | None:
        """A file that is there."""

        def parse(text: str) -> Path:
            if not os.path.isfile(text):
                raise ValueError
            return Path(text)

        return self._read(name, None, "a file that exists", parse)

    def key_pair(self, cert_name: str, key_name: str) -> tuple[Path | None, Path | None]:
        """A certificate and its key: both or neither."""
        cert, key = self.file(cert_name), self.file(key_name)
        for present, absent, name in ((cert, key, key_name), (key, cert, cert_name)):
            if present and not absent:
                raise SettingsError(name, None, "a file: certificate and key come together")
        return cert, key

    def listen_address(self, name: str, default: tuple[str, int] | None) -> tuple[str, int] | None:
        """`host:port`, or `:port` for all interfaces."""

        def parse(text: str) -> tuple[str, int] | None:
            host, colon, port = text.rpartition(":")
            if not colon or not port.isascii() or not port.isdigit() or int(port) > 65_535:
                raise ValueError
            if "/" in host or any(map(str.isspace, host)):
                raise ValueError
            return host.strip("[]"), int(port)

        return self._read(name, default, "host:port or :port", parse)

    def _read(self, name: str, default: T, expected: str, parse: Callable[[str], T]) -> T:
        value = self.variables.get(name)
        if value is None:
            return default
        try:
            if not value.strip():
                raise ValueError
            return parse(value)
        except SettingsError:
            raise
        except Exception:
            raise SettingsError(name, value, expected) from None


class BrokerAddress(NamedTuple):
    """Where a broker listens: `host:port` or `unix:///path`, and whether TLS is spoken there."""

    target: str
    tls: bool = False

    @classmethod
    def parse(cls, text: str, *, tls_by_default: bool = False) -> BrokerAddress:
        """Read `http://host:port`, `https://host:port`, `unix:///path` or `host:port`; else ValueError."""
        if text.startswith("unix:"):
            return cls(_unix_target(text))
        scheme, separator, rest = text.partition("://")
        if not separator:
            return cls(_host_and_port(text), tls_by_default)
        if scheme not in ("http", "https"):
            raise ValueError
        return cls(_host_and_port(rest.removesuffix("/")), scheme == "https")


def _unix_target(text: str) -> str:
    path = text.removeprefix("unix://")
    if not path.startswith("/") or path == "/":
        raise ValueError
    return f"unix://{path}"


def _host_and_port(text: str) -> str:
    parts = urlsplit(f"//{text}")
    if parts.netloc != text or "@" in text or not parts.hostname or not parts.port or re.search(r"\s", text):
        raise ValueError
    return text


BROKER_FORMS = "http://host:port, https://host:port, unix:///path or host:port"
_STDIO = (KindVersion("stdio"),)
_STDIO_COMPOSER = (KindVersion("stdio-composer"),)


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """What a worker's environment asks for. Durations are seconds, None is "not set"."""

    broker: BrokerAddress | None = None
    tls_cert_file: Path | None = None
    tls_key_file: Path | None = None
    broker_ca_file: Path | None = None
    tls_reload_seconds: float = 30.0
    max_parallel: int = 100
    max_total: int | None = None
    drain_seconds: float = 30.0
    kinds: tuple[str, ...] = ()
    health_address: tuple[str, int] | None = None
    log_level: str = "info"
    log_format: str = "text"
    stdio_kinds: tuple[KindVersion, ...] = _STDIO
    stdio_composer_kinds: tuple[KindVersion, ...] = _STDIO_COMPOSER
    stdio_command: str | None = None
    kinds_path: tuple[Path, ...] = ()
    plugins: tuple[str, ...] | None = None
    plugins_strict: bool = False

    @classmethod
    def from_environment(cls, variables: Mapping[str, str], *, dials: bool = True) -> WorkerSettings:
        """Read every variable of a worker. Raises SettingsError for the first that is wrong.

        Commands that never reach a broker say `dials=False`: BROKER_ADDR and TLS are then left out.
        """
        environment = Environment(variables)
        leaves, composers = _stdio_kinds(environment)
        plugins = environment.names("STDWORKER_PLUGINS", ())
        settings = cls(
            max_parallel=environment.integer("WORKER_MAX_PARALLEL", 100),
            max_total=environment.integer("WORKER_MAX_TOTAL", 0) or None,
            drain_seconds=environment.duration("WORKER_DRAIN_TIMEOUT", 30.0),
            kinds=_allowed_kinds(environment),
            health_address=environment.listen_address("HEALTH_ADDR", None),
            log_level=environment.choice("LOG_LEVEL", "info", LOG_LEVELS),
            log_format=environment.choice("LOG_FORMAT", "text", LOG_FORMATS),
            stdio_kinds=leaves,
            stdio_composer_kinds=composers,
            stdio_command=environment.text("STDIO_COMMAND", "") or None,
            kinds_path=environment.folders("STDWORKER_KINDS_PATH"),
            plugins=plugins or None,
            plugins_strict=environment.flag("STDWORKER_PLUGINS_STRICT"),
        )
        return replace(settings, **_connection(environment)) if dials else settings


class _Connection(TypedDict):
    broker: BrokerAddress
    tls_cert_file: Path | None
    tls_key_file: Path | None
    broker_ca_file: Path | None
    tls_reload_seconds: float


def _connection(environment: Environment) -> _Connection:
    cert, key = environment.key_pair("TLS_CERT_FILE", "TLS_KEY_FILE")
    ca = environment.file("BROKER_CA_FILE")
    broker = _broker(environment, tls_by_default=bool(cert or ca))
    if (cert or ca) and not broker.tls:
        variable = "TLS_CERT_FILE" if cert else "BROKER_CA_FILE"
        raise SettingsError(variable, str(cert or ca), "an https:// BROKER_ADDR beside it, or no TLS file at all")
    return {
        "broker": broker,
        "tls_cert_file": cert,
        "tls_key_file": key,
        "broker_ca_file": ca,
        "tls_reload_seconds": environment.duration("TLS_RELOAD_INTERVAL", 30.0),
    }


def _broker(environment: Environment, *, tls_by_default: bool) -> BrokerAddress:
    text = environment.required("BROKER_ADDR", BROKER_FORMS)
    try:
        return BrokerAddress.parse(text, tls_by_default=tls_by_default)
    except ValueError:
        raise SettingsError("BROKER_ADDR", text, BROKER_FORMS) from None


def _allowed_kinds(environment: Environment) -> tuple[str, ...]:
    """Checked, but as written: a bare name allows every version."""
    environment.kinds("WORKER_KINDS", ())
    return environment.names("WORKER_KINDS", ())


def _stdio_kinds(environment: Environment) -> tuple[tuple[KindVersion, ...], tuple[KindVersion, ...]]:
    """Setting one of the two lists drops the default of the other: a leaf-only worker is possible."""
    given = {"STDIO_KINDS", "STDIO_COMPOSER_KINDS"} & environment.variables.keys()
    leaves = environment.kinds("STDIO_KINDS", () if given else _STDIO)
    composers = environment.kinds("STDIO_COMPOSER_KINDS", () if given else _STDIO_COMPOSER)
    if both := set(leaves) & set(composers):
        named = ", ".join(map(str, sorted(both)))
        raise SettingsError(
            "STDIO_COMPOSER_KINDS",
            environment.variables["STDIO_COMPOSER_KINDS"],
            "no kind that STDIO_KINDS names too",
            hint=f"in both: {named}",
        )
    return leaves, composers
