"""`stdworker doctor`: each thing that can be wrong is found, named, and told what to do about."""

import contextlib
import datetime
import resource
import socket
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
import trustme

from stdworker.cli.doctor import broker as doctor_broker
from stdworker.cli.doctor import kinds as doctor_kinds
from stdworker.cli.doctor import place as doctor_place
from stdworker.cli.doctor.finding import Level
from stdworker.model.kind import KindVersion
from stdworker.model.settings import WorkerSettings
from stdworker.wire.generated import worker_pb2 as pb
from stdworker.wire.service import service_handler

MIB = 1 << 20


def levels(findings):
    return [(finding.about, finding.level.value) for finding in findings]


def worst(findings):
    return max((finding for finding in findings), key=lambda finding: list(Level).index(finding.level))


# ---- the place ----


def test_nothing_is_wrong_with_the_place_where_the_tests_run():
    problems = [f for f in doctor_place.look_around({"PATH": "/usr/bin:/bin"}) if f.level is Level.PROBLEM]

    assert problems == []


def test_messages_that_this_protobuf_cannot_load_are_a_problem(monkeypatch):
    import stdworker.wire.generated

    monkeypatch.delattr(stdworker.wire.generated, "worker_pb2", raising=False)
    monkeypatch.setitem(sys.modules, "stdworker.wire.generated.worker_pb2", None)

    found = doctor_place.wire()

    assert found.level is Level.PROBLEM
    assert "pip install" in found.advice


def test_a_library_that_is_missing_is_a_problem(monkeypatch):
    monkeypatch.setattr(doctor_place, "LIBRARIES", ("no-such-library",))

    assert doctor_place.libraries().level is Level.PROBLEM


def test_a_place_where_no_program_can_be_started_is_a_problem(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/such/python")

    assert doctor_place.trial().level is Level.PROBLEM


def test_few_open_files_are_warned_of(monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 4_096))

    found = doctor_place.open_files()

    assert (found.level, found.advice) == (Level.WARNING, "ulimit -n 4096")


def test_fork_handlers_of_grpc_are_a_problem_beside_programs():
    assert doctor_place.fork_support({"GRPC_ENABLE_FORK_SUPPORT": "1"}).level is Level.PROBLEM
    assert doctor_place.fork_support({"GRPC_ENABLE_FORK_SUPPORT": "0"}).level is Level.OK


@pytest.mark.parametrize(
    ("cmdline", "level"),
    [
        (b"/bin/sh\0-c\0stdworker run\0", Level.WARNING),
        (b"bash\0-lc\0stdworker\0", Level.OK),
        (b"busybox\0sh\0-c\0stdworker\0", Level.WARNING),
        (b"/sbin/init\0", Level.OK),
        (b"/usr/bin/tini\0--\0stdworker\0", Level.OK),
    ],
)
def test_a_shell_as_pid_1_is_warned_of_because_it_keeps_sigterm(tmp_path, cmdline, level):
    (tmp_path / "1").mkdir()
    (tmp_path / "1/cmdline").write_bytes(cmdline)

    found = doctor_place.first_process(4711, tmp_path)

    assert found.level is level
    assert ("exec" in found.advice) == (level is Level.WARNING)


def test_being_pid_1_is_fine():
    assert doctor_place.first_process(1).level is Level.OK


@pytest.fixture
def cgroup(tmp_path):
    """Limits of the group /a/b and of /a above it."""

    def make(own, above=None):
        for folder, limits in (("a/b", own), ("a", above or {})):
            (tmp_path / folder).mkdir(parents=True, exist_ok=True)
            for name, value in limits.items():
                (tmp_path / folder / name).write_text(f"{value}\n")
        (tmp_path / "own").write_text("0::/a/b\n")
        return {finding.about: finding for finding in doctor_place.cgroup_limits(tmp_path, tmp_path / "own")}

    return make


def test_roomy_control_groups_are_fine(cgroup):
    found = cgroup({"pids.max": "max", "pids.current": 7, "memory.max": 512 * MIB})

    assert {finding.level for finding in found.values()} == {Level.OK}
    assert "512 MiB" in found["memory"].message


