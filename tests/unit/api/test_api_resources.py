"""Declaring, showing and deleting resources over HTTP."""

import asyncio
import gzip

import pytest

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("leaf")]

EXACT = b'{"z": 1.0, "size":18446744073709551617, "u":"\xc3\xa9", "e":1e3}'


def document(name="one", spec=b"{}", **more):
    extra = "".join(f',"{key}":{value}' for key, value in more.items()).encode()
    return b'{"kind":"leaf","kind_version":1,"name":"%s","spec":%s%s}' % (name.encode(), spec, extra)


def post(api, content, path="/resources", **query):
    return api.post(path, content=content, params=query, headers={"content-type": "application/json"})


async def test_a_resource_is_created_then_unchanged_then_configured(api):
    answers = [await post(api, document(spec=spec)) for spec in (b'{"size":1}', b'{ "size": 1 }', b'{"size":2}')]
    assert [(a.status_code, a.headers["x-apply-result"]) for a in answers] == [
        (201, "created"),
        (200, "unchanged"),
        (200, "configured"),
    ]
    assert answers[2].json()["generation"] == 2


async def test_a_resource_shows_everything_that_users_know_it_by(api):
    shown = (await post(api, document(labels='{"team":"a"}'))).json()
    assert shown | {"uid": "", "created_at": "", "updated_at": "", "work": {}, "conditions": []} == {
        "uid": "",
        "kind": "leaf",
        "kind_version": 1,
        "name": "one",
        "owner": None,
        "root": None,
        "spec": {},
        "status": None,
        "labels": {"team": "a"},
        "generation": 1,
        "synced_gen": 0,
        "is_ready": False,
        "health_ok": True,
        "phase": "Reconciling",
        "conditions": [],
        "finalizers": [],
        "failure": None,
        "provider_config": None,
        "work": {},
        "created_at": "",
        "updated_at": "",
    }
    assert {condition["type"] for condition in shown["conditions"]} == {"Synced", "Ready"}
    assert shown["work"]["task_type"] == "reconcile"
    assert shown["created_at"].endswith("Z")


async def test_a_spec_comes_back_with_every_token_as_it_was_sent(api):
    await post(api, document(spec=EXACT))
    raw = (await api.get("/raw/resources/leaf/one/spec/1")).content
    assert raw == b'{"z": 1.0, "size":18446744073709551617, "u":"\\u00e9", "e":1e3}'
    assert raw in (await api.get("/resources/leaf/one")).content


async def test_a_generation_that_is_not_kept_is_not_found(api):
    await post(api, document())
    assert (await api.get("/raw/resources/leaf/one/spec/7")).status_code == 404


async def test_a_status_is_shown_once_there_is_one(api, work):
    await post(api, document())
    assert (await api.get("/raw/resources/leaf/one/status")).status_code == 404
    await work()
    assert (await api.get("/raw/resources/leaf/one/status")).json() == {"ok": True}
    assert (await api.get("/resources/leaf/one")).json()["phase"] == "Ready"


