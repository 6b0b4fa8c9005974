"""Every variable of `converge serve`: its default, what it takes, what it refuses."""

from __future__ import annotations

import pytest

from stdworker.cli.engine import VARIABLES
from stdworker.engine.settings import ServeSettings
from stdworker.errors import SettingsError


def test_without_any_variable_the_defaults_bind_loopback_only():
    settings = ServeSettings.from_environment({})

    assert settings == ServeSettings()
    assert settings.rest[0] == "127.0.0.1"
    assert settings.broker.startswith("127.0.0.1:")


@pytest.mark.parametrize(
    ("variable", "value", "field", "expected"),
    [
        ("DATABASE_URL", "sqlite:////var/lib/c.db", "database_url", "sqlite:////var/lib/c.db"),
        ("DATABASE_URL", "postgresql://u@h/d", "database_url", "postgresql://u@h/d"),
        ("DATABASE_URL", "postgresql://u@a:5432,b:5433/d", "database_url", "postgresql://u@a:5432,b:5433/d"),
        ("LISTEN_ADDR", ":80", "rest", ("", 80)),
        ("HEALTH_ADDR", ":81", "health", ("", 81)),
        ("LISTEN_ADDR", "[::1]:80", "rest", ("::1", 80)),
        ("LISTEN_ADDR", "http://h:80/", "rest", ("h", 80)),
        ("BROKER_ADDR_LISTEN", ":90", "broker", "[::]:90"),
        ("BROKER_ADDR_LISTEN", "h:90", "broker", "h:90"),
        ("BROKER_ADDR_LISTEN", "[::1]:90", "broker", "[::1]:90"),
        ("BROKER_ADDR_LISTEN", "unix:///run/b.sock", "broker", "unix:///run/b.sock"),
        ("BROKER_ADDR_LISTEN", "http://h:90", "broker", "h:90"),
        (
            "CORS_ALLOWED_ORIGINS",
            "https://a.example,http://[::1]:8",
            "cors_origins",
            ("https://a.example", "http://[::1]:8"),
        ),
        ("API_RATE_LIMIT_RPS", "50", "requests_per_second_max", 50),
        ("SHUTDOWN_DRAIN", "1m30s", "drain_seconds", 90.0),
        ("LEASE_RECONNECT_WINDOW", "0s", "reconnect_seconds", 0.0),
        ("LEASE_LIVENESS_WINDOW", "1m", "liveness_seconds", 60.0),
        ("RETRY_BASE", "10ms", "retry_base_seconds", 0.01),
        ("RETRY_CAP", "1h", "retry_cap_seconds", 3600.0),
        ("EVENTS_KEEP", "5", "events_keep", 5),
        ("EVENTS_KEEP_FOR", "24h", "events_keep_seconds", 86_400.0),
        ("LOG_LEVEL", "Warn", "log_level", "warn"),
        ("LOG_FORMAT", "json", "log_format", "json"),
    ],
)
def test_each_variable_is_read_in_the_form_that_it_promises(variable, value, field, expected):
    assert getattr(ServeSettings.from_environment({variable: value}), field) == expected


@pytest.mark.parametrize("role", ["all", "control", "broker"])
def test_a_process_on_postgres_may_have_any_role(role):
    assert ServeSettings.from_environment({"DATABASE_URL": "postgresql://u@h/d", "ROLE": role}).role == role


@pytest.mark.parametrize(("role", "health"), [("all", None), ("control", None), ("broker", ("127.0.0.1", 8081))])
def test_a_process_without_rest_has_probes_unasked_and_every_other_where_it_is_told_to(role, health):
    variables = {"DATABASE_URL": "postgresql://u@h/d", "ROLE": role}
    assert ServeSettings.from_environment(variables).health == health
    assert ServeSettings.from_environment(variables | {"HEALTH_ADDR": ":81"}).health == ("", 81)


@pytest.mark.parametrize("role", ["control", "broker"])
def test_a_process_on_sqlite_is_all_of_the_engine(role):
    with pytest.raises(SettingsError, match=rf"ROLE is '{role}'; expected all") as refused:
        ServeSettings.from_environment({"ROLE": role})
    assert "Postgres" in refused.value.hint


