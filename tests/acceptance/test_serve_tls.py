"""Both listeners with TLS: who is let in, what the audit calls them, and certificates that are replaced."""

from __future__ import annotations

import asyncio
import os
import ssl
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import grpc
import httpx
import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from stdworker.wire.generated import worker_pb2 as pb
from stdworker.wire.service import WorkerClient

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent
HANG_SECONDS = 30
ADA, BOB, EVE = "spiffe://example.org/people/ada", "spiffe://example.org/workers/bob", "spiffe://example.net/eve"
MANIFEST = {
    "kind": "leaf",
    "kind_version": 1,
    "reactions": [{"name": "work", "trigger": "specChange", "emits": ["status", "conditions"]}],
}


class Pki:
    """An authority, and what it signed as files of a folder: NAME.pem and NAME.key."""

    def __init__(self, folder):
        self.folder = folder
        self.authority = trustme.CA()
        self.authority.cert_pem.write_to_path(folder / "ca.pem")
        self.serve("server")

    def serve(self, name):
        issued = self.authority.issue_cert("localhost", "127.0.0.1")
        issued.private_key_pem.write_to_path(self.folder / f"{name}.key")
        (self.folder / f"{name}.pem").write_bytes(b"".join(pem.bytes() for pem in issued.cert_chain_pems))

    def issue(self, name, *uris):
        """A client's certificate with these URIs, its subject called NAME; trustme can't."""
        key = ec.generate_private_key(ec.SECP256R1())
        signer = serialization.load_pem_private_key(self.authority.private_key_pem.bytes(), None)
        now = datetime.now(UTC)
        builder = x509.CertificateBuilder(
            x509.load_pem_x509_certificate(self.authority.cert_pem.bytes()).subject,
            x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)]),
            key.public_key(),
            x509.random_serial_number(),
            now - timedelta(hours=1),
            now + timedelta(hours=1),
        )
        if uris:
            names = x509.SubjectAlternativeName([x509.UniformResourceIdentifier(uri) for uri in uris])
            builder = builder.add_extension(names, critical=False)
        pem, text = serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8
        (self.folder / f"{name}.pem").write_bytes(builder.sign(signer, hashes.SHA256()).public_bytes(pem))
        (self.folder / f"{name}.key").write_bytes(key.private_bytes(pem, text, serialization.NoEncryption()))

    def path(self, name):
        return str(self.folder / name)

    def context(self, name=None):
        context = ssl.create_default_context(cafile=self.path("ca.pem"))
        if name:
            context.load_cert_chain(self.path(f"{name}.pem"), self.path(f"{name}.key"))
        return context

    def settings(self, **more):
        files = {"TLS_CERT_FILE": "server.pem", "TLS_KEY_FILE": "server.key", "TLS_CLIENT_CA_FILE": "ca.pem"}
        return {variable: self.path(name) for variable, name in files.items()} | more


@pytest.fixture
def pki(tmp_path):
    made = Pki(tmp_path)
    made.issue("ada", ADA)
    made.issue("bob", BOB)
    made.issue("eve", EVE)
    made.issue("carl")
    return made


def rest(engine, pki, name=None):
    return httpx.Client(base_url=f"{engine.rest}/api/v1", verify=pki.context(name), timeout=HANG_SECONDS)


def pull_config(engine, pki, name):
    """What a worker of this name is answered by the broker."""

    async def call():
        read = [(pki.folder / f).read_bytes() for f in ("ca.pem", f"{name}.key", f"{name}.pem")]
        options = [("grpc.use_local_subchannel_pool", 1)]
        target = engine.broker.removeprefix("https://")
        async with grpc.aio.secure_channel(target, grpc.ssl_channel_credentials(*read), options=options) as channel:
            client = WorkerClient(channel)
            try:
                await client.get_provider_config(pb.GetProviderConfigRequest(kinds=["leaf"]), timeout=HANG_SECONDS)
                stream = client.work_stream()
                await asyncio.wait_for(stream.initial_metadata(), HANG_SECONDS)
                stream.cancel()
                await asyncio.wait_for(stream.code(), HANG_SECONDS)  # else its end comes to a loop that is closed
            except grpc.aio.AioRpcError as error:
                return error.code()
            return grpc.StatusCode.OK

    return asyncio.run(call())


def test_a_certificate_is_who_did_it(serve, pki):
    engine = serve(**pki.settings())
    assert engine.rest.startswith("https://")
    with rest(engine, pki, "ada") as ada, rest(engine, pki, "carl") as carl:
        ada.put("/kinds/leaf/manifest", json=MANIFEST).raise_for_status()
        carl.post("/resources", json={"kind": "leaf", "kind_version": 1, "name": "a"}).raise_for_status()
        told = [(entry["actor"], entry["type"]) for entry in carl.get("/audit").json()["audit"]]
    assert told == [("CN=carl", "Created"), (ADA, "KindPublished")]
    assert "without mutual TLS" not in engine.output