@pytest.mark.parametrize(
    ("body", "status", "code", "location"),
    [
        (b"{", 400, "cut_short", None),
        (document(spec=b'{"size":NaN}'), 400, "not_finite", "body/spec/size"),
        (document(spec=b'{"size":"big"}'), 400, "schema", "body/spec/size"),
        (document(colour='"red"'), 422, "bad_body", "body/colour"),
        (document(name=""), 422, "invalid", "body/name"),
        (document(name="a/b"), 422, "invalid", "body/name"),
        (document(provider_config_ref='"none"'), 422, "bad_config_ref", "body/provider_config_ref"),
        (b'{"kind":"leaf","kind_version":2,"name":"x"}', 422, "unknown_kind", "body/kind_version"),
        (b'{"kind":"elf","kind_version":1,"name":"x"}', 422, "unknown_kind", "body/kind"),
        (b'{"kind":"leaf","name":"x"}', 422, "bad_body", "body/kind_version"),
    ],
)
async def test_a_declaration_that_breaks_rules_says_which_and_where(api, body, status, code, location):
    answer = await post(api, body)
    told = answer.json()
    assert (answer.status_code, told["type"].rpartition(":")[2]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert [error["location"] for error in told["errors"]] == ([location] if location else [])


async def test_a_violation_shows_the_value_that_breaks_it(api):
    (error,) = (await post(api, document(spec=b'{"size":"big"}'))).json()["errors"]
    assert error["value"] == "big"


async def test_a_dry_run_tells_what_would_change_and_changes_nothing(api):
    await post(api, document(spec=b'{"size":1.0}'))
    answer = await post(api, document(spec=b'{"size":2}'), dryRun="true")
    assert (answer.json()["result"], answer.json()["changes"]) == (
        "configured",
        [{"path": "/spec/size", "before": 1.0, "after": 2}],
    )
    assert (await api.get("/resources/leaf/one")).json()["generation"] == 1


async def test_a_dry_run_of_something_new_does_not_create_it(api):
    assert (await post(api, document(), dryRun="true")).headers["x-apply-result"] == "created"
    assert (await api.get("/resources/leaf/one")).status_code == 404


async def test_absent_labels_are_kept_and_null_clears_them(api):
    await post(api, document(labels='{"a":"1"}'))
    assert (await post(api, document())).json()["labels"] == {"a": "1"}
    assert (await post(api, document(labels="null"))).json()["labels"] == {}


async def test_a_list_is_paged_by_a_cursor_that_ends(api):
    for number in range(5):
        await post(api, document(f"n{number}"))
    seen, cursor = [], None
    for size in (2, 2, 1):
        page = await api.get("/resources", params={"limit": 2} | ({"cursor": cursor} if cursor else {}))
        assert len(page.json()["resources"]) == size
        seen += [resource["name"] for resource in page.json()["resources"]]
        cursor = page.headers.get("x-next-cursor")
    assert (seen, cursor) == (["n4", "n3", "n2", "n1", "n0"], None)


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ({"name": "ap"}, ["grape", "apple"]),
        ({"label": ["team:a", "tier:1"]}, ["apple"]),
        ({"phase": ["Ready", "Failed"]}, []),
        ({"phase": "Reconciling", "kind": "leaf"}, ["grape", "apple"]),
        ({"kv": "leaf/v1"}, ["grape", "apple"]),
        ({"kv": "leaf/2"}, []),
        ({"owner": "leaf/nobody"}, []),
    ],
)
async def test_filters_narrow_a_list_together(api, query, names):
    await post(api, document("apple", labels='{"team":"a","tier":"1"}'))
    await post(api, document("grape", labels='{"team":"a"}'))
    page = (await api.get("/resources", params=query)).json()
    assert [resource["name"] for resource in page["resources"]] == names


@pytest.mark.parametrize(
    "query",
    [
        "phse=Ready",
        "phase=Fine",
        "limit=0",
        "limit=501",
        "kv=leaf",
        "kv=leaf/v0",
        "owner=leaf",
        "kv=leaf/v" + "9" * 5_000,
        "label=team",
        "label=team:a&label=team:b",
        "cursor=%00",
    ],
)
async def test_a_filter_that_means_nothing_is_refused_not_ignored(api, query):
    answer = await api.get(f"/resources?{query}")
    assert answer.status_code in (400, 422)
    assert query.partition("=")[0] in answer.json()["detail"]


async def test_roots_and_the_summary_count(api):
    await post(api, document())
    (root,) = (await api.get("/resources/roots")).json()["roots"]
    assert (root["name"], root["resource_count"]) == ("one", 0)
    assert (await api.get("/resources/summary")).json() == {
        "totals": {"Reconciling": 1},
        "by_kind": {"leaf": {"Reconciling": 1}},
    }


async def test_a_deleted_resource_is_gone(api, work):
    await post(api, document())
    await work()
    assert (await api.delete("/resources/leaf/one")).json() == {
        "deleted": True,
        "below": 0,
        "dependents": 0,
        "first_dependents": [],
    }
    await api.get("/resources/leaf/one/wait", params={"for": "deleted"})
    assert (await api.get("/resources/leaf/one")).status_code == 404
    assert (await api.delete("/resources/leaf/one")).status_code == 404


async def test_a_reconcile_by_hand_is_a_new_generation(api):
    await post(api, document())
    answer = await api.post("/resources/leaf/one/reconcile")
    assert (answer.status_code, answer.json()["generation"]) == (202, 2)


async def test_a_body_may_come_zipped_and_a_long_answer_does(api):
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    body = gzip.compress(document(spec=b'{"text":"%s"}' % (b"x" * 5_000)))
    assert (await api.post("/resources", content=body, headers=headers)).status_code == 201
    assert (await api.get("/resources/leaf/one")).headers["content-encoding"] == "gzip"


async def test_a_failure_tells_why_and_whether_it_is_tried_again(api, work):
    await post(api, document())
    await work(error="no such bucket", reason="BucketMissing", terminal=True)
    shown = (await api.get("/resources/leaf/one")).json()
    failure = shown["failure"]
    assert (shown["phase"], failure["message"], failure["reason"]) == ("Failed", "no such bucket", "BucketMissing")
    assert (failure["terminal"], failure["next_attempt_at"]) == (True, None)


# ---- entity tags ----


