"""What a worker tells of itself, over HTTP and on its local socket."""

import asyncio
import http.client
import json
import os
import socket
import stat
import threading
import urllib.request
from pathlib import Path

import pytest

from stdworker.bridge import BridgeRuntime, ProgramProvider
from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import dumps
from stdworker.model.kind import KindVersion
from stdworker.testing import make_request
from stdworker.worker import loop_reader, watchdog
from stdworker.worker.http import Answer
from stdworker.worker.local_socket import LocalSocket, living_sockets, runtime_folders

THING = KindVersion("thing")
ROUTES = {"/status": lambda: Answer(200, "application/json", b"{}")}


def ask(path):
    """The status behind a local socket."""
    connection = http.client.HTTPConnection("localhost", timeout=10)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(10)
    connection.sock.connect(str(path))
    try:
        connection.request("GET", "/status")
        return json.loads(connection.getresponse().read())
    finally:
        connection.close()


def metrics(port):
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        lines = [line.decode().rsplit(" ", 1) for line in answer if not line.startswith(b"#")]
    return {name: float(value) for name, value in lines}


@pytest.fixture
def free_port():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return probe.getsockname()[1]


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "run"


@pytest.fixture
def status(folder):
    async def read():
        [path] = folder.glob("*.sock")
        return await asyncio.to_thread(ask, path)

    return read


def test_it_says_what_runs_and_for_how_long_and_what_waits(play, noop, folder, status):
    async def scenario(ground):
        release = asyncio.Event()

        async def work(request):
            request.progress(0.25, "copying")
            await release.wait()

        ground.serve(noop(work=work), noop("other"), socket_folders=[folder], max_parallel=1)
        stream = await ground.stream()
        leases = [await stream.send_task(make_request(THING, name=name)) for name in ("first", "second")]
        await stream.until(lambda: any(f.HasField("progress") for f in stream.frames))
        seen = await status()
        release.set()
        for lease in leases:
            await stream.result(lease)
        return seen, await status()

    seen, after = play(scenario)
    other, thing = seen["kinds"]
    assert (seen["pid"], seen["draining"], seen["missing"]) == (os.getpid(), False, [])
    assert seen["broker"]["connected"]
    assert "settled" in seen["broker"]["extensions"]
    assert (thing["kind"], thing["kind_version"], thing["ready"], thing["credit"]) == ("thing", 1, True, 1)
    assert (thing["in_flight"], thing["waiting"], other["in_flight"]) == (1, 1, 0)
    [task] = seen["slowest_tasks"]
    assert (task["kind"], task["name"], task["stage"]) == ("thing", "first", "work")
    assert task["progress"] == {"fraction": 0.25, "message": "copying"}
    assert task["seconds"] >= 0
    assert after["slowest_tasks"] == []
    assert after["kinds"][1]["outcomes"] == {"success": 2, "transient": 0, "terminal": 0, "released": 0}


def test_a_config_is_told_apart_by_a_hash_that_no_secret_goes_into(play, noop, folder, status):
    async def scenario(ground):
        hashes = []
        ground.serve(provider := noop(), socket_folders=[folder])
        stream = await ground.stream()
        for spec in (b'{"settings":{"password":"hunter22"}}', b'{"settings":{"password":"other"}}', b'{"cwd":"/"}'):
            await stream.send_config(THING, ProviderConfig(spec))
            told = len(hashes) + 2
            while len(provider.configs) < told:
                await asyncio.sleep(0)
            seen = await status()
            assert "hunter22" not in json.dumps(seen)
            hashes.append(seen["kinds"][0]["config"])
        return hashes

    first, second, third = play(scenario)
    assert first["hash"] == second["hash"] != third["hash"]
    assert [first["changes"], second["changes"], third["changes"]] == [1, 2, 3]


def test_without_a_broker_it_says_why_and_since_when(play, noop, folder, status, logged):
    async def scenario(ground):
        await ground.broker.stop()
        ground.serve(noop(), socket_folders=[folder])
        await logged("no broker")
        return await status()

    seen = play(scenario)
    assert not seen["broker"]["connected"]
    assert "unavailable" in seen["broker"]["error"]
    assert seen["broker"]["error_seconds_ago"] >= 0
    assert "not connected to a broker" in seen["missing"]


def test_while_the_loop_stands_still_it_says_that_and_because_of_whom(play, noop, folder, monkeypatch):
    monkeypatch.setattr(watchdog, "TICK_SECONDS", 0.01)
    monkeypatch.setattr(watchdog, "BLOCKED_SECONDS", 0.05)
    monkeypatch.setattr(loop_reader, "ANSWER_SECONDS", 0.1)
    answered = threading.Event()
    seen = []

    def ask_until_stuck():
        [path] = folder.glob("*.sock")
        while not seen or not seen[-1]["loop"]["stuck_seconds"]:
            seen.append(ask(path))
        answered.set()

    async def scenario(ground):
        async def hold_the_loop(request):
            threading.Thread(target=ask_until_stuck).start()
            answered.wait(20)

        ground.serve(noop(work=hold_the_loop), socket_folders=[folder])
        await (await ground.stream()).run(make_request(THING))

    play(scenario)
    assert "hold_the_loop" in seen[-1]["loop"]["held_by"]
    assert seen[-1]["kinds"][0]["in_flight"] == 1