def test_a_replica_is_one_of_a_postgres_database():
    urls = {"DATABASE_URL": "postgresql://u@h/d", "DATABASE_READ_URL": "postgresql://u@r/d"}
    assert ServeSettings.from_environment(urls).read_url == "postgresql://u@r/d"
    for wrong in (urls | {"DATABASE_URL": "sqlite:///c.db"}, urls | {"DATABASE_READ_URL": "sqlite:///c.db"}):
        with pytest.raises(SettingsError, match="DATABASE_READ_URL"):
            ServeSettings.from_environment(wrong)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ROLE", "worker"),
        ("HEALTH_ADDR", "8081"),
        ("DATABASE_URL", "mysql://here"),
        ("DATABASE_URL", "postgresql://host:port/d"),
        ("DATABASE_URL", "sqlite:///"),
        ("DATABASE_URL", "sqlite:///:memory:"),
        ("DATABASE_URL", "sqlite:///c.db?mode=ro"),
        ("DATABASE_URL", "postgresql://h:70000/d"),
        ("DATABASE_URL", "postgresql://h/d?foo=bar"),
        ("DATABASE_URL", "postgresql://h/%zz"),
        ("LISTEN_ADDR", "8080"),
        ("LISTEN_ADDR", "host:99999"),
        ("BROKER_ADDR_LISTEN", "unix:relative"),
        ("BROKER_ADDR_LISTEN", "unix:///"),
        ("BROKER_ADDR_LISTEN", "ftp://host:9090"),
        ("BROKER_ADDR_LISTEN", "https://host:9090"),
        ("LISTEN_ADDR", "https://host:80"),
        ("LISTEN_ADDR", "http://host:80/path"),
        ("TLS_CERT_FILE", "/nowhere"),
        ("TLS_CLIENT_CA_FILE", "/dev/null"),
        ("API_AUTHZ_SPIFFE_IDS", "spiffe://example.org/a"),
        ("WORKER_AUTHZ_SPIFFE_IDS", "spiffe://example.org/a"),
        ("CORS_ALLOWED_ORIGINS", "*"),
        ("CORS_ALLOWED_ORIGINS", "https://a.example/page"),
        ("API_RATE_LIMIT_RPS", "-1"),
        ("SHUTDOWN_DRAIN", "45"),
        ("SHUTDOWN_DRAIN", "-1s"),
        ("LEASE_LIVENESS_WINDOW", "0s"),
        ("RETRY_BASE", "soon"),
        ("RETRY_BASE", "0s"),
        ("EVENTS_KEEP", "0"),
        ("LOG_LEVEL", "loud"),
        ("LOG_FORMAT", "xml"),
        *[(variable, "") for variable in VARIABLES],
    ],
)
def test_a_malformed_value_is_refused_naming_variable_value_and_form(variable, value):
    with pytest.raises(SettingsError) as refused:
        ServeSettings.from_environment({variable: value})

    assert refused.value.variable == variable
    assert str(refused.value).startswith(f"{variable} is {value!r}; expected ")


def test_the_password_of_a_database_is_not_shown_in_what_is_wrong():
    with pytest.raises(SettingsError) as refused:
        ServeSettings.from_environment({"DATABASE_URL": "postgres://ada:hunt@er2@host/d"})

    assert "DATABASE_URL is 'postgres://***@host/d'" in str(refused.value)


@pytest.fixture
def files(tmp_path):
    """TLS_CERT_FILE, TLS_KEY_FILE and TLS_CLIENT_CA_FILE; only that they are there is looked at."""
    paths = {name: str(tmp_path / name) for name in ("TLS_CERT_FILE", "TLS_KEY_FILE", "TLS_CLIENT_CA_FILE")}
    for path in paths.values():
        (tmp_path / path).touch()
    return paths


@pytest.mark.parametrize(
    ("rest", "broker", "spoken"),
    [
        (":80", ":90", (True, True)),
        ("https://:80", "http://:90", (True, False)),
        ("http://:80", "https://h:90", (False, True)),
        (":80", "unix:///run/b.sock", (True, False)),
    ],
)
def test_with_a_certificate_tls_is_spoken_where_no_scheme_says_otherwise(files, rest, broker, spoken):
    settings = ServeSettings.from_environment({"LISTEN_ADDR": rest, "BROKER_ADDR_LISTEN": broker, **files})
    assert (settings.rest_tls, settings.broker_tls) == spoken
    assert settings.tls is not None
    assert settings.tls.is_mutual


@pytest.mark.parametrize(
    ("given", "variable"),
    [
        ({"TLS_KEY_FILE": None}, "TLS_KEY_FILE"),
        ({"TLS_CERT_FILE": None}, "TLS_CERT_FILE"),
        ({"LISTEN_ADDR": "http://:80", "BROKER_ADDR_LISTEN": "unix:///b"}, "TLS_CERT_FILE"),
        ({"TLS_CLIENT_CA_FILE": None, "API_AUTHZ_SPIFFE_IDS": "spiffe://a/b"}, "API_AUTHZ_SPIFFE_IDS"),
        ({"BROKER_ADDR_LISTEN": "unix:///b", "WORKER_AUTHZ_SPIFFE_IDS": "spiffe://a/b"}, "WORKER_AUTHZ_SPIFFE_IDS"),
        ({"API_AUTHZ_SPIFFE_IDS": "spiffe://a/*/b"}, "API_AUTHZ_SPIFFE_IDS"),
        ({"API_AUTHZ_SPIFFE_IDS": "ada"}, "API_AUTHZ_SPIFFE_IDS"),
        ({"API_AUTHZ_SPIFFE_IDS": "spiffe://a/b*"}, "API_AUTHZ_SPIFFE_IDS"),
    ],
)
def test_a_setting_of_tls_that_would_guard_nothing_is_refused(files, given, variable):
    variables = {name: value for name, value in (files | given).items() if value is not None}
    with pytest.raises(SettingsError) as refused:
        ServeSettings.from_environment(variables)
    assert refused.value.variable == variable
