"""Secrets of provider configs: no route shows them to who didn't ask for them, and who asks is recorded."""

import json
import re

import pytest

from tests.unit.api.conftest import MANIFEST

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("leaf")]

SECRETS = ("sesame-of-default", "sesame-of-override", "sesame-in-env")
DEFAULT = {
    "name": "base",
    "kind": "leaf",
    "kind_version": 1,
    "is_default": True,
    "spec": {"settings": {"db_password": SECRETS[0]}, "env": {"API_TOKEN": SECRETS[2]}},
}
OVERRIDE = {"name": "own", "kind": "leaf", "kind_version": 1, "spec": {"settings": {"db_password": SECRETS[1]}}}
RESOURCE = {"kind": "leaf", "kind_version": 1, "name": "a", "spec": {"size": 1}, "provider_config_ref": "own"}
BINDING = {"name": "b", "watch_kind": "leaf", "transition": "failed", "reactor": "ear"}
EAR = {"kind": "ear", "kind_version": 1, "reactions": [{"name": "hear", "trigger": "reactor", "emits": ["sideEffect"]}]}
NO_TEXT = {"properties": {"settings": {"properties": {"db_password": {"type": "number"}}}}}
FEW = {"properties": {"settings": {"maxProperties": 0}}}
NAMES = {"/api/v1/providerconfigs/{name}": ("base", "own"), "/api/v1/reactor-bindings/{name}": ("b",)}
VALUES = {"kind": "leaf", "version": "1", "generation": "1", "name": "a", "uid": "none", "id": "1"}


def shown(answer):
    assert answer.status_code < 500
    return [secret for secret in SECRETS if secret in answer.text]


async def paths(api):
    """Every path that is read, with the names of what there is."""
    document = (await api.get("http://localhost/openapi.json")).json()
    for path in (path for path, methods in document["paths"].items() if "get" in methods):
        if path.endswith("/watch"):
            continue  # they have no end; what they show is the resource
        names = {"/providerconfigs": ("base", "own"), "/reactor-bindings": ("b",)}.get(
            path.split("/{name}")[0][7:], ("a",)
        )
        for name in names if "{name}" in path else ("",):
            yield re.sub(r"{(\w+)}", lambda found, name=name: {**VALUES, "name": name}[found[1]], path)


@pytest.mark.parametrize("schema", [NO_TEXT, FEW], ids=["of a secret", "of what holds one"])
async def test_no_route_shows_a_secret_of_a_config(api, engine, work, schema):
    await api.put("/kinds/ear/manifest", json=EAR)
    for path, body in (("/providerconfigs", DEFAULT), ("/providerconfigs", OVERRIDE), ("/reactor-bindings", BINDING)):
        assert shown(await api.post(path, json=body)) == []
    (await api.post("/resources", json=RESOURCE)).raise_for_status()
    forced = await api.put("/kinds/leaf/manifest?force=true", json={**MANIFEST, "config_schema": schema})
    assert forced.status_code == 200
    await work()
    failed = (await api.get("/resources/leaf/a")).json()
    assert "breaks the config schema" in failed["failure"]["message"]

    asked = [path async for path in paths(api)]
    assert len(asked) > 30
    for path in asked:
        query = {"timeout": "0s"} if path.endswith("/wait") else {}
        assert shown(await api.get(f"http://localhost{path}", params=query)) == [], path


async def test_what_is_refused_of_a_config_is_told_without_its_secrets(api):
    await api.put("/kinds/leaf/manifest?force=true", json={**MANIFEST, "config_schema": NO_TEXT})
    refused = await api.post("/providerconfigs", json=DEFAULT)
    assert (refused.status_code, shown(refused)) == (422, [])
    assert refused.json()["errors"][0]["location"] == "body/spec/settings/db_password"
    assert "*** is not of type" in refused.json()["errors"][0]["message"]


async def test_what_is_no_secret_is_told_with_its_value(api):
    schema = {"properties": {"settings": {"properties": {"retries": {"type": "string"}}}}}
    await api.put("/kinds/leaf/manifest?force=true", json={**MANIFEST, "config_schema": schema})
    refused = await api.post("/providerconfigs", json={**OVERRIDE, "spec": {"settings": {"retries": 5}}})
    assert refused.json()["errors"][0]["message"] == '5 is not of type "string"'
    assert refused.json()["errors"][0]["value"] == 5


async def test_a_plan_shows_no_secret(api):
    line = json.dumps({**DEFAULT, "type": "providerconfig"})
    planned = await api.post("/plan", content=line, headers={"content-type": "application/x-ndjson"})
    assert (planned.status_code, shown(planned)) == (200, [])
    assert "***" in planned.text


async def test_who_asks_for_a_secret_sees_it_and_is_recorded(api):
    await api.post("/providerconfigs", json=DEFAULT)
    assert shown(await api.get("/providerconfigs/base?reveal=true")) == [SECRETS[0], SECRETS[2]]
    audit = (await api.get("/audit?type=ConfigRevealed")).json()["audit"]
    assert [entry["name"] for entry in audit] == ["base"]
