"""A record holds what was sent and received, without secrets; writing it fails nobody; reading it gives both back."""

import asyncio
import json
import logging
import os
import stat
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stdworker import protocol_files
from stdworker.bridge import record
from stdworker.bridge.recorded import Recorded, read_record
from stdworker.bridge.redact import Redactor, redact_json
from stdworker.errors import ConfigError
from stdworker.framing.request import request_line
from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import RawJson, check, dumps
from stdworker.model.kind import KindVersion, Stage, Transition, Trigger
from stdworker.model.resource import Operation, Resource
from stdworker.model.task import ReactionRequest

pytestmark = pytest.mark.anyio

ECHO = 'read -r request; jq -c "{status: {n: .spec.n, token: .config.token}}" <<<"$request"'
STREAM = 'while read -r request; do jq -c --unbuffered "{id, status: .spec}" <<<"$request"; done'


def bash(text: str) -> dict:
    return {"command": "bash", "args": ["-c", text]}


@pytest.fixture
def file(tmp_path) -> Path:
    return tmp_path / "records" / "greeter.jsonl"


def lines(file: Path) -> list[dict]:
    found = [json.loads(line) for line in file.read_text().splitlines()]
    schema = json.loads(protocol_files.read("stdio/v1/record.schema.json"))
    for line in found:
        jsonschema.validate(line, schema)
    return found


async def closed(program) -> None:
    """Everything is on disk when the last provider has closed."""
    await program.provider.close()


async def test_a_recorded_request_is_one_line_with_what_came_of_it(provide, file):
    program = await provide({"record_file": file}, **bash(f"echo hello; {ECHO}"), settings={"token": "s3cr3t-value"})

    await program.run(b'{"n":1}')
    await closed(program)

    (line,) = lines(file)
    assert (line["kind"], line["kind_version"], line["stage"], line["mode"]) == ("greeter", 1, "work", "oneshot")
    assert (line["result"], line["error"], line["stray_lines"], line["cut"]) == ("success", None, 1, False)
    assert line["exit"] == {"code": 0, "signal": None, "killed_by": None}
    assert line["request"]["name"] == "ada"
    assert line["program"] == "bash"
    assert line["launch"]["args"][0] == "-c"
    assert line["received"] == ["hello", '{"status":{"n":1,"token":"***"}}']
    assert '"spec":{"n":1}' in file.read_text()


async def test_secrets_of_settings_and_env_appear_nowhere(provide, file):
    body = 'read -r r; echo "token $TOKEN"; echo "{\\"status\\":{\\"t\\":\\"$TOKEN\\"}}"; echo "bad $TOKEN" >&2; exit 1'
    config = bash(body) | {
        "env": {"TOKEN": "env-s3cr3t"},
        "settings": {"password": "p4ssw0rd\u00e9", "pin_secret": "1"},
    }
    program = await provide({"record_file": file}, **config)

    await program.run(b'{"copy":"p4ssw0rd\\u00e9","env-s3cr3t":1}')
    await closed(program)

    text = file.read_text()
    (line,) = lines(file)
    assert "s3cr3t" not in text
    assert "p4ssw0rd" not in text
    assert line["request"]["config"] == {"password": "***", "pin_secret": "***"}
    assert line["request"]["spec"] == {"copy": "***", "***": 1}
    assert line["error"]["reason"] == "ExitTransient"


async def test_the_launch_config_says_whether_a_worker_records_and_where(provide, runtime, tmp_path):
    runtime.variables = {**runtime.variables, "XDG_STATE_HOME": str(tmp_path)}
    program = await provide(**bash(ECHO), record=True)

    await program.run()
    await closed(program)

    (line,) = lines(tmp_path / "stdworker/records/greeter@1.jsonl")
    assert "record" not in line["launch"]


async def test_without_record_nothing_is_written(provide, runtime, tmp_path):
    runtime.variables = {**runtime.variables, "XDG_STATE_HOME": str(tmp_path)}
    program = await provide(**bash(ECHO))

    await program.run()
    await closed(program)

    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("variables", "folder"),
    [
        ({"XDG_STATE_HOME": "/state", "HOME": "/users/ada"}, "/state/stdworker/records"),
        ({"HOME": "/users/ada"}, "/users/ada/.local/state/stdworker/records"),
        ({"XDG_STATE_HOME": "relative", "HOME": "/users/ada"}, "/users/ada/.local/state/stdworker/records"),
    ],
)
async def test_records_lie_in_the_folder_for_state(variables, folder):
    assert str(record.records_folder(variables)) == folder


