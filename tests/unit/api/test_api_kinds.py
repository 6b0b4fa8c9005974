"""Kinds and provider configs over HTTP."""

import asyncio
import base64

import pytest

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("leaf")]

CONFIG = {"name": "main", "kind": "leaf", "kind_version": 1, "is_default": True, "spec": {"command": "x"}}


async def test_a_kind_is_listed_with_its_versions(api):
    manifest = (await api.get("/kinds/leaf/versions/1/manifest")).json()
    second = {key: value for key, value in manifest.items() if key != "manifest_version"} | {"kind_version": 2}
    (await api.put("/kinds/leaf/manifest", json=second)).raise_for_status()
    assert (await api.get("/kinds")).json() == {
        "kinds": [{"kind": "leaf", "versions": [1, 2], "description": "A thing without children."}]
    }
    assert [m["kind_version"] for m in (await api.get("/kinds/manifests")).json()["manifests"]] == [1, 2]


async def test_a_published_manifest_is_answered_with_its_version(api):
    manifest = (await api.get("/kinds/leaf/versions/1/manifest")).json()
    answer = await api.put("/kinds/leaf/manifest", json=manifest)
    assert (answer.status_code, answer.json()) == (200, manifest)
    assert manifest["manifest_version"] > 0


async def test_the_lowest_version_has_the_schema_unless_one_is_asked_for(api):
    shown = (await api.get("/kinds/leaf/schema")).json()
    assert (shown["kind_version"], shown["spec_schema"]["properties"]) == (1, {"size": {"type": "number"}})
    assert (await api.get("/kinds/leaf/schema", params={"kind_version": 2})).status_code == 404
    assert (await api.get("/kinds/elf/schema")).status_code == 404


async def test_an_illegal_manifest_tells_every_violation(api):
    answer = await api.put("/kinds/elf/manifest", json={"kind_version": 0, "reactions": [{"name": "x"}]})
    assert answer.status_code == 422
    assert len(answer.json()["errors"]) >= 2


async def test_a_manifest_of_another_kind_than_its_path_is_refused(api):
    answer = await api.put("/kinds/elf/manifest", json={"kind": "leaf"})
    assert (answer.status_code, answer.json()["errors"][0]["location"]) == (422, "body/kind")


async def test_a_schema_that_refers_outside_itself_is_refused_in_a_sentence_of_ours(api):
    manifest = (await api.get("/kinds/leaf/versions/1/manifest")).json()
    outside = {"spec_schema": {"$ref": "http://elsewhere.example/schema"}}
    answer = await api.put("/kinds/leaf/manifest", json=manifest | outside)
    told = "$ref leaves the document: http://elsewhere.example/schema"
    assert (answer.status_code, answer.json()["errors"][0]["message"]) == (422, told)


async def test_a_manifest_that_is_no_object_is_refused(api):
    assert (await api.put("/kinds/elf/manifest", json=[])).status_code == 422


async def test_a_kind_in_use_can_not_be_deleted(api):
    body = {"kind": "leaf", "kind_version": 1, "name": "one", "spec": {}}
    (await api.post("/resources", json=body)).raise_for_status()
    assert (await api.delete("/kinds/leaf/versions/1/manifest")).status_code == 409
    await api.delete("/resources/leaf/one")
    await api.get("/resources/leaf/one/wait", params={"for": "deleted"})
    assert (await api.delete("/kinds/leaf/versions/1/manifest")).json() == {"deleted": True}
    assert (await api.delete("/kinds/leaf/versions/1/manifest")).status_code == 404


async def test_a_policy_keeps_what_an_edit_leaves_out(api):
    path = "/kinds/leaf/versions/1/config"
    await api.put(path, json={"max_inflight": 3, "retired": True})
    edited = await api.put(path, json={"task_deadline_seconds": 9})
    assert edited.json() == (await api.get(path)).json()
    assert edited.json() | {"max_inflight": 3, "task_deadline_seconds": 9, "retired": True} == edited.json()


