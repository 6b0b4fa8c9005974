"""Unset is the default; set but wrong is an error that names variable, value and form."""

import pytest

from stdworker.errors import SettingsError
from stdworker.model.kind import KindVersion
from stdworker.model.settings import BrokerAddress, Environment, WorkerSettings

BROKER = {"BROKER_ADDR": "http://broker:9090"}


def settings(**variables):
    return WorkerSettings.from_environment({**BROKER, **variables})


def test_the_defaults():
    assert settings() == WorkerSettings(broker=BrokerAddress("broker:9090"))
    assert settings().drain_seconds == 30.0
    assert settings().max_parallel == 100


def test_every_variable_is_read(tmp_path):
    for name in ("cert", "key", "ca"):
        (tmp_path / name).touch()
    given = settings(
        BROKER_ADDR="https://broker:9443/",
        TLS_CERT_FILE=str(tmp_path / "cert"),
        TLS_KEY_FILE=str(tmp_path / "key"),
        BROKER_CA_FILE=str(tmp_path / "ca"),
        TLS_RELOAD_INTERVAL="1m30s",
        WORKER_MAX_PARALLEL="7",
        WORKER_MAX_TOTAL="20",
        WORKER_DRAIN_TIMEOUT="500ms",
        WORKER_KINDS="disk, vm@2",
        HEALTH_ADDR=":8081",
        LOG_LEVEL="DEBUG",
        LOG_FORMAT="json",
        STDIO_KINDS="backup,dns@2",
        STDIO_COMPOSER_KINDS="site",
        STDIO_COMMAND="/usr/bin/handler",
        STDWORKER_KINDS_PATH="/a:/b",
        STDWORKER_PLUGINS="stdio,x",
        STDWORKER_PLUGINS_STRICT="1",
    )
    assert given.broker == BrokerAddress("broker:9443", tls=True)
    assert (given.tls_cert_file, given.tls_key_file) == (tmp_path / "cert", tmp_path / "key")
    assert given.broker_ca_file == tmp_path / "ca"
    assert (given.tls_reload_seconds, given.drain_seconds) == (90.0, 0.5)
    assert (given.max_parallel, given.max_total) == (7, 20)
    assert given.kinds == ("disk", "vm@2")
    assert given.health_address == ("", 8081)
    assert (given.log_level, given.log_format) == ("debug", "json")
    assert given.stdio_kinds == (KindVersion("backup"), KindVersion("dns", 2))
    assert given.stdio_composer_kinds == (KindVersion("site"),)
    assert given.stdio_command == "/usr/bin/handler"
    assert list(map(str, given.kinds_path)) == ["/a", "/b"]
    assert (given.plugins, given.plugins_strict) == (("stdio", "x"), True)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("BROKER_ADDR", ""),
        ("BROKER_ADDR", "broker"),
        ("BROKER_ADDR", "http://broker"),
        ("BROKER_ADDR", "ftp://broker:1"),
        ("BROKER_ADDR", "http://broker:1/path"),
        ("BROKER_ADDR", "http://me@broker:1"),
        ("BROKER_ADDR", "broker:99999"),
        ("BROKER_ADDR", "unix:relative"),
        ("BROKER_ADDR", "unix:///"),
        ("BROKER_ADDR", " broker:1"),
        ("TLS_RELOAD_INTERVAL", "soon"),
        ("WORKER_MAX_PARALLEL", ""),
        ("WORKER_MAX_PARALLEL", "0"),
        ("WORKER_MAX_PARALLEL", "-3"),
        ("WORKER_MAX_PARALLEL", "0x10"),
        ("WORKER_MAX_PARALLEL", "1_000"),
        ("WORKER_MAX_PARALLEL", "5.0"),
        ("WORKER_MAX_TOTAL", "many"),
        ("WORKER_DRAIN_TIMEOUT", "30"),
        ("WORKER_DRAIN_TIMEOUT", "1d"),
        ("WORKER_DRAIN_TIMEOUT", " 5s"),
        ("WORKER_DRAIN_TIMEOUT", "-5s"),
        ("WORKER_DRAIN_TIMEOUT", ""),
        ("WORKER_KINDS", "a,,b"),
        ("WORKER_KINDS", "Bad"),
        ("WORKER_KINDS", "a@0"),
        ("WORKER_KINDS", " , "),
        ("HEALTH_ADDR", "8081"),
        ("HEALTH_ADDR", "host:99999"),
        ("HEALTH_ADDR", ""),
        ("LOG_LEVEL", "chatty"),
        ("LOG_FORMAT", "xml"),
        ("STDIO_KINDS", "a b"),
        ("STDIO_COMPOSER_KINDS", "a@x"),
        ("STDIO_COMMAND", " "),
        ("STDWORKER_PLUGINS", ""),
        ("STDWORKER_PLUGINS_STRICT", "perhaps"),
    ],
)
def test_a_malformed_value_is_an_error_that_names_variable_value_and_form(name, value):
    with pytest.raises(SettingsError) as error:
        settings(**{name: value})
    assert (error.value.variable, error.value.value) == (name, value)
    assert error.value.expected