async def test_without_an_account_there_is_no_folder_and_no_failure(monkeypatch):
    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", {}.__getitem__)

    assert str(record.records_folder({})) == "/nonexistent/.local/state/stdworker/records"


async def test_only_the_owner_may_read_a_record(provide, file):
    program = await provide({"record_file": file}, **bash(ECHO))

    await program.run()
    await closed(program)

    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_each_request_to_a_shared_process_has_its_own_answer(provide, file):
    program = await provide({"record_file": file}, **bash(STREAM), mode="stream", concurrency=4)

    await asyncio.gather(*(program.run(b'{"n":%d}' % n, name=f"r{n}") for n in range(8)))
    await closed(program)

    found = lines(file)
    assert len(found) == 8
    for line in found:
        assert [json.loads(text) for text in line["received"]] == [
            {"id": line["request"]["id"], "status": line["request"]["spec"]}
        ]
        assert (line["mode"], line["exit"]) == ("stream", None)


async def test_notices_and_stray_lines_of_a_persistent_program_are_recorded(provide, file):
    body = """echo '{"hello":{"protocol":1}}'
    while read -r r; do echo stray; echo '{"progress":{"fraction":0.5}}'; echo '{"status":1}'; done"""
    program = await provide({"record_file": file}, **bash(body), mode="stream")

    await program.run()
    await closed(program)

    (line,) = lines(file)
    assert line["received"][-3:] == ["stray", '{"progress":{"fraction":0.5}}', '{"status":1}']


@pytest.mark.parametrize("mode", ["oneshot", "stream"])
async def test_every_line_of_a_flood_is_recorded(provide, file, mode):
    body = """read -r r; seq 1000 1999; echo '{"status":1}'; read -r r"""
    program = await provide({"record_file": file}, **bash(body), mode=mode)

    await program.run()
    await closed(program)

    assert lines(file)[0]["received"] == [*map(str, range(1000, 2000)), '{"status":1}']


async def test_a_cancelled_request_is_recorded_as_cancelled(provide, file, alive, until):
    program = await provide({"record_file": file}, **bash("sleep 1000"))

    running = asyncio.create_task(program.run())
    await until(alive)
    running.cancel()
    await asyncio.wait({running})
    await closed(program)

    assert lines(file)[0]["result"] == "cancelled"


async def test_a_request_that_was_never_sent_is_not_recorded(provide, file):
    program = await provide({"record_file": file}, command="/nowhere")

    await program.run()
    await closed(program)

    assert not file.exists()


async def test_a_record_that_cannot_be_written_is_one_warning_and_no_failure(provide, tmp_path, caplog):
    (tmp_path / "file").write_text("")
    program = await provide({"record_file": tmp_path / "file" / "record.jsonl"}, **bash(ECHO))

    with caplog.at_level(logging.WARNING, "stdworker.bridge"):
        results = [await program.run() for _ in range(3)]
        await closed(program)

    assert [result.failure for result in results] == [None] * 3
    assert [entry.getMessage() for entry in caplog.records if "recorded" in entry.getMessage()] == [
        f"nothing more is recorded in {tmp_path}/file/record.jsonl: File exists"
    ]


async def test_a_pipe_that_nobody_reads_is_no_place_for_a_record_and_holds_nobody_up(provide, tmp_path, caplog):
    os.mkfifo(tmp_path / "pipe")
    program = await provide({"record_file": tmp_path / "pipe"}, **bash(ECHO))

    with caplog.at_level(logging.WARNING, "stdworker.bridge"):
        await program.run()
        await closed(program)

    assert "nothing more is recorded" in caplog.text


async def test_a_full_file_makes_room_for_a_new_one(provide, file, monkeypatch):
    monkeypatch.setattr(record, "FILE_BYTES_MAX", 2_000)
    program = await provide({"record_file": file}, **bash(ECHO))

    for n in range(12):
        await program.run(b'{"n":%d}' % n)
        while program.provider._recorder._writing:
            await asyncio.sleep(0)
    await closed(program)

    old = file.with_name("greeter.jsonl.1")
    assert sorted(path.name for path in file.parent.iterdir()) == [file.name, old.name]
    assert max(file.stat().st_size, old.stat().st_size) <= 2_000
    kept = [line["request"]["spec"]["n"] for path in (old, file) for line in lines(path)]
    assert kept == list(range(kept[0], 12))


