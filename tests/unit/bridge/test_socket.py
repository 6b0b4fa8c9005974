"""Programs that run by themselves and serve a socket: one contract with stream programs, another way to fail."""

import asyncio
import json
import logging
import os
import random
import socket
from pathlib import Path

import pytest

from stdworker.bridge import socket_connection, supervision
from stdworker.errors import Released, Retry, Terminal

pytestmark = pytest.mark.anyio


class Sidecar:
    """A program that serves a socket; the spec tells it what to do."""

    def __init__(self):
        self.hello = b""
        self.address = ""
        self.told = []
        self.ends = []  # what the host did to a connection: "half-closed"
        self.held = []
        self.stays = False
        self._writers = set()
        self._server = None
        self._connections = 0

    async def listen(self, address):
        self.address = address
        scheme, _, place = address.partition(":")
        if scheme == "unix":
            self._server = await asyncio.start_unix_server(self._serve, place)
        else:
            host, _, port = place.rpartition(":")
            self._server = await asyncio.start_server(self._serve, host.strip("[]"), int(port))
            self.address = f"tcp:{host}:{self._server.sockets[0].getsockname()[1]}"
        return self.address

    async def go_away(self):
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in list(self._writers):
            writer.transport.abort()
        while self._writers:
            await asyncio.sleep(0)
        if self.address.startswith("unix:"):
            Path(self.address[5:]).unlink(missing_ok=True)

    @property
    def connections(self):
        return len(self._writers)

    async def _serve(self, reader, writer):
        self._connections += 1
        number = self._connections
        self._writers.add(writer)
        writer.write(self.hello)
        try:
            while line := await reader.readline():
                self._on_line(number, line, writer)
            self.ends.append("half-closed")
            writer.write(b'{"log":"last words"}\n')
            while self.stays:
                await asyncio.sleep(0.01)
        except OSError:
            pass
        finally:
            writer.close()
            self._writers.discard(writer)

    def _on_line(self, number, line, writer):
        request = json.loads(line)
        if "protocol" not in request:
            self.told.append(request)
            return
        answer = {"id": request["id"], "status": {"connection": number, "config": request.get("config")}}
        match request.get("spec"):
            case "hold":
                self.held.append((writer, answer))
            case "drop":
                writer.transport.abort()
            case {"say": text}:
                writer.write(text.replace("ID", request["id"]).encode())
            case _:
                writer.write(json.dumps(answer).encode() + b"\n")


@pytest.fixture
async def sidecar(mark):
    sidecar = Sidecar()
    yield sidecar
    sidecar.stays = False
    await sidecar.go_away()


@pytest.fixture
def address(tmp_path):
    return f"unix:{tmp_path}/s"


def to(address, **config):
    return {"mode": "socket", "socket": address, **config}


async def connection(program, *arguments, **fields):
    return json.loads(await program.status(*arguments, **fields))["connection"]


# ---- one contract ----


def has_ipv6():
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    "place",
    [
        "unix:{folder}/s",
        "tcp:127.0.0.1:0",
        "tcp:localhost:0",
        pytest.param("tcp:[::1]:0", marks=pytest.mark.skipif(not has_ipv6(), reason="no IPv6 on this host")),
    ],
)
async def test_a_program_is_asked_over_its_socket(provide, sidecar, tmp_path, place):
    address = await sidecar.listen(place.format(folder=tmp_path))
    program = await provide(**to(address, settings={"a": 1}))

    assert json.loads(await program.status()) == {"connection": 1, "config": {"a": 1}}
    assert await connection(program) == 1


async def test_there_is_a_connection_for_each_slot_and_requests_are_pipelined(provide, sidecar, address, until):
    await sidecar.listen(address)
    program = await provide(**to(address, processes=2, concurrency=3))

    tasks = [asyncio.ensure_future(program.run(b'"hold"', name=f"r{n}")) for n in range(6)]
    await until(lambda: len(sidecar.held) == 6)

    assert program.provider.credit == 6
    assert sorted(answer["status"]["connection"] for _, answer in sidecar.held) == [1, 1, 1, 2, 2, 2]
    for writer, answer in reversed(sidecar.held):
        writer.write(json.dumps(answer).encode() + b"\n")
    assert all(result.failure is None for result in await asyncio.gather(*tasks))


