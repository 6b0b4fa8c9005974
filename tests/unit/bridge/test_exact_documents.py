"""Every document of a request reaches the program token by token, and every one of its answer the host."""

import json

import pytest

from stdworker import protocol_files
from stdworker.model import pointer
from stdworker.model.config import ProviderConfig
from stdworker.model.json_text import RawJson, ascii_line, members
from stdworker.model.kind import Stage
from stdworker.model.resource import Operation, Resource

pytestmark = pytest.mark.anyio

VECTORS = json.loads(protocol_files.read("stdio/v1/vectors/values.json"))["vectors"]
SMALLER = ("100 deep",)  # one document holds them all
ALL = RawJson(
    b"[" + b",".join(v["text"].encode() for v in VECTORS if v["verdict"] == "ok" and v["name"] not in SMALLER) + b"]"
)

# Answers with the request itself as status and as output, and as the spec of a child when it may compose.
ECHO = r"""
while IFS= read -r request; do
  id=${request#*\"id\":\"} id=${id%%\"*}
  children=
  [[ $request == *'"reaction":"compose"'* ]] &&
    children=',"children":[{"kind":"net","kind_version":1,"name":"n","spec":'$request'}]'
  printf '{"id":"%s","status":%s,"output":%s%s}\n' "$id" "$request" "$request" "$children"
done
"""


@pytest.fixture(params=["oneshot", "stream"])
async def echo(request, provide):
    program = await provide(mode=request.param, command="bash", args=["-c", ECHO])
    spec = b'{"settings":' + ALL + b"," + bytes(program.default.spec)[1:]
    program.default = ProviderConfig(RawJson(spec))
    await program.provider.on_config(program.default)
    return program


async def test_spec_settings_and_the_input_of_an_operation_arrive_and_come_back(echo):
    operation = Operation("restart", ALL, 1, "ada")

    result = await echo.run(ALL, stage=Stage.OPERATE, operation=operation)

    assert result.failure is None, result.failure
    for told in (result.outcome.status, result.outcome.output):
        assert pointer.find(told, "/spec") == ascii_line(ALL)
        assert pointer.find(told, "/config") == ascii_line(ALL)
        assert pointer.find(told, "/operation/input") == ascii_line(ALL)


async def test_the_statuses_of_children_arrive_and_their_specs_come_back(echo):
    child = Resource("u-2", "net", "n", 1, 3, status_json=ALL)

    result = await echo.run(ALL, stage=Stage.COMPOSE, observed=[child])

    assert result.failure is None, result.failure
    (wanted,) = result.outcome.children
    assert pointer.find(wanted.spec, "/observed/0/status") == ascii_line(ALL)
    assert list(members(wanted.spec))[:3] == ["protocol", "id", "reaction"]