async def test_what_is_too_long_is_left_out_and_said_so(provide, file, monkeypatch):
    monkeypatch.setattr(record, "REQUEST_BYTES_MAX", 1_000)
    monkeypatch.setattr(record, "RECEIVED_BYTES_MAX", 100)
    program = await provide({"record_file": file}, **bash("head -c 300 /dev/zero | tr '\\0' x; cat >/dev/null"))

    await program.run(dumps({"long": "x" * 1_000}))
    await closed(program)

    (line,) = lines(file)
    assert (line["cut"], line["request"], line["received"]) == (True, None, [])


async def test_a_slow_disk_loses_records_with_one_warning_and_no_task(provide, file, monkeypatch, caplog):
    monkeypatch.setattr(record, "WAITING_BYTES_MAX", 1)
    program = await provide({"record_file": file}, **bash(ECHO))

    with caplog.at_level(logging.WARNING, "stdworker.bridge"):
        await program.run()
        await program.run()
        await closed(program)

    assert not file.exists()
    assert caplog.text.count("requests are left out") == 1


# ---- reading ----

REQUESTS = {
    "work": ReactionRequest(
        Stage.WORK,
        Trigger.SPEC_CHANGE,
        "work",
        KindVersion("leaf", 2),
        Resource(
            "u",
            "leaf",
            "a",
            2,
            7,
            spec_json=RawJson(b'{"b":1.0,"a":9007199254740993}'),
            status_json=RawJson(b"[1,null]"),
            labels={"x": "y"},
        ),
        default=ProviderConfig(RawJson(b'{"command":"./p","settings":{"k":1.0}}'), b"\x00bundle"),
    ),
    "compose": ReactionRequest(
        Stage.COMPOSE,
        Trigger.SPEC_CHANGE,
        "plan",
        KindVersion("web"),
        Resource("u", "web", "w", 1, 1),
        observed=[Resource("", "leaf", "a", 2, is_ready=True, phase="Ready", status_json=RawJson(b'{"u":1}'))],
    ),
    "rollup": ReactionRequest(
        Stage.ROLLUP,
        Trigger.CHILDREN_SETTLED,
        "rollup",
        KindVersion("web"),
        Resource("u", "web", "w", 1, 1),
        descendants=[Resource("", "leaf", "a", 2, 3, phase="Failed")],
    ),
    "delete": ReactionRequest(
        Stage.DELETE,
        Trigger.DELETE_REQUESTED,
        "gone",
        KindVersion("web"),
        Resource("u", "web", "w", 1, 4, finalizers=("web/f",)),
    ),
    "operate": ReactionRequest(
        Stage.OPERATE,
        Trigger.OPERATION,
        "restart",
        KindVersion("web"),
        Resource("u", "web", "w", 1, 4),
        operation=Operation("restart", RawJson(b'{"now":1e2}'), 3, "ada"),
    ),
    "react": ReactionRequest(
        Stage.REACT,
        Trigger.REACTOR,
        "notify",
        KindVersion("pager"),
        Resource("u", "web", "w", 5, 4, spec_json=RawJson(b"1.0"), status_json=RawJson(b"{}"), labels={"a": "b"}),
        transition=Transition.FAILED,
        dedup_token="u:failed:4:1:b",
    ),
}


@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
async def test_a_recorded_request_is_the_same_request_again(request_, tmp_path):
    settings = RawJson(b'{"k":1.0}') if request_.default.spec else None
    line = request_line("17", request_, settings, None)
    recorded = _recorded(tmp_path, request=line, stage=request_.stage, kind=request_.kind)

    again = recorded.reaction_request(recorded.default())

    assert request_line("17", again, settings, None) == line


async def test_a_program_in_place_of_a_socket_is_started_and_persistent(tmp_path):
    launch = {"mode": "socket", "socket": "unix:/run/x", "concurrency": 2}
    recorded = _recorded(tmp_path, request=request_line("1", REQUESTS["work"], None, None), launch=launch)

    assert json.loads(recorded.default(command="/bin/p").spec) == {
        "mode": "stream",
        "concurrency": 2,
        "command": "/bin/p",
    }
    assert json.loads(recorded.default().spec)["socket"] == "unix:/run/x"