def test_a_program_that_keeps_dying_is_visible_in_status_and_metrics(play, folder, status, monkeypatch, free_port):
    monkeypatch.setattr("stdworker.bridge.supervision.DELAY_SECONDS_MIN", 0.01)

    async def scenario(ground):
        config = {"command": "bash", "args": ["-c", "exit 3"], "mode": "stream"}
        ground.broker.configs[THING] = ProviderConfig(dumps(config))
        provider = ProgramProvider(THING, run=BridgeRuntime())
        ground.serve(provider, socket_folders=[folder], health_address=("127.0.0.1", free_port))
        stream = await ground.stream()
        await stream.until(lambda: bool(stream.interests))
        return await status(), await asyncio.to_thread(metrics, free_port)

    seen, measured = play(scenario)
    [kind] = seen["kinds"]
    assert not kind["ready"]
    assert "exit status 3" in kind["reason"]
    assert kind["provider"]["breaker_open"]
    assert kind["provider"]["pools"][0]["restarts"] >= 5
    assert measured['stdworker_kind_ready{kind="thing",version="1"}'] == 0
    assert measured['stdworker_program_breaker_open{kind="thing",version="1"}'] == 1
    assert measured["stdworker_program_restarts_total"] >= 5


@pytest.mark.parametrize("mode", ["oneshot", "stream"])
def test_the_processes_of_a_kind_are_counted(play, folder, mode, free_port, tmp_path):
    os.mkfifo(tmp_path / "gate")

    async def scenario(ground):
        program = """read -r l; echo '{"progress":{}}'; read -r _ < gate; echo '{}'; read -r l"""
        config = {"command": "bash", "args": ["-c", program], "mode": mode, "cwd": str(tmp_path)}
        ground.broker.configs[THING] = ProviderConfig(dumps(config))
        ground.serve(ProgramProvider(THING, run=BridgeRuntime()), health_address=("127.0.0.1", free_port))
        stream = await ground.stream()
        lease = await stream.send_task(make_request(THING))
        await stream.until(lambda: any(f.HasField("progress") for f in stream.frames))
        measured = await asyncio.to_thread(metrics, free_port)
        (tmp_path / "gate").write_text("go\n")
        await stream.result(lease)
        return measured

    measured = play(scenario)
    assert measured['stdworker_program_processes{kind="thing",version="1"}'] == 1
    assert measured['stdworker_program_breaker_open{kind="thing",version="1"}'] == 0
    assert measured['stdworker_tasks_in_flight{kind="thing",version="1"}'] == 1


def test_a_view_that_fails_costs_only_itself(play, noop, folder, status):
    async def scenario(ground):
        broken, odd = noop("broken"), noop("odd")
        broken.view = lambda: 1 / 0
        odd.view = lambda: {"size": 1 << 80, "what": {1, 2}}
        ground.serve(broken, odd, socket_folders=[folder])
        await ground.stream()
        return await status()

    broken, odd = play(scenario)["kinds"]
    assert "ZeroDivisionError" in broken["provider"]["error"]
    assert odd["provider"] is not None


# ---- the socket ----


def test_only_its_own_user_can_reach_the_socket_and_it_goes_with_the_worker(play, noop, folder):
    async def scenario(ground):
        ground.serve(noop(), socket_folders=[folder])
        await ground.stream()
        [path] = folder.iterdir()
        modes = stat.S_IMODE(path.stat().st_mode), stat.S_IMODE(folder.stat().st_mode)
        await ground.drained()
        return path.name, modes

    assert play(scenario) == (f"{os.getpid()}.sock", (0o600, 0o700))
    assert list(folder.iterdir()) == []


def test_sockets_of_the_dead_are_removed_and_those_of_the_living_stay(folder):
    folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(folder / "1.sock"))
    with socket.socket(socket.AF_UNIX) as living:
        living.bind(str(folder / "2.sock"))
        living.listen()
        local = LocalSocket([folder], ROUTES)
        local.start()
        assert sorted(path.name for path in living_sockets(folder)) == sorted(["2.sock", f"{os.getpid()}.sock"])
        assert not (folder / "1.sock").exists()
        local.close()


def test_a_folder_that_others_may_enter_is_passed_over(tmp_path, folder):
    shared = tmp_path / "shared"
    shared.mkdir(mode=0o755)
    elsewhere = tmp_path / "link"
    elsewhere.symlink_to(tmp_path)
    local = LocalSocket([tmp_path / "not" / "there", shared, elsewhere, folder], ROUTES)
    local.start()
    assert [path.name for path in folder.iterdir()] == [f"{os.getpid()}.sock"]
    local.close()


def test_a_socket_that_can_not_get_its_name_leaves_nothing_behind(folder, monkeypatch):
    def refuse(self, target):
        raise OSError(1, "refused")

    monkeypatch.setattr("pathlib.Path.rename", refuse)
    open_before = len(list(Path("/proc/self/fd").iterdir()))
    local = LocalSocket([folder], ROUTES)
    local.start()
    local.close()
    assert list(living_sockets(folder)) == []
    assert len(list(Path("/proc/self/fd").iterdir())) == open_before


def test_a_worker_without_a_place_for_its_socket_runs_and_says_so(play, noop, tmp_path, logged):
    async def scenario(ground):
        ground.serve(noop(), socket_folders=[tmp_path / "not" / "there"])
        stream = await ground.stream()
        await stream.run(make_request(THING))
        return await logged("won't find")

    assert "No such file or directory" in play(scenario)


def test_the_folder_is_that_of_the_login_session_else_one_of_the_users_own(tmp_path):
    tmp_path.chmod(0o700)
    session, own = runtime_folders({"XDG_RUNTIME_DIR": str(tmp_path)})
    assert session == tmp_path / "stdworker"
    assert own.name == f"stdworker-{os.geteuid()}"


@pytest.mark.parametrize("session", ["/", "/tmp", "/not/there"])
def test_a_login_session_that_is_not_this_users_alone_has_no_folder_for_it(session):
    [own] = runtime_folders({"XDG_RUNTIME_DIR": session})
    assert own.name == f"stdworker-{os.geteuid()}"
