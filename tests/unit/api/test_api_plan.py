"""Dry runs of many declarations over HTTP, and labels of kinds and configs."""

import json

import pytest

pytestmark = pytest.mark.anyio

KIND = {
    "type": "manifest",
    "kind": "leaf",
    "kind_version": 1,
    "spec_schema": {"type": "object", "properties": {"size": {"type": "number"}}},
    "reactions": [{"name": "work", "trigger": "specChange", "emits": ["status"]}],
}
CONFIG = {"type": "providerconfig", "name": "c", "kind": "leaf", "kind_version": 1, "spec": {"settings": {}}}
RESOURCE = {"type": "resource", "kind": "leaf", "kind_version": 1, "name": "a", "spec": {"size": 1}}


async def planned(api, *documents, **query):
    body = "\n".join(json.dumps(document) for document in documents)
    response = await api.post("/plan", content=body, params=query, headers={"content-type": "application/x-ndjson"})
    response.raise_for_status()
    return [json.loads(line) for line in response.content.splitlines()]


async def test_a_plan_answers_a_line_for_each_line_and_stores_nothing(api):
    told = await planned(api, KIND, CONFIG, RESOURCE)
    assert [(line["line"], line["result"]) for line in told] == [(1, "created"), (2, "created"), (3, "created")]
    assert told[2]["after"]["spec"] == {"size": 1}
    assert (await api.get("/kinds")).json() == {"kinds": []}


async def test_what_stays_as_it_is_is_the_same_on_both_sides(api, leaf):
    await api.post("/resources", json=RESOURCE)
    [told] = await planned(api, RESOURCE)
    assert (told["result"], told["before"]) == ("unchanged", told["after"])


@pytest.mark.parametrize(
    ("document", "location"),
    [
        ({"type": "pod"}, "body/type"),
        ({**RESOURCE, "spec": {"size": "big"}}, "body/spec/size"),
        ({**CONFIG, "kind": 3}, "body/kind"),
        ({**KIND, "labels": ["a"]}, "body/labels"),
        ({**KIND, "reactions": 1}, "body/reactions"),
    ],
)
async def test_a_line_that_is_refused_has_its_problem_and_the_others_their_results(api, leaf, document, location):
    wrong, right = await planned(api, document, RESOURCE)
    assert (wrong["result"], right["result"]) == ("failed", "created")
    assert wrong["problem"]["errors"][0]["location"] == location


async def test_a_break_of_a_kind_is_refused_unless_it_is_planned_with_force(api, leaf):
    closed = {**KIND, "spec_schema": {"type": "object", "required": ["size"]}}
    assert (await planned(api, closed))[0]["problem"]["status"] == 409
    assert (await planned(api, closed, force="true"))[0]["result"] == "configured"


async def test_a_plan_of_too_many_lines_is_refused(api, monkeypatch):
    monkeypatch.setattr("stdworker.engine.api.plan.DOCUMENTS_MAX", 1)
    body = "{}\n{}\n"
    response = await api.post("/plan", content=body, headers={"content-type": "application/x-ndjson"})
    assert response.status_code == 413


async def test_labels_of_kinds_and_configs_are_kept_when_absent_and_cleared_by_null(api):
    labelled = {**KIND, "labels": {"team": "a"}}
    assert (await api.put("/kinds/leaf/manifest", json=labelled)).headers["x-apply-result"] == "created"
    assert (await api.put("/kinds/leaf/manifest", json=KIND)).json()["labels"] == {"team": "a"}
    assert "labels" not in (await api.put("/kinds/leaf/manifest", json={**KIND, "labels": None})).json()
    await api.post("/providerconfigs", json={**CONFIG, "labels": {"team": "a"}})
    assert (await api.post("/providerconfigs", json=CONFIG)).json()["labels"] == {"team": "a"}
    assert (await api.get("/providerconfigs")).json()["providerconfigs"][0]["labels"] == {"team": "a"}
    assert (await api.post("/providerconfigs", json={**CONFIG, "labels": None})).json()["labels"] == {}