async def test_the_time_that_a_request_had_is_the_time_that_it_has(tmp_path):
    line = request_line("17", REQUESTS["work"], None, 5_000)

    again = _recorded(tmp_path, request=line).reaction_request(ProviderConfig())

    left = again.deadline - asyncio.get_running_loop().time()
    assert 0 < left <= 5


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("{", "not a line of a record"),
        ("[]", "not a line of a record"),
        ('{"record":1}', "not a line of a record"),
        ('{"record": 2}', "not a line of a record"),
    ],
)
async def test_a_line_that_is_none_is_an_error_with_its_place(tmp_path, line, told):
    (tmp_path / "r.jsonl").write_text(f"\n{line}\n")

    (error,) = read_record(tmp_path / "r.jsonl")

    assert isinstance(error, ConfigError)
    assert f"r.jsonl:2 is {told}" in str(error)


async def test_a_file_that_is_no_record_is_not_read_to_its_end(tmp_path):
    (tmp_path / "r.jsonl").write_text("text\n" * 1_000)

    *lines, last = map(str, read_record(tmp_path / "r.jsonl"))

    assert len(lines) == 100
    assert last.endswith("r.jsonl is not read on: 100 lines are not of a record")


async def test_a_line_without_an_end_is_not_read_to_it(tmp_path, monkeypatch):
    monkeypatch.setattr("stdworker.bridge.recorded.LINE_BYTES_MAX", 1 << 20)
    (tmp_path / "r.jsonl").write_bytes(bytes(3 << 20))

    (error,) = read_record(tmp_path / "r.jsonl")

    assert str(error).endswith("r.jsonl:1 is longer than 1 MiB: this is no record")


@pytest.mark.parametrize(
    "damage", [{"kind": 5}, {"trigger": "sometimes"}, {"generation": "1"}, {"bundle": "x"}, {"bundle": "é"}]
)
async def test_a_line_whose_request_is_none_is_an_error(tmp_path, damage):
    line = json.loads(request_line("1", REQUESTS["work"], None, None)) | damage

    (error,) = read_record(_written(tmp_path, request=dumps(line)))

    assert isinstance(error, ConfigError)


def _written(
    folder: Path, *, request: bytes, stage: str = "work", kind: KindVersion = REQUESTS["work"].kind, **more
) -> Path:
    told = {
        "record": 1,
        "at": "2026-01-02T03:04:05.678Z",
        "kind": kind.kind,
        "kind_version": kind.version,
        "stage": stage,
        "mode": "oneshot",
        "program": "./p",
        "launch": {},
        "received": [],
        "cut": False,
        "result": "success",
        **more,
    }
    path = folder / "r.jsonl"
    path.write_bytes(json.dumps(told).encode()[:-1] + b',"request":' + request.strip() + b"}\n")
    return path


def _recorded(folder: Path, **told) -> Recorded:
    (found,) = read_record(_written(folder, **told))
    assert isinstance(found, Recorded), found
    return found


# ---- redaction ----

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from(["hunter2!", "x hunter2! y", "123456"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
)


@given(JSON, st.sampled_from(["hunter2!", 'qu"ote\\d', "nabcdef", "123456", "{}[]::"]), st.booleans())
def test_redacted_json_is_json_without_the_secret(value, secret, ascii_only):
    redact = Redactor(dumps({"settings": {"token": secret}}))
    document = json.dumps({"v": value, "s": f"\n{secret}", "n\nabcdef": 123456}, ensure_ascii=ascii_only)

    shown = redact_json(RawJson(document.encode("utf-8", "surrogatepass")), redact)

    assert _without(json.loads(document), secret) == json.loads(shown)


def _without(value, secret):
    match value:
        case dict():
            return {key.replace(secret, "***"): _without(inner, secret) for key, inner in value.items()}
        case list():
            return [_without(inner, secret) for inner in value]
        case str():
            return value.replace(secret, "***")
        case int() if secret in str(value) and not isinstance(value, bool):
            return str(value).replace(secret, "***")
    return value


async def test_redaction_leaves_every_other_token_as_it_was():
    document = b'{ "b" : 1.0, "a": 12345678901234567890123, "t": "\\u00e9 hunter2!" }'

    shown = redact_json(check(document), Redactor(dumps({"settings": {"token": "hunter2!"}})))

    assert shown == b'{ "b" : 1.0, "a": 12345678901234567890123, "t": "\\u00e9 ***" }'