def test_few_processes_left_and_little_memory_are_warned_of(cgroup):
    found = cgroup({"pids.max": 100, "pids.current": 40, "memory.max": 64 * MIB})

    assert found["processes"].level is Level.WARNING
    assert "60 more" in found["processes"].message
    assert found["memory"].level is Level.WARNING


def test_the_tightest_limit_above_counts(cgroup):
    found = cgroup({"memory.max": "max"}, {"memory.max": 100 * MIB})

    assert "100 MiB" in found["memory"].message


@pytest.mark.parametrize(
    ("variables", "level"),
    [
        ({}, Level.OK),
        ({"LANG": "de_DE.UTF-8"}, Level.OK),
        ({"LC_ALL": "C.utf8", "LANG": "C"}, Level.OK),
        ({"LANG": "C"}, Level.WARNING),
        ({"LC_ALL": "POSIX", "LANG": "C.UTF-8"}, Level.WARNING),
    ],
)
def test_a_locale_that_is_not_utf_8_is_warned_of(variables, level):
    assert doctor_place.locale(variables).level is level


def test_a_clock_before_the_installation_is_a_problem():
    assert doctor_place.clock(lambda: 0.0).level is Level.PROBLEM
    assert doctor_place.clock().level is Level.OK


def test_the_folder_for_temporary_files_is_the_one_that_programs_take(tmp_path):
    fine = doctor_place.temporary_files({"TMPDIR": str(tmp_path)})
    missing = doctor_place.temporary_files({"TMPDIR": f"{tmp_path}/gone"})

    assert (fine.level, fine.message) == (Level.OK, f"{tmp_path} can be written")
    assert missing.level is Level.WARNING
    assert f"{tmp_path}/gone" in missing.message


def test_without_tmpdir_temporary_files_go_to_tmp():
    assert doctor_place.temporary_files({}).message.startswith("/tmp")


# ---- settings and kinds ----


def test_every_setting_that_is_wrong_is_named_not_only_the_first():
    variables = {"BROKER_ADDR": "ftp://u:pw1@x", "WORKER_MAX_PARALLEL": "many", "HEALTH_ADDR": "8080", "LOG_LEVEL": ""}

    settings, found = doctor_kinds.read_settings(variables)

    assert settings is not None
    assert {finding.level for finding in found} == {Level.PROBLEM}
    told = " ".join(finding.message for finding in found)
    assert all(name in told for name in variables)
    assert "pw1" not in told


def test_no_broker_is_a_warning_because_programs_can_be_tried_without():
    settings, found = doctor_kinds.read_settings({})

    assert settings is not None
    assert levels(found) == [("settings", "warning")]


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("WORKER_MAX_PARALEL", "WORKER_MAX_PARALLEL"),
        ("BROKER_ADDRESS", "BROKER_ADDR"),
        ("STDWORKER_KIND_PATH", "STDWORKER_KINDS_PATH"),
    ],
)
def test_a_variable_that_is_almost_a_setting_is_a_warning(name, meant):
    _, found = doctor_kinds.read_settings({name: "3"})

    [told] = [finding for finding in found if name in finding.message]
    assert (told.level, told.message, told.advice) == (Level.WARNING, f"{name} is no setting", f"did you mean {meant}?")


def test_variables_of_other_software_and_of_the_engine_are_none_of_our_business():
    others = (
        "SSL_CERT_FILE",
        "TLS_CA_FILE",
        "BROKER_ADDR_LISTEN",
        "LISTEN_ADDR",
        "CONVERGE_SERVER",
        "BROKER_PORT",
        "LOGNAME",
    )

    _, found = doctor_kinds.read_settings({"BROKER_ADDR": "http://x:1"} | dict.fromkeys(others, "x"))

    assert levels(found) == [("settings", "ok")]


def test_a_certificate_without_its_key_is_a_problem(tmp_path):
    (tmp_path / "cert.pem").write_text("")
    variables = {"BROKER_ADDR": "https://x:1", "TLS_CERT_FILE": str(tmp_path / "cert.pem")}

    _, found = doctor_kinds.read_settings(variables)

    assert levels(found) == [("settings", "problem")]
    assert "TLS_KEY_FILE" in found[0].message


