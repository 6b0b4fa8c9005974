"""Where the engine is, and what is said when something else is there."""

import shutil
import ssl
import subprocess
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread
from typing import ClassVar

import pytest
from click.testing import CliRunner

from stdworker.cli.conctl.commands import cli


class Other(BaseHTTPRequestHandler):
    """Answers, but is no engine."""

    def do_GET(self):
        if "manifests" in self.path:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'{"manifests":[]}')
        else:
            self.send_error(404, "Not here")

    def log_message(self, *_args):
        pass


@pytest.fixture
def other():
    with HTTPServer(("127.0.0.1", 0), Other) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture
def certificate(tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("makes its certificate with openssl, which is not there")
    words = "req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=x -addext"
    subprocess.run(
        ["openssl", *words.split(), "subjectAltName=IP:127.0.0.1"], cwd=tmp_path, check=True, capture_output=True
    )
    return tmp_path


@pytest.fixture
def secure(other, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    other.socket = context.wrap_socket(other.socket, server_side=True)
    return f"https://127.0.0.1:{other.server_port}"


def conctl(*words):
    return CliRunner().invoke(cli, words, prog_name="conctl")


def test_an_engine_that_is_not_there_is_named_with_how_to_start_one():
    done = conctl("--server", "http://127.0.0.1:1", "list")
    assert done.exit_code == 1
    assert "no engine answers at http://127.0.0.1:1: " in done.stderr
    assert "converge serve" in done.stderr


def test_a_password_in_the_address_of_an_engine_is_not_shown():
    done = conctl("--server", "http://ada:hunter2@127.0.0.1:1", "list")
    assert "no engine answers at http://***@127.0.0.1:1: " in done.stderr


@pytest.mark.parametrize("address", ["http://x/\udcff", "http://a:b", "http://[::1"])
def test_an_address_that_is_none_is_one_sentence(address):
    done = conctl("--server", address, "list")
    assert done.exit_code == 1
    assert "no engine answers at " in done.stderr


def test_something_else_that_answers_is_not_taken_for_an_engine(other):
    done = conctl("list", "--server", f"http://127.0.0.1:{other.server_port}")
    assert done.exit_code == 1
    assert "answered 404" in done.stderr


def test_a_certificate_that_nobody_vouches_for_is_refused(secure):
    done = conctl("list", "kinds", "--server", secure)
    assert done.exit_code == 1
    assert "CERTIFICATE_VERIFY_FAILED" in done.stderr


def test_a_certificate_is_trusted_by_its_authority_or_not_checked_at_all(secure, certificate):
    for words in (["--tls-ca", str(certificate / "cert.pem")], ["--insecure"]):
        assert conctl("list", "kinds", "--server", secure, *words).exit_code == 0


def test_trusting_one_authority_and_none_exclude_each_other(secure, certificate):
    done = conctl("list", "--server", secure, "--insecure", "--tls-ca", str(certificate / "cert.pem"))
    assert done.exit_code == 2


def test_a_key_that_is_none_is_one_sentence(secure, certificate):
    cert = str(certificate / "cert.pem")
    done = conctl("list", "--server", secure, "--tls-ca", cert, "--tls-cert", cert, "--tls-key", cert)
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: the TLS files can't be used: ")


def test_half_of_a_pair_of_certificate_and_key_names_the_other(secure, certificate):
    cert, words = str(certificate / "cert.pem"), ["list", "--server", secure]
    done = conctl(*words, "--tls-ca", cert, "--tls-key", str(certificate / "key.pem"))
    assert (done.exit_code, "--tls-key needs --tls-cert" in done.stderr) == (2, True)
    done = conctl(*words, "--tls-ca", cert, "--tls-cert", cert)
    assert (done.exit_code, "(no --tls-key is given)" in done.stderr) == (1, True)


# ---- who is hung up on without a word ----


class Rude(BaseHTTPRequestHandler):
    """Hangs up on whoever asks."""

    def do_GET(self):
        self.close_connection = True

    def log_message(self, *_args):
        pass


@pytest.fixture
def rude(other):
    other.RequestHandlerClass = Rude
    return other


def test_a_cut_connection_is_not_taken_for_tls(rude):
    done = conctl("--server", f"http://127.0.0.1:{rude.server_port}", "list")
    assert done.exit_code == 1
    assert "The connection was cut" in done.stderr
    assert "TLS" not in done.stderr


def test_a_place_that_speaks_tls_is_said_to(secure, certificate):
    done = conctl("--server", secure.replace("https", "http"), "list", "kinds")
    assert "It speaks TLS: try https://." in done.stderr


def test_a_cut_connection_of_tls_is_not_taken_for_the_wish_for_a_certificate(rude, secure):
    done = conctl("--server", secure, "--insecure", "list")
    assert "The connection was cut" in done.stderr
    assert "--tls-cert" not in done.stderr


def test_a_place_that_wants_a_certificate_is_said_to(other, certificate):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "cert.pem", certificate / "key.pem")
    context.load_verify_locations(certificate / "cert.pem")
    context.verify_mode = ssl.CERT_REQUIRED
    other.socket = context.wrap_socket(other.socket, server_side=True)
    done = conctl("--server", f"https://127.0.0.1:{other.server_port}", "--insecure", "list")
    assert "It wants to know who asks: --tls-cert and --tls-key." in done.stderr


class Busy(BaseHTTPRequestHandler):
    """Asks for patience some times, then answers."""

    answers: ClassVar[list[tuple[int, str | None]]] = []
    asked: ClassVar[list[str]] = []

    def do_GET(self):
        self.asked.append(self.path)
        status, after = self.answers.pop(0) if self.answers else (200, None)
        self.send_response(status)
        if after is not None:
            self.send_header("Retry-After", after)
        self.end_headers()
        self.wfile.write(b'{"manifests":[]}' if status == 200 else b"busy")

    do_POST = do_GET

    def log_message(self, *_args):
        pass


@pytest.fixture
def busy(monkeypatch):
    """The address of an engine that gives these answers first, and how long was slept."""
    slept = []
    monkeypatch.setattr("stdworker.cli.conctl.client.time.sleep", slept.append)

    def answering(*answers):
        Busy.answers, Busy.asked = list(answers), []
        return f"http://127.0.0.1:{server.server_port}", slept

    with HTTPServer(("127.0.0.1", 0), Busy) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield answering
        server.shutdown()
        thread.join()


def test_an_engine_that_asks_for_patience_is_asked_again_when_it_says(busy):
    address, slept = busy((429, "2"), (503, "3"), (429, None))
    done = conctl("--server", address, "list", "kinds")
    assert done.exit_code == 0
    assert slept == [2.0, 3.0, 1.0]
    assert "(the engine asks for patience; trying again in 2 s)" in done.stderr


def test_patience_ends_with_the_time_and_after_some_times(busy):
    address, slept = busy((429, "60"))
    done = conctl("--server", address, "list", "kinds")
    assert (done.exit_code, slept) == (1, [])
    address, slept = busy(*[(429, "0")] * 9)
    assert conctl("--server", address, "list", "kinds").exit_code == 1
    assert len(slept) == 5


def test_what_may_have_been_done_is_not_asked_for_again(busy):
    address, slept = busy((503, "1"))
    assert conctl("--server", address, "run", "leaf/a", "greet").exit_code == 1
    assert (slept, len(Busy.asked)) == ([], 1)


def test_a_503_that_says_nothing_of_later_is_told_at_once(busy):
    address, slept = busy((503, None))
    assert conctl("--server", address, "list", "kinds").exit_code == 1
    assert slept == []
