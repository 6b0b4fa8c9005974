"""Settings of `converge serve`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from stdworker.errors import SettingsError
from stdworker.model.settings import LOG_FORMATS, LOG_LEVELS, Environment

DATABASE_SCHEMES = ("sqlite:///", "postgresql://")
SYNCHRONOUS = ("normal", "full")
ROLES = ("all", "control", "broker")


@dataclass(frozen=True)
class ServeSettings:
    """What an operator may set. Durations are in seconds.

    `rest` is the (host, port) of REST, an empty host standing for all interfaces and port 0 for any free one.
    `allowed_hosts` are names, beside loopback ones and addresses, by which REST may be called; `*` is any name.
    `broker` is the gRPC address in grpc's spelling, `host:port` or `unix:///path`.
    `read_url` names a replica that lists are read from.
    `role`: `control` serves REST alone, `broker` workers alone, with probes on `health`.
    """

    role: str = "all"
    database_url: str = "sqlite:///converge.db"
    read_url: str | None = None
    sqlite_synchronous: str = "normal"
    rest: tuple[str, int] = ("127.0.0.1", 8080)
    allowed_hosts: tuple[str, ...] = ()
    broker: str = "127.0.0.1:9090"
    health: tuple[str, int] = ("127.0.0.1", 8081)
    drain_seconds: float = 45.0
    reconnect_seconds: float = 5.0
    liveness_seconds: float = 15.0
    retry_base_seconds: float = 2.0
    retry_cap_seconds: float = 300.0
    revisions_keep: int = 20
    events_keep: int = 100_000
    events_keep_seconds: float = 720 * 3600.0
    log_level: str = "info"
    log_format: str = "text"

    @classmethod
    def from_environment(cls, variables: Mapping[str, str]) -> ServeSettings:
        """Read every variable. Raises SettingsError for one that is set but can't be used."""
        environment = Environment(variables)
        listen = environment.listen_address("LISTEN_ADDR", cls.rest)
        health = environment.listen_address("HEALTH_ADDR", cls.health)
        assert listen is not None
        assert health is not None
        database_url = _database_url(environment)
        return cls(
            role=_role(environment, database_url),
            database_url=database_url,
            read_url=_read_url(environment, database_url),
            sqlite_synchronous=environment.choice("SQLITE_SYNCHRONOUS", cls.sqlite_synchronous, SYNCHRONOUS),
            rest=listen,
            allowed_hosts=environment.names("ALLOWED_HOSTS", cls.allowed_hosts),
            broker=_broker_address(environment),
            health=health,
            drain_seconds=environment.duration("SHUTDOWN_DRAIN", cls.drain_seconds),
            reconnect_seconds=environment.duration("LEASE_RECONNECT_WINDOW", cls.reconnect_seconds),
            liveness_seconds=environment.duration("LEASE_LIVENESS_WINDOW", cls.liveness_seconds, least=1.0),
            retry_base_seconds=environment.duration("RETRY_BASE", cls.retry_base_seconds, least=0.001),
            retry_cap_seconds=environment.duration("RETRY_CAP", cls.retry_cap_seconds, least=0.001),
            revisions_keep=environment.integer("REVISIONS_KEEP", cls.revisions_keep),
            events_keep=environment.integer("EVENTS_KEEP", cls.events_keep),
            events_keep_seconds=environment.duration("EVENTS_KEEP_FOR", cls.events_keep_seconds),
            log_level=environment.choice("LOG_LEVEL", cls.log_level, LOG_LEVELS),
            log_format=environment.choice("LOG_FORMAT", cls.log_format, LOG_FORMATS),
        )


def _database_url(environment: Environment) -> str:
    url = environment.text("DATABASE_URL", ServeSettings.database_url)
    usable = any(url.startswith(scheme) and len(url) > len(scheme) for scheme in DATABASE_SCHEMES)
    if not usable or not _has_port(url) or url == "sqlite:///:memory:":
        raise SettingsError("DATABASE_URL", url, "sqlite:///path/to/file.db or postgresql://user@host/database")
    return url


def _role(environment: Environment, database_url: str) -> str:
    role = environment.choice("ROLE", ServeSettings.role, ROLES)
    if role != "all" and database_url.startswith("sqlite:"):
        hint = "an SQLite database has one process; for several, DATABASE_URL names a Postgres"
        raise SettingsError("ROLE", role, "all", hint=hint)
    return role


def _read_url(environment: Environment, database_url: str) -> str | None:
    if "DATABASE_READ_URL" not in environment.variables:
        return None
    url = environment.text("DATABASE_READ_URL", "")
    if not database_url.startswith("postgresql://"):
        raise SettingsError("DATABASE_READ_URL", url, "nothing: only a Postgres database has replicas")
    if not url.startswith("postgresql://") or not _has_port(url):
        raise SettingsError("DATABASE_READ_URL", url, "postgresql://user@host/database")
    return url


def _has_port(url: str) -> bool:
    """A number where a port is, or nothing."""
    try:
        return urlsplit(url).port != 0
    except ValueError:
        return False


def _broker_address(environment: Environment) -> str:
    text = environment.text("BROKER_ADDR_LISTEN", ServeSettings.broker)
    if text.startswith("unix:"):
        path = text.removeprefix("unix://")
        if not path.startswith("/") or path == "/":
            raise SettingsError("BROKER_ADDR_LISTEN", text, "host:port, :port or unix:///path")
        return text
    listen = environment.listen_address("BROKER_ADDR_LISTEN", ("127.0.0.1", 9090))
    assert listen is not None
    host, port = listen
    return f"[{host or '::'}]:{port}" if ":" in host or not host else f"{host}:{port}"
