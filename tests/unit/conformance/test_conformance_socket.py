"""Programs that serve a socket: nothing is started, every case about what is said applies."""

import json
import subprocess
import sys

import pytest

from stdworker.testing import conformance

SERVER = """
import json, socketserver, sys
class Serve(socketserver.StreamRequestHandler):
    def handle(self):
        for line in self.rfile:
            request = json.loads(line)
            self.wfile.write((json.dumps({"id": request["id"], "status": %s}) + chr(10)).encode())
            %s
class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True
with Server(sys.argv[1], Serve) as server:
    print("listening", flush=True)
    server.serve_forever()
"""
SPECS = [{"name": "Ada"}]


@pytest.fixture
def serve(tmp_path):
    """Starts a server at a Unix socket; the launch config that leads to it."""
    started = []

    def start(status='request.get("spec")', afterwards="pass"):
        path = tmp_path / "socket"
        command = [sys.executable, "-c", SERVER % (status, afterwards), str(path)]
        started.append(subprocess.Popen(command, stdout=subprocess.PIPE))
        assert started[-1].stdout.readline() == b"listening\n"
        return {"mode": "socket", "socket": f"unix:{path}", "grace_seconds": 1, "concurrency": 4}

    yield start
    for server in started:
        server.kill()
        server.communicate()


def check(config, **options):
    return conformance.check("/nonexistent/sidecar", config=config, specs=SPECS, timeout_seconds=3.0, **options)


def verdicts(report):
    return {result.case.id: str(result.verdict) for result in report.results if result.verdict in ("warn", "fail")}


def test_a_server_that_keeps_the_contract_passes_what_is_about_talking(serve):
    report = check(serve())

    assert verdicts(report) == {}
    assert report.verdict_of("concurrency") == report.verdict_of("end-of-input") == "pass"
    assert {"sigterm", "environment", "start-time"}.isdisjoint(result.case.id for result in report.results)


def test_a_server_that_hangs_up_after_each_answer_is_told_so(serve):
    report = check(serve(afterwards="return"))

    assert verdicts(report) == {"next-request": "fail", "concurrency": "fail"}


def test_a_server_that_changes_numbers_is_told_so(serve):
    report = check(serve(status='json.loads(json.dumps(request.get("spec")), parse_int=float)'))

    assert verdicts(report) == {"numbers": "fail"}


def test_an_address_where_nobody_listens_is_named(tmp_path):
    report = check({"mode": "socket", "socket": f"unix:{tmp_path}/nobody"})

    assert verdicts(report) == {"start": "fail"}
    assert f"can't connect to unix:{tmp_path}/nobody" in report.failures[0].message
    assert json.dumps(conformance.as_document(report))