async def test_notices_count_as_everywhere(provide, sidecar, address, caplog):
    caplog.set_level(logging.INFO, "stdworker.program")
    await sidecar.listen(address)
    program = await provide(**to(address))
    seen = []
    text = '{"log":{"level":"error","message":"hm"}}\n{"progress":{"fraction":0.5}}\nstray\n{"id":"ID"}\n'

    def note(fraction, message):
        seen.append(fraction)

    spec = json.dumps({"say": text}).encode()
    result = await program.run(spec, report_progress=note)

    assert (seen, result.stray_lines) == ([0.5], 1)
    assert ("stdworker.program", logging.ERROR, "greeter/ada: hm") in caplog.record_tuples


async def test_a_line_over_the_limit_is_named_and_the_connection_goes_on(provide, sidecar, address):
    await sidecar.listen(address)
    program = await provide(**to(address, limits={"line_bytes": 1_000}))
    long = json.dumps({"say": '{"id":"ID","status":"' + "x" * 2_000 + '"}\n'}).encode()

    failure = (await program.run(long)).failure

    assert (type(failure), failure.code) == (Terminal, "line_too_long")
    assert await connection(program) == 1


async def test_strict_and_floods_count_as_everywhere(provide, sidecar, address, until):
    await sidecar.listen(address)
    program = await provide(**to(address, strict=True, limits={"stdout_bytes": 1_000}))

    stray = (await program.run(json.dumps({"say": "hello\n"}).encode())).failure
    flood = (await program.run(json.dumps({"say": "\n" * 2_000}).encode())).failure

    assert (stray.code, flood.code) == ("stray_output", "output_too_large")
    await until(lambda: sidecar.connections == 1)
    assert await connection(program) == 2


async def test_a_request_past_its_deadline_costs_the_connection_and_its_late_answer_reaches_nobody(
    provide, sidecar, address, until
):
    await sidecar.listen(address)
    program = await provide(**to(address))

    failure = (await program.run(b'"hold"', seconds=0.1)).failure
    assert failure.code == "deadline_exceeded"
    [(writer, late)] = sidecar.held
    writer.write(json.dumps(late).encode() + b"\n")

    assert await connection(program) == 2
    await until(lambda: sidecar.connections == 1)


async def test_others_on_a_connection_that_is_replaced_get_their_answers(provide, sidecar, address, until):
    await sidecar.listen(address)
    program = await provide(**to(address, concurrency=2))
    slow = asyncio.ensure_future(program.run(b'"hold"', name="slow"))
    await until(lambda: sidecar.held)

    assert (await program.run(b'"hold"', name="late", seconds=0.05)).failure.code == "deadline_exceeded"
    assert await connection(program) == 2
    assert sidecar.connections == 2
    writer, answer = sidecar.held[0]
    writer.write(json.dumps(answer).encode() + b"\n")

    assert json.loads((await slow).outcome.status)["connection"] == 1
    await until(lambda: sidecar.connections == 1)


async def test_a_connection_that_is_replaced_on_purpose_leaves_the_kind_ready(provide, sidecar, address):
    await sidecar.listen(address)
    program = await provide(**to(address))
    await program.run()
    told = []
    program.provider.on_ready_change = lambda: told.append(True)

    await program.run(b'"hold"', seconds=0.05)
    assert await program.provider.ready()
    await program.run()

    assert told == []