def test_whoever_shows_no_certificate_is_not_spoken_to(serve, pki):
    engine = serve(**pki.settings())
    with rest(engine, pki) as stranger, pytest.raises(httpx.TransportError):
        stranger.get("/version")
    plain = engine.rest.replace("https://", "http://")
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{plain}/livez", timeout=HANG_SECONDS)


def test_only_the_ids_that_are_listed_use_rest_and_probes_need_none(serve, pki):
    engine = serve(**pki.settings(API_AUTHZ_SPIFFE_IDS="spiffe://example.org/people/*"))
    with rest(engine, pki, "ada") as ada:
        assert ada.get("/version").status_code == 200
    for name in ("bob", "carl"):
        with rest(engine, pki, name) as other:
            refused = other.get("/version")
            assert (refused.status_code, refused.json()["type"]) == (403, "urn:converge:problem:not_allowed")
            assert other.get(f"{engine.rest}/livez").status_code == 200


def test_probes_at_an_address_of_their_own_are_asked_for_without_a_certificate(serve, pki):
    engine = serve(**pki.settings(HEALTH_ADDR="127.0.0.1:0"))
    with httpx.Client(base_url=engine.said(r", probes on (http:\S+),")[1], timeout=HANG_SECONDS) as kubelet:
        for path, status in (("/livez", 200), ("/readyz", 200), ("/metrics", 200), ("/api/v1/version", 404)):
            assert (path, kubelet.get(path).status_code) == (path, status)


def test_only_the_ids_that_are_listed_work(serve, pki):
    engine = serve(**pki.settings(WORKER_AUTHZ_SPIFFE_IDS=f"{BOB},spiffe://example.org/other"))
    assert engine.broker.startswith("https://")
    assert pull_config(engine, pki, "bob") is grpc.StatusCode.OK
    assert pull_config(engine, pki, "ada") is grpc.StatusCode.PERMISSION_DENIED
    engine.said("turned away a worker at ipv4:127.0.0.1")


def test_a_worker_and_conctl_find_their_way_in(serve, pki):
    engine = serve(**pki.settings())
    variables = {"TLS_CERT_FILE": "bob.pem", "TLS_KEY_FILE": "bob.key", "BROKER_CA_FILE": "ca.pem"}
    environment = os.environ | {name: pki.path(file) for name, file in variables.items()}
    worker = subprocess.Popen(
        [BIN / "stdworker", "run"],
        env=environment | {"BROKER_ADDR": engine.broker, "STDIO_KINDS": "leaf"},
        stderr=subprocess.PIPE,
        text=True,
    )
    with worker:
        try:
            assert any("connected to" in line for line in worker.stderr)
        finally:
            worker.kill()
    flags = ["--tls-cert", pki.path("ada.pem"), "--tls-key", pki.path("ada.key"), "--tls-ca", pki.path("ca.pem")]
    command = [BIN / "conctl", "--server", engine.rest, *flags, "cluster"]
    assert subprocess.run(command, check=True, capture_output=True, timeout=HANG_SECONDS).stdout


def test_conctl_without_what_the_listener_asks_for_is_told_what_that_is(serve, pki):
    engine = serve(**pki.settings())
    for address, advice in ((engine.rest, "--tls-cert and --tls-key"), (f"http{engine.rest[5:]}", "try https://")):
        command = [BIN / "conctl", "--server", address, "--tls-ca", pki.path("ca.pem"), "cluster"]
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=HANG_SECONDS)
        assert (done.returncode, advice in done.stderr) == (1, True), done.stderr


def test_replaced_certificates_are_used_from_the_next_connection_on(serve, pki):
    engine = serve(**pki.settings())
    with rest(engine, pki, "ada") as ada:
        assert ada.get("/version").status_code == 200
    (pki.folder / "server.pem").write_text("half a rotation")
    with rest(engine, pki, "ada") as ada:
        assert ada.get("/version").status_code == 200
    engine.said("the TLS files are not reloaded")
    pki.authority = trustme.CA()
    pki.authority.cert_pem.write_to_path(pki.path("ca.pem"))
    pki.serve("server")
    with rest(engine, pki, "ada") as old, pytest.raises(httpx.TransportError):
        old.get("/version")
    assert pull_config(engine, pki, "ada") is grpc.StatusCode.UNAVAILABLE
    pki.issue("ada", ADA)
    with rest(engine, pki, "ada") as ada:
        assert ada.get("/version").status_code == 200
    assert pull_config(engine, pki, "ada") is grpc.StatusCode.OK


def test_beyond_this_machine_without_mutual_tls_is_said_loudly(serve, pki):
    engine = serve(LISTEN_ADDR=":0")
    engine.said("WARN.*REST listens beyond this machine without mutual TLS")
    assert "the broker listens beyond" not in engine.output