async def test_a_resource_is_declared_only_if_it_is_new(api):
    body = {"kind": "leaf", "kind_version": 1, "name": "a", "spec": {"size": 1}}
    answers = [await api.post("/resources", json=body, headers={"if-none-match": "*"}) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [201, 412]
    assert answers[1].json()["detail"] == "leaf/a is there already"
    told = await api.post("/resources", json=body, headers={"if-none-match": '"x"'})
    assert (told.status_code, told.json()["type"]) == (400, "urn:converge:problem:bad_precondition")


async def tag(api, name="a"):
    return (await api.get(f"/resources/leaf/{name}")).headers["etag"]


async def test_an_apply_lands_only_on_the_resource_that_was_seen(api, leaf, work):
    body = {"kind": "leaf", "kind_version": 1, "name": "a", "spec": {"size": 1}}
    created = await api.post("/resources", json=body)
    seen = created.headers["etag"]
    assert seen == await tag(api)
    body["labels"] = {"team": "x"}
    changed = await api.post("/resources", json=body, headers={"if-match": f'"other", {seen}'})
    assert (changed.status_code, changed.headers["x-apply-result"]) == (200, "configured")
    late = await api.post("/resources", json=body | {"labels": {}}, headers={"if-match": seen})
    assert (late.status_code, late.json()["type"]) == (412, "urn:converge:problem:precondition")
    assert (await api.get("/resources/leaf/a")).json()["labels"] == {"team": "x"}


async def test_of_many_who_saw_the_same_only_one_changes_it(api, leaf):
    body = {"kind": "leaf", "kind_version": 1, "name": "a"}
    seen = (await api.post("/resources", json=body)).headers["etag"]
    answers = await asyncio.gather(
        *(api.post("/resources", json=body | {"labels": {"n": str(n)}}, headers={"if-match": seen}) for n in range(20))
    )
    assert sorted(answer.status_code for answer in answers) == [200] + [412] * 19


async def test_what_is_not_there_matches_no_tag(api, leaf):
    body = {"kind": "leaf", "kind_version": 1, "name": "a"}
    assert (await api.post("/resources", json=body, headers={"if-match": "*"})).status_code == 412
    assert (await api.get("/resources/leaf/a")).status_code == 404
    await api.post("/resources", json=body)
    assert (await api.post("/resources", json=body, headers={"if-match": "*"})).status_code == 200


async def test_a_delete_asks_for_the_resource_that_was_seen_too(api, leaf, work):
    await api.post("/resources", json={"kind": "leaf", "kind_version": 1, "name": "a"})
    seen = await tag(api)
    await work()
    assert (await api.delete("/resources/leaf/a", headers={"if-match": seen})).status_code == 412
    assert (await api.delete("/resources/leaf/a", headers={"if-match": await tag(api)})).status_code == 200


async def test_a_settled_resource_is_not_sent_again_to_who_has_it(api, leaf, work):
    await api.post("/resources", json={"kind": "leaf", "kind_version": 1, "name": "a"})
    moving = await tag(api)
    assert (await api.get("/resources/leaf/a", headers={"if-none-match": moving})).status_code == 200
    await work()
    assert (await api.get("/resources/leaf/a", headers={"if-none-match": moving})).status_code == 200
    seen = await tag(api)
    for header in (seen, f"W/{seen}", f'"other", {seen}', "*"):
        known = await api.get("/resources/leaf/a", headers={"if-none-match": header})
        assert (known.status_code, known.content, known.headers["etag"]) == (304, b"", seen)


async def test_a_rollback_asks_for_the_resource_that_was_seen_too(api, leaf):
    body = {"kind": "leaf", "kind_version": 1, "name": "a"}
    seen = (await api.post("/resources", json={**body, "spec": {"size": 1}})).headers["etag"]
    now = (await api.post("/resources", json={**body, "spec": {"size": 2}})).headers["etag"]
    late = await api.post("/resources/leaf/a/rollback", json={"generation": 1}, headers={"if-match": seen})
    assert (late.status_code, late.json()["type"]) == (412, "urn:converge:problem:precondition")
    assert (await api.get("/resources/leaf/a")).json()["spec"] == {"size": 2}
    done = await api.post("/resources/leaf/a/rollback", json={"generation": 1}, headers={"if-match": now})
    assert done.json() == {"generation": 3}


async def test_a_spec_that_is_left_out_is_kept_and_null_clears_it(api, leaf):
    body = {"kind": "leaf", "kind_version": 1, "name": "a"}
    await api.post("/resources", json={**body, "spec": {"size": 1}})
    assert (await api.post("/resources", json=body)).json()["spec"] == {"size": 1}
    assert (await api.post("/resources", json={**body, "spec": None})).json()["spec"] == {}


async def test_a_dry_run_tells_no_tag_of_what_is_not_there(api, leaf):
    body = {"kind": "leaf", "kind_version": 1, "name": "a", "spec": {"size": 1}}
    assert "etag" not in (await api.post("/resources?dryRun=true", json=body)).headers