@pytest.fixture
def kinds(tmp_path):
    """Looks at the kinds of the test's folder."""

    def look(path="/usr/bin:/bin", **settings):
        variables = {"PATH": path}
        with_folder = WorkerSettings(kinds_path=(tmp_path,), **settings)
        return [f for f in doctor_kinds.look_at_kinds(with_folder, variables) if f.about != "plugins"]

    return look


def write(path: Path, text: str, mode: int = 0o755) -> None:
    path.write_text(text)
    path.chmod(mode)


def test_a_kind_whose_program_can_be_started_is_fine(kinds, tmp_path):
    write(tmp_path / "stdworker-kind-leaf@2", "#!/bin/sh\n")

    (found,) = kinds()

    assert (found.about, found.level, found.message) == (
        "kind leaf@2",
        Level.OK,
        str(tmp_path / "stdworker-kind-leaf@2"),
    )


@pytest.mark.parametrize(
    ("text", "mode", "told"),
    [
        ("#!/bin/sh\n", 0o644, "not an executable file"),
        ("echo\n", 0o755, "no #! line"),
        ("#!/opt/no/such/interpreter\n", 0o755, "/opt/no/such/interpreter"),
        ("#!/bin/sh\r\n", 0o755, "carriage return"),
        ("#!/usr/bin/env no-such-interpreter\n", 0o755, "run by no-such-interpreter, which is not on"),
    ],
)
def test_a_program_that_cannot_be_started_is_a_problem(kinds, tmp_path, text, mode, told):
    write(tmp_path / "stdworker-kind-leaf", text, mode)

    found = worst(kinds())

    assert found.level is Level.PROBLEM
    assert told in f"{found.message} {found.advice}"


def test_an_illegal_kind_file_and_an_illegal_launch_config_are_problems(kinds, tmp_path):
    write(tmp_path / "leaf", "#!/bin/sh\n")
    write(tmp_path / "twig", "#!/bin/sh\n")
    write(tmp_path / "leaf.kind.yaml", "kind: leaf\n")
    write(tmp_path / "twig.kind.yaml", "{kind: twig, kind_version: 1, reactions: [], default_config: {timeout: 5}}")

    found = {finding.level: finding.message for finding in kinds()}

    assert set(found) == {Level.PROBLEM}
    told = " ".join(finding.message for finding in kinds())
    assert "kind_version" in told
    assert "unknown key 'timeout'" in told


def test_a_program_that_another_hides_is_warned_of(kinds, tmp_path):
    later = tmp_path / "later"
    later.mkdir()
    write(tmp_path / "stdworker-kind-leaf", "#!/bin/sh\n")
    write(later / "stdworker-kind-leaf", "#!/bin/sh\n")

    found = kinds(path=f"{later}:/usr/bin:/bin")

    assert levels(found) == [("kind leaf@1", "warning"), ("kind leaf@1", "ok")]
    assert str(later) in found[0].message


def test_a_folder_that_is_not_there_is_warned_of(tmp_path):
    settings = WorkerSettings(kinds_path=(tmp_path / "nowhere",))

    found = [f for f in doctor_kinds.look_at_kinds(settings, {"PATH": "/bin"}) if f.about == "kinds"]

    assert levels(found) == [("kinds", "warning")]


def test_what_is_wrong_with_a_kind_is_told_once_and_not_as_a_plugin_s_fault_too(tmp_path, monkeypatch):
    (tmp_path / "bad.kind.json").write_text("{}")
    monkeypatch.setenv("PATH", "/bin")
    settings = WorkerSettings(kinds_path=(tmp_path, tmp_path / "nowhere"))

    found = list(doctor_kinds.look_at_kinds(settings, {"PATH": "/bin"}))

    assert [(f.about, f.level.value) for f in found if f.level is not Level.OK] == [
        ("kinds", "warning"),
        ("kinds", "problem"),
    ]


def test_two_that_serve_one_kind_are_a_problem_and_both_are_named(kinds, tmp_path):
    write(tmp_path / "stdworker-kind-leaf", "#!/bin/sh\n")

    found = worst(kinds(stdio_kinds=(KindVersion("leaf"),)))

    assert found.level is Level.PROBLEM
    assert "leaf@1 is served twice" in found.message
    assert str(tmp_path) in found.message


