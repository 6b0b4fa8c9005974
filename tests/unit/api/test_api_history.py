"""Freezing a resource, and the specs that it has had, over REST."""

import pytest

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("leaf")]

LEAF = "/resources/leaf/one"


async def declare(api, spec='{"size": 1.50}'):
    body = f'{{"kind": "leaf", "kind_version": 1, "name": "one", "spec": {spec}}}'
    (await api.post("/resources", content=body, headers={"content-type": "application/json"})).raise_for_status()


async def post(api, verb, **body):
    answer = await api.post(f"{LEAF}/{verb}", **({"json": body} if body else {}))
    return answer.status_code, answer.json()


async def test_quarantine_and_its_end_are_answered_with_how_it_stands_again_and_again(api, work):
    await declare(api)
    assert [await post(api, "quarantine") for _ in range(2)] == [(200, {"quarantined": True})] * 2
    assert (await api.get(LEAF)).json()["phase"] == "Quarantined"
    assert await work() == 0
    assert [await post(api, "unquarantine") for _ in range(2)] == [(200, {"quarantined": False})] * 2
    assert await work() == 1


async def test_waiting_for_a_frozen_resource_and_its_operations_are_refused(api):
    await declare(api)
    await post(api, "quarantine")
    waited = await api.get(f"{LEAF}/wait", params={"timeout": "60s"})
    assert (waited.status_code, waited.json()["type"]) == (409, "urn:converge:problem:quarantined")


@pytest.mark.parametrize("verb", ["quarantine", "unquarantine", "rollback"])
async def test_what_is_not_there_is_not_found(api, verb):
    assert (await api.post(f"/resources/leaf/none/{verb}", json={"generation": 1})).status_code == 404


async def test_the_history_says_which_spec_came_when_and_from_whom(api):
    await declare(api)
    await declare(api, "{}")
    live, first = (await api.get(f"{LEAF}/spec-history")).json()["revisions"]
    assert (live["generation"], live["is_live"], first["generation"], first["is_live"]) == (2, True, 1, False)
    assert (first["kind_version"], first["size_bytes"]) == (1, len('{"size": 1.50}'))
    assert first["actor"].startswith("anonymous")
    assert first["created_at"] <= live["created_at"]


async def test_the_history_is_paged(api):
    for size in range(3):
        await declare(api, f'{{"size": {size}}}')
    first = await api.get(f"{LEAF}/spec-history", params={"limit": 2})
    second = await api.get(f"{LEAF}/spec-history", params={"limit": 2, "cursor": first.headers["x-next-cursor"]})
    told = [[(r["generation"], r["is_live"]) for r in page.json()["revisions"]] for page in (first, second)]
    assert told == [[(3, True), (2, False)], [(1, False)]]
    assert "x-next-cursor" not in second.headers
    assert (await api.get(f"{LEAF}/spec-history", params={"cursor": "x"})).status_code == 400


async def test_the_spec_of_any_kept_generation_is_downloaded_token_by_token(api):
    await declare(api)
    await declare(api, "{}")
    assert (await api.get(f"/raw{LEAF}/spec/1")).content == b'{"size": 1.50}'
    assert (await api.get(f"/raw{LEAF}/spec/2")).content == b"{}"
    assert (await api.get(f"/raw{LEAF}/spec/3")).status_code == 404
    assert (await api.get(f"/raw{LEAF}/spec/0")).status_code == 422


async def test_a_rollback_answers_the_generation_that_it_made(api):
    await declare(api)
    await declare(api, "{}")
    assert await post(api, "rollback", generation=1) == (200, {"generation": 3})
    assert await post(api, "rollback", generation=3) == (200, {"generation": 3})
    assert (await api.get(f"/raw{LEAF}/spec/3")).content == b'{"size": 1.50}'
    assert (await post(api, "rollback", generation=9))[0] == 404
    assert (await post(api, "rollback", generation=0))[0] == 422