async def test_edits_of_a_policy_at_the_same_time_are_all_kept(api):
    path = "/kinds/leaf/versions/1/config"
    edits = {"max_inflight": 3, "task_deadline_seconds": 9, "retired": True, "max_transient_attempts": 4}
    await asyncio.gather(*(api.put(path, json={name: value}) for name, value in edits.items()))
    found = (await api.get(path)).json()
    assert found | edits == found


@pytest.mark.parametrize("what", ["manifest", "config"])
async def test_a_kind_and_its_config_are_edited_without_running_anything_again_if_so_asked(api, engine, work, what):
    body = {"kind": "leaf", "kind_version": 1, "name": "one", "spec": {}}
    (await api.post("/resources", json=body)).raise_for_status()
    assert await work() == 1
    manifest = (await api.get("/kinds/leaf/versions/1/manifest")).json()
    for query, ran in (({"requeue": "false"}, 0), ({}, 1)):
        if what == "manifest":
            manifest["reactions"].append({"name": f"poke{ran}", "trigger": "operation", "verb": f"v{ran}", "emits": []})
            edited = await api.put("/kinds/leaf/manifest", json=manifest, params=query)
        else:
            edited = await api.post("/providerconfigs", json=CONFIG | {"spec": {"command": str(ran)}}, params=query)
        edited.raise_for_status()
        await engine.follow_up()
        assert await work() == ran


@pytest.mark.parametrize(
    "body", [{"max_inflight": -1}, {"max_inflite": 1}, {"retired": 1}, {"orphan_grace_seconds": 2**31}]
)
async def test_a_policy_that_means_nothing_is_refused(api, body):
    assert (await api.put("/kinds/leaf/versions/1/config", json=body)).status_code == 422


@pytest.mark.parametrize("version", ["0", "32768", "x"])
async def test_a_version_out_of_range_is_refused(api, version):
    assert (await api.get(f"/kinds/leaf/versions/{version}/manifest")).status_code == 422


async def test_a_config_is_created_then_unchanged_then_configured(api):
    edited = CONFIG | {"spec": {"command": "y"}}
    answers = [await api.post("/providerconfigs", json=body) for body in (CONFIG, CONFIG, edited)]
    assert [(a.status_code, a.headers["x-apply-result"]) for a in answers] == [
        (201, "created"),
        (200, "unchanged"),
        (200, "configured"),
    ]


async def test_a_second_default_is_a_conflict(api):
    await api.post("/providerconfigs", json=CONFIG)
    assert (await api.post("/providerconfigs", json=CONFIG | {"name": "other"})).status_code == 409


async def test_the_end_of_a_default_config_names_the_kind_version_whose_resources_go_on_without_it(api):
    await api.post("/providerconfigs", json=CONFIG)
    unused = (await api.delete("/providerconfigs/main", params={"dryRun": True})).json()
    await api.post("/resources", json={"kind": "leaf", "kind_version": 1, "name": "a", "spec": {}})
    used = (await api.delete("/providerconfigs/main")).json()
    await api.post("/providerconfigs", json=CONFIG | {"is_default": False})
    no_default = (await api.delete("/providerconfigs/main")).json()
    assert [unused, used, no_default] == [
        {"deleted": False},
        {"deleted": True, "without_default": "leaf@1"},
        {"deleted": True},
    ]


async def test_a_bundle_travels_in_base64(api):
    data = base64.b64encode(b"\x00zip").decode()
    await api.post("/providerconfigs", json=CONFIG | {"data": data})
    assert (await api.get("/providerconfigs/main")).json()["data"] == data
    (listed,) = (await api.get("/providerconfigs", params={"kind": "leaf"})).json()["providerconfigs"]
    assert listed["data_bytes"] == 4
    assert "spec" not in listed


async def test_a_bundle_that_is_not_base64_is_refused(api):
    assert (await api.post("/providerconfigs", json=CONFIG | {"data": "!"})).status_code == 422