def test_a_kind_that_nobody_serves_is_a_problem(kinds):
    assert worst(kinds(kinds=("ghost",))).level is Level.PROBLEM


# ---- the broker ----


@pytest.fixture
def broker():
    """Starts a gRPC server, with TLS if given credentials; answers its port."""
    with contextlib.ExitStack() as stack:

        def start(credentials=None, handler=None, status=None):
            server = grpc.server(stack.enter_context(ThreadPoolExecutor(2)))

            def configs(request, context):
                if status is not None:
                    context.abort(status, "no")
                return pb.GetProviderConfigResponse()

            if handler is not False:
                server.add_generic_rpc_handlers((service_handler(lambda requests, context: iter(()), configs),))
            if credentials is None:
                port = server.add_insecure_port("127.0.0.1:0")
            else:
                port = server.add_secure_port("127.0.0.1:0", credentials)
            server.start()
            stack.callback(lambda: server.stop(None).wait())
            return port

        yield start


def look(port, **settings):
    from stdworker.model.settings import BrokerAddress

    scheme = "https" if settings.pop("tls", False) else "http"
    host = settings.pop("host", "127.0.0.1")
    address = BrokerAddress.parse(f"{scheme}://{host}:{port}")
    return doctor_broker.look_at_broker(WorkerSettings(broker=address, **settings))


def test_a_broker_that_answers_is_fine(broker):
    assert levels(look(broker())) == [("broker connection", "ok"), ("broker", "ok")]


@pytest.mark.parametrize("host", ["no-such-host.invalid", "no..host", "y" * 300])
def test_a_name_that_is_not_known_is_a_problem(host):
    assert levels(look(1, host=host)) == [("broker name", "problem")]


def test_nobody_listening_is_a_problem():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]

    assert levels(look(port)) == [("broker connection", "problem")]


def test_a_server_that_speaks_no_grpc_is_a_problem(monkeypatch):
    monkeypatch.setattr(doctor_broker, "STEP_SECONDS", 1.0)
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection:
                        connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        found = look(server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)

    assert levels(found) == [("broker connection", "ok"), ("broker", "problem")]
    assert "REST port" in found[-1].advice


def test_another_grpc_service_is_a_problem(broker):
    found = look(broker(handler=False))

    assert levels(found) == [("broker connection", "ok"), ("broker", "problem")]
    assert "no broker" in found[-1].message


def test_a_broker_that_refuses_this_worker_is_a_problem(broker):
    assert look(broker(status=grpc.StatusCode.PERMISSION_DENIED))[-1].level is Level.PROBLEM


def test_a_broker_that_dislikes_the_empty_question_is_a_broker(broker):
    assert look(broker(status=grpc.StatusCode.INVALID_ARGUMENT))[-1].level is Level.OK


@pytest.fixture
def authority(tmp_path):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    return authority


def credentials(certificate):
    key = certificate.private_key_pem.bytes()
    return grpc.ssl_server_credentials([(key, b"".join(pem.bytes() for pem in certificate.cert_chain_pems))])


def in_days(days):
    return datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=days)


@pytest.mark.parametrize(("days", "level"), [(90, "ok"), (3, "warning")])
def test_a_certificate_is_judged_by_the_days_that_are_left(broker, authority, tmp_path, days, level):
    certificate = authority.issue_cert("127.0.0.1", not_after=in_days(days))

    found = look(broker(credentials(certificate)), tls=True, broker_ca_file=tmp_path / "ca.pem")

    assert levels(found) == [("broker connection", "ok"), ("broker TLS", level), ("broker", "ok")]


@pytest.mark.parametrize(
    ("name", "days", "told"), [("127.0.0.1", -1, "expired"), ("elsewhere.example", 90, "IP address mismatch")]
)
def test_a_certificate_that_cannot_be_trusted_is_a_problem(broker, authority, tmp_path, name, days, told):
    certificate = authority.issue_cert(name, not_before=in_days(-9), not_after=in_days(days))

    found = look(broker(credentials(certificate)), tls=True, broker_ca_file=tmp_path / "ca.pem")

    assert levels(found) == [("broker connection", "ok"), ("broker TLS", "problem")]
    assert told in found[-1].message


