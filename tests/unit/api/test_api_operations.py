"""Operations over REST."""

import pytest

from stdworker.engine.store.claims import Settlement, Want
from stdworker.model.kind import KindVersion
from stdworker.model.outcome import Outcome

pytestmark = pytest.mark.anyio

MANIFEST = {
    "kind": "vm",
    "kind_version": 1,
    "reactions": [
        {
            "name": "snap",
            "trigger": "operation",
            "verb": "snapshot",
            "emits": ["operationOutput"],
            "input_schema": {"type": "object", "properties": {"label": {"type": "string"}}},
        }
    ],
}


@pytest.fixture
async def vm(api):
    """A resource with an operation."""
    (await api.put("/kinds/vm/manifest", json=MANIFEST)).raise_for_status()
    (await api.post("/resources", json={"kind": "vm", "kind_version": 1, "name": "v"})).raise_for_status()


@pytest.fixture
def work(engine):
    """Settle the operation that is due."""

    async def once(**result):
        [claim] = await engine.claim([Want(KindVersion("vm"), 100, "worker")], "broker")
        await engine.settle([Settlement(claim.lease, claim.stage, **result)])
        return claim

    return once


def ask(api, **body):
    return api.post("/resources/vm/v/ops", json=body)


async def test_an_operation_is_accepted_and_can_be_looked_at_until_it_has_ended(api, vm, work):
    asked = await ask(api, verb="snapshot", input={"label": "x"})
    told = asked.json()
    assert (asked.status_code, told["verb"], told["state"], told["input"]) == (
        202,
        "snapshot",
        "pending",
        {"label": "x"},
    )
    assert (told["output"], told["error"], told["attempts"], told["started_at"]) == (None, None, 0, None)

    await work(outcome=Outcome(output={"id": 7}))

    ended = (await api.get(f"/resources/vm/v/ops/{told['uid']}")).json()
    assert (ended["state"], ended["output"], ended["attempts"]) == ("succeeded", {"id": 7}, 1)
    assert ended["finished_at"] is not None


async def test_input_and_output_pass_verbatim(api, vm, work):
    content = b'{"verb":"snapshot","input":{"label":"a","n":1.0,"big":123456789012345678901}}'
    headers = {"content-type": "application/json"}
    uid = (await api.post("/resources/vm/v/ops", content=content, headers=headers)).json()["uid"]
    claim = await work(outcome=Outcome(output={"label": "b"}))
    assert claim.operation.input_json == b'{"label":"a","n":1.0,"big":123456789012345678901}'
    shown = (await api.get(f"/resources/vm/v/ops/{uid}")).content
    assert b'"input":{"label":"a","n":1.0,"big":123456789012345678901},"output":{"label":"b"}' in shown


async def test_a_failed_operation_says_why(api, vm, work):
    uid = (await ask(api, verb="snapshot")).json()["uid"]
    await work(error="the disk is full", reason="DiskFull")
    told = (await api.get(f"/resources/vm/v/ops/{uid}")).json()
    assert (told["state"], told["error"]) == ("failed", {"message": "the disk is full", "reason": "DiskFull"})


async def test_operations_are_listed_the_youngest_first_in_pages(api, vm):
    uids = [(await ask(api, verb="snapshot")).json()["uid"] for _ in range(3)]
    first = await api.get("/resources/vm/v/ops", params={"limit": 2})
    rest = await api.get("/resources/vm/v/ops", params={"limit": 2, "cursor": first.headers["x-next-cursor"]})
    found = [told["uid"] for page in (first, rest) for told in page.json()["operations"]]
    assert found == uids[::-1]
    assert "x-next-cursor" not in rest.headers


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"verb": "reboot"}, 404, "unknown_verb"),
        ({"verb": "snapshot", "input": {"label": 5}}, 400, "schema"),
        ({"verb": "snapshot", "inptu": {}}, 422, "bad_body"),
        ({}, 422, "bad_body"),
    ],
)
async def test_what_cannot_be_run_is_refused_with_its_reason(api, vm, body, status, code):
    answer = await ask(api, **body)
    assert (answer.status_code, answer.json()["type"].rpartition(":")[2]) == (status, code)


async def test_operations_of_what_is_not_there_are_not_found(api, vm):
    for path in ("/resources/vm/w/ops", "/resources/vm/v/ops/nobody"):
        assert (await api.get(path)).status_code == 404
    assert (await api.post("/resources/vm/w/ops", json={"verb": "snapshot"})).status_code == 404


async def test_a_resource_that_is_deleted_takes_no_operation(api, vm, engine):
    await ask(api, verb="snapshot")
    await engine.claim([Want(KindVersion("vm"), 100, "worker")], "broker")
    await api.delete("/resources/vm/v")
    answer = await ask(api, verb="snapshot")
    assert (answer.status_code, answer.json()["type"].rpartition(":")[2]) == (409, "deleting")