async def test_secrets_of_a_config_are_shown_only_when_asked_for(api, engine):
    spec = {"command": "x", "settings": {"api_key": "sesame"}, "env": {"LANG": "C"}}
    posted = await api.post("/providerconfigs", json=CONFIG | {"spec": spec})
    hidden = {"command": "x", "settings": {"api_key": "***"}, "env": {"LANG": "C"}}
    assert posted.json()["spec"] == (await api.get("/providerconfigs/main")).json()["spec"] == hidden
    assert (await api.get("/providerconfigs/main", params={"reveal": "true"})).json()["spec"] == spec
    revealed = [event for event in await engine.events() if event.type == "ConfigRevealed"]
    assert [(event.actor, event.kind, event.name) for event in revealed] == [("anonymous@127.0.0.1", "leaf", "main")]


async def test_a_masked_secret_is_not_stored_over_the_real_one(api):
    answer = await api.post("/providerconfigs", json=CONFIG | {"spec": {"env": {"API_KEY": "***"}}})
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:converge:problem:masked_secret")


async def test_a_config_is_deleted_once(api):
    await api.post("/providerconfigs", json=CONFIG)
    assert (await api.delete("/providerconfigs/main")).json() == {"deleted": True}
    assert (await api.delete("/providerconfigs/main")).status_code == 404
    assert (await api.get("/providerconfigs/main")).status_code == 404


async def test_a_manifest_that_breaks_what_was_published_is_a_conflict_that_lists_each_break(api):
    manifest = (await api.get("/kinds/leaf/versions/1/manifest")).json()
    spec_schema = {"type": "object", "properties": {"size": {"type": "integer"}}, "required": ["size"]}
    answer = await api.put("/kinds/leaf/manifest", json=manifest | {"spec_schema": spec_schema})
    assert (answer.status_code, answer.json()["type"]) == (409, "urn:converge:problem:incompatible")
    assert {(error["location"], error["value"]) for error in map(told, answer.json()["errors"])} == {
        ("body/spec_schema/properties/size/type", "integer"),
        ("body/spec_schema/required", "['size']"),
    }
    assert (await api.get("/kinds/leaf/versions/1/manifest")).json() == manifest


def told(error):
    return error | {"value": str(error["value"])}


async def test_a_break_is_published_by_force_and_recorded(api, engine):
    manifest = (await api.get("/kinds/leaf/versions/1/manifest")).json()
    broken = manifest | {"spec_schema": {"type": "object"}}
    answer = await api.put("/kinds/leaf/manifest", json=broken, params={"force": "true"})
    assert (answer.status_code, answer.json()["spec_schema"]) == (200, {"type": "object"})
    [forced] = [event for event in await engine.events() if event.type == "KindForced"]
    assert forced.actor == "anonymous@127.0.0.1"
    assert forced.detail["breaks"] == [
        {"path": "/spec_schema/properties/size", "message": "the property 'size' was removed"}
    ]


async def test_nothing_is_recorded_of_force_where_nothing_breaks(api, engine):
    manifest = (await api.get("/kinds/leaf/versions/1/manifest")).json()
    properties = manifest["spec_schema"]["properties"] | {"color": {"type": "string"}}
    more = manifest | {"spec_schema": {"type": "object", "properties": properties}}
    assert (await api.put("/kinds/leaf/manifest", json=more, params={"force": "true"})).status_code == 200
    assert [event for event in await engine.events() if event.type == "KindForced"] == []


@pytest.mark.parametrize(("name", "status"), [("spec_schema", 200), ("status_schema", 409)])
async def test_a_status_is_kept_for_those_who_read_it(api, name, status):
    manifest = (await api.get("/kinds/leaf/versions/1/manifest")).json()
    for value, expected in (({"maximum": 1}, 200), ({"maximum": 2}, status)):
        schema = {"type": "object", "properties": {"size": {"type": "number"}, "n": {"type": "number"} | value}}
        answer = await api.put("/kinds/leaf/manifest", json=manifest | {name: schema})
        assert answer.status_code == expected