def test_a_missing_broker_is_an_error_except_where_nobody_dials():
    with pytest.raises(SettingsError, match="BROKER_ADDR is not set"):
        WorkerSettings.from_environment({})
    assert WorkerSettings.from_environment({}, dials=False).broker is None


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("broker:9090", BrokerAddress("broker:9090")),
        ("[::1]:9090", BrokerAddress("[::1]:9090")),
        ("unix:///run/broker.sock", BrokerAddress("unix:///run/broker.sock")),
        ("https://broker:9090", BrokerAddress("broker:9090", tls=True)),
    ],
)
def test_the_forms_of_an_address(text, address):
    assert settings(BROKER_ADDR=text).broker == address


@pytest.fixture
def files(tmp_path):
    names = {"TLS_CERT_FILE": "cert", "TLS_KEY_FILE": "key", "BROKER_CA_FILE": "ca"}
    for name in names.values():
        (tmp_path / name).touch()
    return {variable: str(tmp_path / name) for variable, name in names.items()}


def test_a_bare_address_is_https_when_a_key_pair_or_a_ca_is_set(files):
    pair = {name: files[name] for name in ("TLS_CERT_FILE", "TLS_KEY_FILE")}
    ca = {"BROKER_CA_FILE": files["BROKER_CA_FILE"]}
    assert settings(BROKER_ADDR="broker:1", **pair).broker.tls
    assert settings(BROKER_ADDR="broker:1", **ca).broker.tls


@pytest.mark.parametrize("alone", ["TLS_CERT_FILE", "TLS_KEY_FILE"])
def test_certificate_and_key_come_together(files, alone):
    with pytest.raises(SettingsError, match="come together"):
        settings(BROKER_ADDR="https://broker:1", **{alone: files[alone]})


@pytest.mark.parametrize("address", ["http://broker:1", "unix:///run/b.sock"])
def test_tls_files_beside_a_plain_address_are_an_error(files, address):
    with pytest.raises(SettingsError, match="https"):
        settings(BROKER_ADDR=address, BROKER_CA_FILE=files["BROKER_CA_FILE"])


def test_a_tls_file_that_is_not_there_is_an_error():
    with pytest.raises(SettingsError, match="BROKER_CA_FILE"):
        settings(BROKER_ADDR="https://broker:1", BROKER_CA_FILE="/nowhere/ca.pem")


def test_setting_one_stdio_list_drops_the_default_of_the_other():
    assert settings(STDIO_KINDS="backup").stdio_composer_kinds == ()
    assert settings(STDIO_COMPOSER_KINDS="site").stdio_kinds == ()


def test_a_kind_in_both_stdio_lists_is_an_error_that_names_it():
    with pytest.raises(SettingsError, match="in both: dns@1"):
        settings(STDIO_KINDS="dns,backup", STDIO_COMPOSER_KINDS="dns")
    settings(STDIO_KINDS="dns", STDIO_COMPOSER_KINDS="dns@2")


def test_lists_are_trimmed_and_keep_their_order_without_repeats():
    assert Environment({"X": " b , a,b "}).names("X", ()) == ("b", "a")


@pytest.mark.parametrize(("text", "value"), [("on", True), ("TRUE", True), ("0", False), ("no", False)])
def test_flags(text, value):
    assert Environment({"X": text}).flag("X") is value


@pytest.mark.parametrize(("text", "seconds"), [("0", 0), ("500ms", 0.5), ("1h2m3s", 3_723), ("1.5s", 1.5)])
def test_durations(text, seconds):
    assert Environment({"X": text}).duration("X", 1.0) == seconds