async def test_a_program_that_announced_cancel_is_told_and_its_connection_kept(provide, sidecar, address, until):
    sidecar.hello = b'{"hello":{"cancel":true}}\n'
    await sidecar.listen(address)
    program = await provide(**to(address))
    await program.run()

    assert (await program.run(b'"hold"', seconds=0.1)).failure.code == "deadline_exceeded"
    [(writer, answer)] = sidecar.held
    await until(lambda: sidecar.told == [{"cancel": {"id": answer["id"]}}])
    writer.write(json.dumps(answer).encode() + b"\n")

    assert await connection(program) == 1


async def test_a_config_edit_reaches_every_connection_that_asked_for_it(provide, sidecar, address, until):
    sidecar.hello = b'{"hello":{"config":true}}\n'
    await sidecar.listen(address)
    program = await provide(**to(address, processes=2))
    await until(lambda: sidecar.connections == 2)
    await asyncio.gather(*(program.run(name=name) for name in "abcd"))

    await program.configure(**to(address, processes=2, settings={"a": 2}))

    await until(lambda: sidecar.told[-2:] == [{"config": {"a": 2}}] * 2)


async def test_an_answer_may_come_in_any_pieces(provide, sidecar, address):
    await sidecar.listen(address)
    program = await provide(**to(address))
    running = asyncio.ensure_future(program.run(b'"hold"'))
    while not sidecar.held:
        await asyncio.sleep(0)

    [(writer, answer)] = sidecar.held
    for byte in json.dumps(answer).encode() + b"\n":
        writer.write(bytes([byte]))
        await asyncio.sleep(0)

    assert json.loads((await running).outcome.status)["connection"] == 1


async def test_every_request_ends_once_with_its_own_answer_however_connections_break(
    provide, sidecar, address, impatient
):
    chance = random.Random(7)
    await sidecar.listen(address)
    program = await provide(**to(address, processes=4, concurrency=8))

    async def ask(number):
        spec = (
            b'"drop"' if chance.random() < 0.02 else json.dumps({"say": f'{{"id":"ID","status":{number}}}\n'}).encode()
        )
        result = await program.run(spec, name=f"r{number}")
        if result.failure is not None:
            return result.failure.code
        assert result.outcome.status == str(number).encode()
        return "answered"

    ends = [code for batch in range(10) for code in await asyncio.gather(*(ask(batch * 100 + n) for n in range(100)))]

    assert set(ends) <= {"answered", "connection_lost", "not_connected", "kind_not_ready"}
    assert ends.count("answered") > 500
    assert sidecar.connections <= 4


# ---- the end ----


async def test_a_program_is_told_of_the_end_then_sees_it_and_may_still_speak(provide, sidecar, address, caplog):
    caplog.set_level(logging.INFO, "stdworker.program")
    sidecar.hello = b'{"hello":{"shutdown":true}}\n'
    await sidecar.listen(address)
    program = await provide(**to(address))
    await program.run()

    await program.provider.close()

    assert (sidecar.told, sidecar.ends) == ([{"shutdown": {}}], ["half-closed"])
    assert "greeter: last words" in caplog.text


async def test_requests_in_flight_at_the_end_are_given_back(provide, sidecar, address, until):
    await sidecar.listen(address)
    program = await provide(**to(address))
    running = [asyncio.ensure_future(program.run(b'"hold"', name=name)) for name in ("held", "waiting")]
    await until(lambda: sidecar.held)

    await program.provider.close()

    assert {(type(result.failure), result.failure.code) for result in await asyncio.gather(*running)} == {
        (Released, "shutting_down")
    }


async def test_a_program_that_keeps_its_end_open_is_left_after_the_grace_period(provide, sidecar, address):
    sidecar.stays = True
    await sidecar.listen(address)
    program = await provide(**to(address, grace_seconds=0.05))
    await program.run()

    await program.provider.close()

    assert sidecar.ends == ["half-closed"]


@pytest.fixture
def silent(mark):
    """A TCP address whose queue is full: it neither accepts nor refuses."""
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        with socket.create_connection(full.getsockname()):
            yield f"tcp:127.0.0.1:{full.getsockname()[1]}"


