"""Settings of `converge serve`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from stdworker.engine.tls import ServerTls
from stdworker.errors import SettingsError
from stdworker.model.settings import LOG_FORMATS, LOG_LEVELS, Environment

SQLITE, POSTGRES = "sqlite:///", "postgresql://"
PORT_MAX = 65_535
SYNCHRONOUS = ("normal", "full")
ROLES = ("all", "control", "broker")
BROKER_HEALTH = ("127.0.0.1", 8081)  # where nothing else shows that the process lives

_SPIFFE_ID = re.compile(r"spiffe://[a-z0-9._-]+(?:/[A-Za-z0-9._-]+)*(?:/\*)?")
_ORIGIN = re.compile(r"https?://[A-Za-z0-9.-]+(?::\d{1,5})?|https?://\[[0-9a-f:]+\](?::\d{1,5})?")


@dataclass(frozen=True)
class EngineOptions:
    """What of an engine an operator may tune.

    `revisions_keep` are the specs of each resource that are kept, the live one among them; events are kept until
    there are more than `events_keep` of them, or they are older than `events_keep_seconds`.
    """

    liveness_seconds: float = 15.0
    retry_base_seconds: float = 2.0
    retry_cap_seconds: float = 300.0
    revisions_keep: int = 20
    events_keep: int = 100_000
    events_keep_seconds: float = 720 * 3600.0
    sqlite_synchronous: str = "normal"


@dataclass(frozen=True)
class ServeSettings(EngineOptions):
    """What an operator may set, those of the engine among them. Durations are in seconds.

    `rest` is the (host, port) of REST, an empty host standing for all interfaces and port 0 for any free one;
    `rest_tls` and `broker_tls` say whether TLS is spoken there, with the files of `tls`.
    `allowed_hosts` are names, beside loopback ones and addresses, by which REST may be called; `*` is any name.
    `broker` is the gRPC address in grpc's spelling, `host:port` or `unix:///path`.
    `read_url` names a replica that lists are read from.
    `role`: `control` serves REST alone, `broker` workers alone.
    `health` is where probes and metrics are served in plain HTTP, None for nowhere but beside REST.
    `api_spiffe_ids` and `worker_spiffe_ids` are who may use REST and who may work, everyone if there are none.
    `requests_per_second_max` is for each client of REST, 0 for no limit.
    """

    role: str = "all"
    database_url: str = "sqlite:///converge.db"
    read_url: str | None = None
    rest: tuple[str, int] = ("127.0.0.1", 8080)
    allowed_hosts: tuple[str, ...] = ()
    broker: str = "127.0.0.1:9090"
    health: tuple[str, int] | None = None
    rest_tls: bool = False
    broker_tls: bool = False
    tls: ServerTls | None = None
    api_spiffe_ids: tuple[str, ...] = ()
    worker_spiffe_ids: tuple[str, ...] = ()
    cors_origins: tuple[str, ...] = ()
    requests_per_second_max: int = 0
    drain_seconds: float = 45.0
    reconnect_seconds: float = 5.0
    log_level: str = "info"
    log_format: str = "text"

    @classmethod
    def from_environment(cls, variables: Mapping[str, str]) -> ServeSettings:
        """Read every variable. Raises SettingsError for one that is set but can't be used."""
        environment = Environment(variables)
        database_url = _database_url(environment)
        role = _role(environment, database_url)
        tls = _tls(environment)
        rest, rest_tls = _listen(environment, "LISTEN_ADDR", cls.rest, tls)
        broker, broker_tls = _broker(environment, tls)
        if tls and not (rest_tls or broker_tls):
            raise SettingsError("TLS_CERT_FILE", str(tls.cert_file), "a listener that isn't http:// or unix: beside it")
        return cls(
            role=role,
            database_url=database_url,
            read_url=_read_url(environment, database_url),
            sqlite_synchronous=environment.choice("SQLITE_SYNCHRONOUS", cls.sqlite_synchronous, SYNCHRONOUS),
            rest=rest,
            allowed_hosts=environment.names("ALLOWED_HOSTS", cls.allowed_hosts),
            health=environment.listen_address("HEALTH_ADDR", BROKER_HEALTH if role == "broker" else None),
            broker=broker,
            rest_tls=rest_tls,
            broker_tls=broker_tls,
            tls=tls,
            api_spiffe_ids=_spiffe_ids(environment, "API_AUTHZ_SPIFFE_IDS", tls if rest_tls else None),
            worker_spiffe_ids=_spiffe_ids(environment, "WORKER_AUTHZ_SPIFFE_IDS", tls if broker_tls else None),
            cors_origins=_origins(environment),
            requests_per_second_max=environment.integer("API_RATE_LIMIT_RPS", cls.requests_per_second_max, least=0),
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
    is_sqlite = url.startswith(SQLITE) and url not in (SQLITE, f"{SQLITE}:memory:") and "?" not in url
    if not is_sqlite and not _is_postgres(url):
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
    if not _is_postgres(url):
        raise SettingsError("DATABASE_READ_URL", url, "postgresql://user@host/database")
    return url


def _is_postgres(url: str) -> bool:
    """As libpq reads it, to which several hosts, each with its port, are one database."""
    if not url.startswith(POSTGRES) or url == POSTGRES:
        return False
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    try:
        ports = str(conninfo_to_dict(url).get("port", ""))
    except ProgrammingError:
        return False
    return all(port.isdecimal() and 0 < int(port) <= PORT_MAX for port in ports.split(",") if port)


def _tls(environment: Environment) -> ServerTls | None:
    cert, key = environment.key_pair("TLS_CERT_FILE", "TLS_KEY_FILE")
    client_ca = environment.file("TLS_CLIENT_CA_FILE")
    if cert is None or key is None:
        if client_ca:
            raise SettingsError("TLS_CLIENT_CA_FILE", str(client_ca), "TLS_CERT_FILE and TLS_KEY_FILE beside it")
        return None
    return ServerTls(cert, key, client_ca)


def _listen(
    environment: Environment, name: str, default: tuple[str, int], tls: ServerTls | None
) -> tuple[tuple[str, int], bool]:
    """Where to listen, and whether with TLS: as the scheme says, else if there is a certificate."""
    text = environment.text(name, f"{default[0]}:{default[1]}")
    scheme, separator, rest = text.partition("://")
    try:
        if separator and scheme not in ("http", "https"):
            raise ValueError
        address = Environment({name: rest.removesuffix("/") if separator else text}).listen_address(name, default)
    except (ValueError, SettingsError):
        raise SettingsError(name, text, "host:port or :port, perhaps after https:// or http://") from None
    if scheme == "https" and tls is None:
        raise SettingsError(name, text, "TLS_CERT_FILE and TLS_KEY_FILE beside https://")
    assert address is not None
    return address, scheme == "https" if separator else tls is not None


def _broker(environment: Environment, tls: ServerTls | None) -> tuple[str, bool]:
    text = environment.text("BROKER_ADDR_LISTEN", ServeSettings.broker)
    if text.startswith("unix:"):
        path = text.removeprefix("unix://")
        if not path.startswith("/") or path == "/":
            raise SettingsError("BROKER_ADDR_LISTEN", text, "host:port, :port or unix:///path")
        return text, False
    (host, port), is_tls = _listen(environment, "BROKER_ADDR_LISTEN", ("127.0.0.1", 9090), tls)
    return (f"[{host or '::'}]:{port}" if ":" in host or not host else f"{host}:{port}"), is_tls


def _spiffe_ids(environment: Environment, name: str, tls: ServerTls | None) -> tuple[str, ...]:
    ids = environment.names(name, ())
    for id in ids:
        if not _SPIFFE_ID.fullmatch(id):
            expected = "SPIFFE ids separated by commas, each whole or ending in /* for all below"
            raise SettingsError(name, environment.variables[name], expected)
    if ids and not (tls and tls.is_mutual):
        raise SettingsError(name, environment.variables[name], "TLS with TLS_CLIENT_CA_FILE on its listener")
    return ids


def _origins(environment: Environment) -> tuple[str, ...]:
    origins = environment.names("CORS_ALLOWED_ORIGINS", ())
    if not all(_ORIGIN.fullmatch(origin) for origin in origins):
        given = environment.variables["CORS_ALLOWED_ORIGINS"]
        raise SettingsError(
            "CORS_ALLOWED_ORIGINS", given, "origins separated by commas, as https://host or http://host:port"
        )
    return origins