def test_an_authority_that_nobody_knows_is_a_problem(broker, authority):
    found = look(broker(credentials(authority.issue_cert("127.0.0.1"))), tls=True)

    assert levels(found)[-1] == ("broker TLS", "problem")
    assert "BROKER_CA_FILE" in found[-1].advice


def test_no_tls_where_it_is_spoken_is_a_problem(broker, authority):
    found = look(broker(credentials(authority.issue_cert("127.0.0.1"))))

    assert levels(found)[-1] == ("broker", "problem")
    assert "https://" in found[-1].advice


def test_tls_where_none_is_spoken_is_a_problem(broker):
    assert levels(look(broker(), tls=True))[-1] == ("broker TLS", "problem")


@pytest.fixture
def mutual(broker, authority, tmp_path):
    """A broker that wants to see a worker's certificate; answers the settings that reach it with one."""
    certificate, own = authority.issue_cert("127.0.0.1"), authority.issue_cert("worker")
    pair = (certificate.private_key_pem.bytes(), certificate.cert_chain_pems[0].bytes())
    port = broker(grpc.ssl_server_credentials([pair], authority.cert_pem.bytes(), require_client_auth=True))
    own.private_key_pem.write_to_path(tmp_path / "key.pem")
    own.cert_chain_pems[0].write_to_path(tmp_path / "own.pem")
    return {
        "port": port,
        "tls": True,
        "broker_ca_file": tmp_path / "ca.pem",
        "tls_cert_file": tmp_path / "own.pem",
        "tls_key_file": tmp_path / "key.pem",
    }


def test_a_broker_that_wants_our_certificate_and_gets_it_is_fine(mutual):
    assert [level for _, level in levels(look(**mutual))] == ["ok"] * 4


def test_a_broker_that_wants_our_certificate_and_gets_none_is_a_problem(mutual):
    del mutual["tls_cert_file"], mutual["tls_key_file"]

    found = look(**mutual)

    assert found[-1].level is Level.PROBLEM
    assert "TLS_CERT_FILE" in found[-1].advice


def test_a_key_that_does_not_go_with_our_certificate_is_a_problem(mutual, authority, tmp_path):
    authority.issue_cert("other").private_key_pem.write_to_path(tmp_path / "key.pem")

    assert levels(look(**mutual))[-1] == ("broker TLS", "problem")


@pytest.mark.parametrize(
    ("first", "last", "level"), [(-9, 90, "ok"), (-9, 3, "warning"), (-9, -1, "problem"), (2, 90, "problem")]
)
def test_our_own_certificate_is_judged_by_its_dates(authority, tmp_path, first, last, level):
    certificate = authority.issue_cert("worker", not_before=in_days(first), not_after=in_days(last))
    certificate.cert_chain_pems[0].write_to_path(tmp_path / "own.pem")

    assert doctor_broker.own_certificate(tmp_path / "own.pem").level.value == level


@pytest.mark.parametrize("text", ["", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "nonsense"])
def test_a_file_that_is_no_certificate_is_a_problem(tmp_path, text):
    (tmp_path / "own.pem").write_text(text)

    assert doctor_broker.own_certificate(tmp_path / "own.pem").level is Level.PROBLEM


def test_a_broker_on_a_unix_socket_that_is_not_there_is_a_problem(tmp_path):
    from stdworker.model.settings import BrokerAddress

    address = BrokerAddress.parse(f"unix://{tmp_path}/broker.sock")

    assert levels(doctor_broker.look_at_broker(WorkerSettings(broker=address))) == [("broker connection", "problem")]


# ---- our own probes ----


def test_a_free_health_address_is_fine_and_a_taken_one_a_problem(monkeypatch):
    monkeypatch.setattr(doctor_broker, "STEP_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        (held,) = doctor_broker.look_at_health_address(("127.0.0.1", port))
    (free,) = doctor_broker.look_at_health_address(("127.0.0.1", port))

    assert (held.level, free.level) == (Level.PROBLEM, Level.OK)
