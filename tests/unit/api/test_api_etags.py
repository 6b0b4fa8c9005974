"""Entity tags of what isn't a resource: kinds, provider configs, reactor bindings."""

import asyncio
from typing import NamedTuple

import pytest

from tests.unit.api.conftest import MANIFEST

pytestmark = pytest.mark.anyio

EAR = {"kind": "ear", "kind_version": 1, "reactions": [{"name": "hear", "trigger": "reactor", "emits": ["sideEffect"]}]}


class Sort(NamedTuple):
    """How a sort of thing is changed, and where one of it is looked at; each body declares the same thing."""

    method: str
    path: str
    place: str
    body: dict


KIND = Sort("PUT", "/kinds/leaf/manifest", "/kinds/leaf/versions/1/manifest", MANIFEST)
CONFIG = Sort(
    "POST", "/providerconfigs", "/providerconfigs/c", {"name": "c", "kind": "leaf", "kind_version": 1, "spec": {}}
)
BINDING = Sort(
    "POST",
    "/reactor-bindings",
    "/reactor-bindings/b",
    {"name": "b", "watch_kind": "leaf", "transition": "failed", "reactor": "ear"},
)


@pytest.fixture(params=[KIND, CONFIG, BINDING], ids=["kind", "config", "binding"])
async def sort(request, api, leaf) -> Sort:
    (await api.put("/kinds/ear/manifest", json=EAR)).raise_for_status()
    (await put(api, request.param)).raise_for_status()
    return request.param


async def put(api, sort, *, label=None, tag=None):
    """Declare it; a label tells one declaration from another."""
    body = sort.body if label is None else {**sort.body, "labels": {"by": label}}
    return await api.request(sort.method, sort.path, json=body, headers={"if-match": tag} if tag else {})


async def test_what_declares_a_thing_and_what_shows_it_tell_the_same_tag(api, sort):
    declared = await put(api, sort, label="ada")
    shown = await api.get(sort.place)
    assert declared.headers["etag"] == shown.headers["etag"]
    assert (await put(api, sort, label="ada")).headers["etag"] == shown.headers["etag"]


async def test_a_thing_is_changed_only_if_it_is_what_was_seen(api, sort):
    seen = (await api.get(sort.place)).headers["etag"]
    assert (await put(api, sort, label="ada", tag=f'"other", {seen}')).status_code == 200
    late = await put(api, sort, label="bob", tag=seen)
    assert (late.status_code, late.json()["type"]) == (412, "urn:converge:problem:precondition")
    assert (await api.get(sort.place)).json()["labels"] == {"by": "ada"}


async def test_a_thing_is_declared_only_if_there_is_none_yet(api, sort):
    new = {"if-none-match": "*"}
    there = await api.request(sort.method, sort.path, json={**sort.body, "labels": {"by": "ada"}}, headers=new)
    assert (there.status_code, there.json()["type"]) == (412, "urn:converge:problem:precondition")
    assert (await api.get(sort.place)).json().get("labels", {}) == {}
    (await api.delete(sort.place)).raise_for_status()
    assert (await api.request(sort.method, sort.path, json=sort.body, headers=new)).is_success


async def test_of_many_who_saw_the_same_thing_only_one_changes_it(api, sort):
    seen = (await api.get(sort.place)).headers["etag"]
    answers = await asyncio.gather(*(put(api, sort, label=str(number), tag=seen) for number in range(10)))
    assert sorted(answer.status_code for answer in answers) == [200] + [412] * 9


async def test_a_thing_is_deleted_only_if_it_is_what_was_seen(api, sort):
    seen = (await api.get(sort.place)).headers["etag"]
    now = (await put(api, sort, label="ada")).headers["etag"]
    assert (await api.delete(sort.place, headers={"if-match": seen})).status_code == 412
    assert (await api.delete(sort.place, headers={"if-match": now})).status_code == 200
    assert (await api.get(sort.place)).status_code == 404


async def test_a_dry_run_of_a_deletion_answers_what_the_deletion_would_and_changes_nothing(api, sort):
    before = await api.get(sort.place)
    dry = await api.delete(f"{sort.place}?dryRun=true")
    assert (dry.status_code, dry.json()) == (200, {"deleted": False})
    assert (await api.delete(f"{sort.place}?dryRun=true", headers={"if-match": '"other"'})).status_code == 412
    after = await api.get(sort.place)
    assert (after.json(), after.headers["etag"]) == (before.json(), before.headers["etag"])
    assert "Deleted" not in str((await api.get("/audit")).json())


async def test_a_thing_that_is_not_there_matches_no_tag(api, sort):
    await api.delete(sort.place)
    gone = await put(api, sort, tag="*")
    assert (gone.status_code, (await api.get(sort.place)).status_code) == (412, 404)


async def test_the_live_policy_of_a_kind_is_no_part_of_its_tag(api, leaf):
    seen = (await api.get(KIND.place)).headers["etag"]
    (await api.put("/kinds/leaf/versions/1/config", json={"max_inflight": 3})).raise_for_status()
    assert (await api.get(KIND.place)).headers["etag"] == seen