async def test_closing_doesn_t_wait_for_a_connection_that_is_being_made(provide, silent, monkeypatch):
    monkeypatch.setattr(socket_connection, "CONNECT_SECONDS", 10_000)
    program = await provide(**to(silent))
    waiting = asyncio.ensure_future(program.run())
    await asyncio.sleep(0)

    await program.provider.close()

    assert type((await waiting).failure) is Released


# ---- a program that is away ----


async def test_without_a_socket_the_kind_is_not_configured_yet(provide):
    program = await provide(mode="socket")

    failure = (await program.run()).failure

    assert (type(failure), failure.code) == (Released, "not_configured")
    assert not await program.provider.ready()
    assert "no socket is configured" in program.provider.readiness_reason


async def test_the_program_of_a_path_kind_is_not_started_when_its_config_names_a_socket(provide, sidecar, address):
    await sidecar.listen(address)
    program = await provide({"fixed_command": "/bin/false"}, **to(address))

    assert await connection(program) == 1
    assert await program.provider.ready()


async def test_a_missing_socket_is_named_and_the_task_given_back(provide, address, until):
    program = await provide(**to(address))

    failure = (await program.run()).failure

    assert (type(failure), failure.code) == (Released, "not_connected")
    assert failure.message == f"can't connect to {address}: there is no such socket (ENOENT)"
    assert not await program.provider.ready()
    assert program.provider.readiness_reason == failure.message


async def test_a_socket_that_nobody_listens_on_is_told_apart(provide):
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        program = await provide(**to(f"tcp:127.0.0.1:{bound.getsockname()[1]}"))

        failure = (await program.run()).failure

    assert "nobody listens there (ECONNREFUSED)" in failure.message


def sockets():
    links = (path.readlink() for path in Path("/proc/self/fd").iterdir() if path.is_symlink())
    return sum(link.name.startswith("socket:") for link in links)


async def test_one_attempt_at_a_time_is_made_until_somebody_answers(provide, silent, until):
    before = sockets()
    program = await provide(**to(silent, processes=8))
    await until(lambda: sockets() > before)

    await program.provider.ready()
    await asyncio.sleep(0)

    assert sockets() == before + 1


async def test_an_attempt_to_connect_is_bounded(provide, silent, monkeypatch):
    monkeypatch.setattr(socket_connection, "CONNECT_SECONDS", 0.05)
    program = await provide(**to(silent))

    assert "no answer within 0.05 s" in (await program.run()).failure.message


async def test_a_host_without_an_address_is_named(provide):
    program = await provide(**to("tcp:no-such-host.invalid:1"))

    failure = (await program.run()).failure

    assert "tcp:no-such-host.invalid:1" in failure.message
    assert failure.code == "not_connected"


async def test_a_socket_whose_queue_is_full_is_no_connection(provide, address):
    with socket.socket(socket.AF_UNIX) as full, socket.socket(socket.AF_UNIX) as first:
        full.bind(address[5:])
        full.listen(0)
        first.connect(address[5:])
        program = await provide(**to(address))

        failure = (await program.run()).failure

    assert "its queue of connections is full (EAGAIN)" in failure.message


async def test_a_port_that_dials_itself_is_no_connection(provide, monkeypatch):
    """Seldom, but a kind that waits for its program on a port of the range for outgoing connections tries often."""

    async def dial_self(_, connection):
        end = socket.socket()
        end.bind(("127.0.0.1", 0))
        end.connect(end.getsockname())
        return (await asyncio.get_running_loop().create_connection(connection, sock=end))[1]

    monkeypatch.setattr(socket_connection, "dial", dial_self)

    failure = (await (await provide(**to("tcp:127.0.0.1:40000"))).run()).failure

    assert (type(failure), failure.code) == (Released, "not_connected")
    assert "nobody listens there (ECONNREFUSED)" in failure.message


