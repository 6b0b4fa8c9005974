"""`serve` from the environment to the first task: addresses, TLS, and errors before anything starts."""

import asyncio

import grpc
import pytest
import trustme

import stdworker
from stdworker.errors import PluginError, SettingsError
from stdworker.model.kind import KindVersion
from stdworker.model.settings import BrokerAddress, WorkerSettings
from stdworker.testing import ScriptedBroker, make_request
from stdworker.wire.channel import KEEPALIVE_CAUTIOUS_SECONDS, TlsFiles, channel_options
from stdworker.worker.grpc_transport import Dialer
from stdworker.worker.transport import Unreachable

THING = KindVersion("thing")


@pytest.fixture
def environment(monkeypatch):
    """`environment(NAME=value, …)` is the whole of a worker's settings."""
    for name in ("BROKER_ADDR", "TLS_CERT_FILE", "TLS_KEY_FILE", "BROKER_CA_FILE", "WORKER_KINDS", "HEALTH_ADDR"):
        monkeypatch.delenv(name, raising=False)

    def use(**variables):
        for name, value in variables.items():
            monkeypatch.setenv(name, str(value))

    return use


async def one_task(broker, provider):
    stop = asyncio.Event()
    serving = asyncio.create_task(stdworker.serve([provider], stop=stop))
    try:
        stream = asyncio.create_task(broker.stream())
        await asyncio.wait({stream, serving}, return_when=asyncio.FIRST_COMPLETED)
        if serving.done():
            await serving
        return (await (await stream).run(make_request(THING))).failure
    finally:
        stop.set()
        await asyncio.wait({serving})


def test_over_plain_tcp(environment, noop):
    async def scenario():
        async with ScriptedBroker() as broker:
            environment(BROKER_ADDR=broker.address)
            return await one_task(broker, noop())

    assert asyncio.run(scenario()) is None


def test_over_a_unix_socket(environment, noop, tmp_path):
    async def scenario():
        async with ScriptedBroker(listen=f"unix://{tmp_path}/broker.sock") as broker:
            environment(BROKER_ADDR=broker.address)
            return await one_task(broker, noop())

    assert asyncio.run(scenario()) is None


@pytest.fixture
def pki(tmp_path):
    """A CA with a certificate for the broker and one for the worker, as files of `tmp_path`."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    for name in ("broker", "worker"):
        issued = authority.issue_cert("127.0.0.1" if name == "broker" else "worker.example")
        issued.private_key_pem.write_to_path(tmp_path / f"{name}.key")
        issued.cert_chain_pems[0].write_to_path(tmp_path / f"{name}.pem")
    return tmp_path


def server_credentials(pki):
    pair = ((pki / "broker.key").read_bytes(), (pki / "broker.pem").read_bytes())
    return grpc.ssl_server_credentials([pair], (pki / "ca.pem").read_bytes(), require_client_auth=True)


def test_over_mutual_tls(environment, noop, pki):
    async def scenario():
        async with ScriptedBroker(credentials=server_credentials(pki)) as broker:
            environment(
                BROKER_ADDR=f"127.0.0.1:{broker.port}",
                TLS_CERT_FILE=pki / "worker.pem",
                TLS_KEY_FILE=pki / "worker.key",
                BROKER_CA_FILE=pki / "ca.pem",
            )
            return await one_task(broker, noop())

    assert asyncio.run(scenario()) is None


def tls(pki, **changes):
    files = {"cert": pki / "worker.pem", "key": pki / "worker.key", "ca": pki / "ca.pem", **changes}
    return TlsFiles(**files, reload_seconds=0)


def test_a_key_that_belongs_to_another_certificate_is_refused_at_start(pki):
    with pytest.raises(SettingsError, match=r"TLS_CERT_FILE .* goes with"):
        tls(pki, key=pki / "broker.key").credentials()


def test_a_file_that_is_no_pem_is_refused_at_start(pki):
    (pki / "ca.pem").write_text("hello")
    with pytest.raises(SettingsError, match=r"BROKER_CA_FILE .* PEM"):
        tls(pki).credentials()


def test_rotated_files_are_taken_up_at_the_next_dial(pki):
    files = tls(pki)
    before = files.credentials()
    assert files.credentials() is before
    issued = trustme.CA().issue_cert("worker.example")
    issued.private_key_pem.write_to_path(pki / "worker.key")
    issued.cert_chain_pems[0].write_to_path(pki / "worker.pem")
    assert files.credentials() is not before


def test_a_rotation_seen_half_done_leaves_the_last_good_ones_in_use(pki, caplog):
    files = tls(pki)
    before = files.credentials()
    trustme.CA().issue_cert("worker.example").private_key_pem.write_to_path(pki / "worker.key")
    assert files.credentials() is before
    assert "not reloaded" in caplog.text


def test_without_an_address_nothing_starts(environment, noop):
    with pytest.raises(SettingsError, match="BROKER_ADDR is not set"):
        asyncio.run(stdworker.serve([noop()]))


def test_settings_without_a_broker_are_refused(noop):
    with pytest.raises(SettingsError, match="BROKER_ADDR"):
        asyncio.run(stdworker.serve([noop()], settings=WorkerSettings()))


def test_without_a_provider_nothing_starts(environment):
    environment(BROKER_ADDR="127.0.0.1:1")
    with pytest.raises(PluginError, match="no provider"):
        asyncio.run(stdworker.serve([]))


def test_two_providers_of_one_pair_are_refused_naming_both(environment, noop):
    environment(BROKER_ADDR="127.0.0.1:1")
    with pytest.raises(PluginError, match=r"thing@1 is served twice: by .*Noop and by .*Noop"):
        asyncio.run(stdworker.serve([noop(), noop()]))


def test_an_allow_list_with_an_unknown_kind_is_refused(environment, noop):
    environment(BROKER_ADDR="127.0.0.1:1", WORKER_KINDS="thing,thong")
    with pytest.raises(SettingsError, match=r"WORKER_KINDS .*thing@1.*thong"):
        asyncio.run(stdworker.serve([noop()]))


def test_pings_are_no_more_frequent_than_a_default_server_allows():
    options = dict(channel_options())
    assert options["grpc.keepalive_time_ms"] >= 10_000  # below, a channel asks for trouble
    assert "grpc.http2.max_pings_without_data" not in options  # 0 would ping an idle server too often
    assert options["grpc.keepalive_time_ms"] + options["grpc.http2.ping_timeout_ms"] <= 45_000
    assert options["grpc.keepalive_timeout_ms"] <= options["grpc.http2.ping_timeout_ms"]


def test_a_server_that_says_too_many_pings_is_pinged_less_often():
    dialer = Dialer(BrokerAddress("127.0.0.1:1"))
    dialer.note(Unreachable("unavailable: GOAWAY received; too_many_pings"))
    assert dialer._keepalive_seconds == KEEPALIVE_CAUTIOUS_SECONDS


def test_messages_may_have_512_mib_both_ways():
    options = dict(channel_options())
    assert options["grpc.max_receive_message_length"] == options["grpc.max_send_message_length"] == 512 * 1024 * 1024