async def test_a_program_that_closes_after_each_answer_is_dialed_again_at_once(provide, address, until, monkeypatch):
    monkeypatch.setattr(supervision, "DELAY_SECONDS_MIN", 1_000.0)

    async def answer_once(reader, writer):
        request = json.loads(await reader.readline() or "{}")
        writer.write(json.dumps({"id": request.get("id", ""), "status": request.get("spec")}).encode() + b"\n")
        writer.close()

    async with await asyncio.start_unix_server(answer_once, address[5:]):
        program = await provide(**to(address))
        for n in range(6):
            await until(
                lambda n=n: [(pool.restarts, pool.running) for pool in program.provider.view().pools] == [(n, 1)]
            )
            assert await program.status(b"%d" % n) == b"%d" % n
        await program.provider.close()


@pytest.fixture
def as_nobody():
    """Root may open every socket."""
    if os.geteuid() == 0:
        os.seteuid(65_534)
        yield
        os.seteuid(0)
    else:
        yield


async def test_a_socket_without_permission_is_told_apart(provide, as_nobody):
    program = await provide(**to("unix:/proc/1/cwd/s"))

    failure = (await program.run()).failure

    assert "this worker has no permission to open it (EACCES)" in failure.message


async def test_a_request_whose_connection_is_lost_is_to_be_tried_again(provide, sidecar, address):
    await sidecar.listen(address)
    program = await provide(**to(address))

    failure = (await program.run(b'"drop"')).failure

    assert (type(failure), failure.code) == (Retry, "connection_lost")
    assert f"the connection to {address} was lost while it held this request" in failure.message
    assert await connection(program) == 2


async def test_a_kind_is_unready_while_its_program_is_away_and_ready_as_soon_as_it_is_back(
    provide, sidecar, address, impatient, until
):
    changes = []
    program = await provide(**to(address, processes=3))
    program.provider.on_ready_change = lambda: changes.append(program.provider.view().pools[0].running)
    assert not await program.provider.ready()

    await sidecar.listen(address)
    await until(lambda: sidecar.connections == 3)
    assert await program.provider.ready()
    assert 1 in changes

    changes.clear()
    await sidecar.go_away()
    await until(lambda: 0 in changes)
    assert not await program.provider.ready()
    assert address in program.provider.readiness_reason

    changes.clear()
    await sidecar.listen(address)
    await until(lambda: 1 in changes)
    assert await program.provider.ready()
    assert (await program.run()).failure is None


async def test_a_program_that_is_away_for_long_costs_one_line_of_log(
    provide, address, sidecar, impatient, caplog, until
):
    caplog.set_level(logging.INFO, "stdworker.bridge")
    program = await provide(**to(address, processes=4))
    attempts = []
    program.provider.on_ready_change = lambda: attempts.append(True)

    await until(lambda: len(attempts) >= 10)
    assert [record.getMessage() for record in caplog.records] == [
        f"greeter@1: can't connect to {address}: there is no such socket (ENOENT)"
    ]

    await sidecar.listen(address)
    await until(lambda: sidecar.connections == 4)
    assert [record.getMessage() for record in caplog.records[1:]] == [f"greeter@1: connected to {address}"]


async def test_a_program_that_says_it_is_not_ready_is_believed(provide, sidecar, address):
    await sidecar.listen(address)
    program = await provide(**to(address))
    told = []
    program.provider.on_ready_change = lambda: told.append(True)

    await program.run(json.dumps({"say": '{"ready":false,"reason":"loading"}\n{"id":"ID"}\n'}).encode())

    assert told
    assert not await program.provider.ready()
    assert program.provider.readiness_reason == "the program says: loading"


async def test_the_view_names_the_address(provide, sidecar, address):
    await sidecar.listen(address)
    program = await provide(**to(address))
    await program.run()

    view = program.provider.view()

    [pool] = view.pools
    [peer] = pool.processes
    assert (view.mode, pool.default, pool.wanted, pool.running) == ("socket", True, 1, 1)
    assert (peer.pid, peer.address, peer.answered, peer.in_flight) == (None, address, 1, 0)
