"""The OpenAPI document tells the truth, and its page needs nothing from elsewhere."""

import json
import re

import jsonschema
import pytest

from stdworker.engine.api import examples
from stdworker.errors import StoreUnavailable

pytestmark = pytest.mark.anyio


@pytest.fixture
async def document(api):
    return (await api.get("http://localhost/openapi.json")).json()


PAGER = {
    "kind": "pager",
    "kind_version": 1,
    "reactions": [{"name": "tell", "trigger": "reactor", "emits": ["sideEffect"]}],
}


def operations(document):
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def refs(value):
    if isinstance(value, dict):
        yield from ([value["$ref"]] if "$ref" in value else [])
        for inner in value.values():
            yield from refs(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from refs(inner)


async def test_every_reference_leads_somewhere(document):
    known = {f"#/components/{what}/{name}" for what, named in document["components"].items() for name in named}
    assert set(refs(document)) <= known


async def test_every_operation_has_a_summary_and_every_write_with_a_body_an_example(document):
    assert [o for o in operations(document) if not o[2]["summary"]] == []
    bodies = [o[2]["requestBody"]["content"] for o in operations(document) if "requestBody" in o[2]]
    assert len(bodies) >= 5
    assert [b for b in bodies if not all("example" in content for content in b.values())] == []


def answers(document):
    """Each documented answer with content: (path, method, status, media type, content)."""
    for path, method, operation in operations(document):
        for status, response in operation["responses"].items():
            response = (
                document["components"]["responses"][response["$ref"].rpartition("/")[2]]
                if "$ref" in response
                else response
            )
            for media_type, content in response.get("content", {}).items():
                yield path, method, status, media_type, content


async def test_every_documented_answer_has_an_example_of_its_shape(document):
    checked = 0
    for path, method, status, _, content in answers(document):
        where = f"{method} {path} {status}"
        assert "example" in content, f"{where}: add one to stdworker/engine/api/examples.py"
        schema = content["schema"] | {"components": document["components"]}
        found = [error.message for error in jsonschema.Draft202012Validator(schema).iter_errors(content["example"])]
        assert found == [], where
        checked += 1
    assert checked > 100


async def test_every_refusal_is_a_problem_with_its_status(document):
    refusals = [a for a in answers(document) if int(a[2]) >= 400]
    assert {a[3] for a in refusals} == {"application/problem+json"}
    assert [a[:3] for a in refusals if a[4]["example"]["status"] != int(a[2])] == []
    for _, _, operation in operations(document):
        assert {"403", "421", "429", "503"} <= operation["responses"].keys()
        assert "requestBody" not in operation or {"400", "413", "415", "422"} <= operation["responses"].keys()


async def test_examples_have_all_that_a_live_answer_has(document, api):
    """An example that leaves out what is new is an old one."""
    await api.put("/kinds/greeter/manifest", json=examples.MANIFEST)
    shown = {
        "ResourceView": await api.post(
            "/resources", json={"kind": "greeter", "kind_version": 1, "name": "ada", "spec": {"name": "Ada"}}
        ),
        "OperationView": await api.post("/resources/greeter/ada/ops", json={"verb": "greet"}),
        "PolicyView": await api.get("/kinds/greeter/versions/1/config"),
        "KindSchema": await api.get("/kinds/greeter/schema"),
        "VersionView": await api.get("/version"),
        "Graph": await api.get("/resources/greeter/ada/graph"),
        "ChildrenView": await api.get("/resources/greeter/ada/children"),
    }
    for name, answer in shown.items():
        assert answer.json().keys() == examples.ANSWERS[name].keys(), name


async def test_every_example_is_accepted(document, api):
    await api.put("/kinds/pager/manifest", json=PAGER)
    order = {"put": 0, "post": 1}
    found = [o for o in operations(document) if "requestBody" in o[2]]
    for path, method, operation in sorted(found, key=lambda o: order[o[1]] + ("versions" in o[0])):
        for media_type, content in operation["requestBody"]["content"].items():
            address = "http://localhost" + path.format(kind="greeter", name="ada", version=1)
            answer = await api.request(
                method, address, content=json.dumps(content["example"]), headers={"content-type": media_type}
            )
            assert answer.status_code < 300, (path, answer.text)
            assert '"failed"' not in answer.text


async def test_answers_have_the_shape_that_is_documented(document, api):
    await api.put(
        "/kinds/greeter/manifest",
        json=document["paths"]["/api/v1/kinds/{kind}/manifest"]["put"]["requestBody"]["content"]["application/json"][
            "example"
        ],
    )
    example = document["paths"]["/api/v1/resources"]["post"]["requestBody"]["content"]["application/json"]["example"]
    await api.post("/resources", json=example)
    await api.put("/kinds/pager/manifest", json=PAGER)
    binding = {"name": "ada", "watch_kind": "greeter", "transition": "synced", "reactor": "pager"}
    await api.post("/reactor-bindings", json=binding)
    uid = (await api.post("/resources/greeter/ada/ops", json={"verb": "greet"})).json()["uid"]
    checked = 0
    for path, method, operation in operations(document):
        if (
            method != "get"
            or "providerconfigs/{" in path
            or "raw" in path
            or "dead-letters/{" in path
            or path.endswith(("/wait", "/watch"))
        ):
            continue
        answer = await api.get("http://localhost" + path.format(kind="greeter", name="ada", version=1, uid=uid))
        schema = operation["responses"]["200"]["content"]["application/json"]["schema"]
        jsonschema.validate(answer.json(), schema | {"components": document["components"]})
        checked += 1
    assert checked >= 12


async def test_the_page_shows_every_route_and_loads_nothing_from_elsewhere(document, api):
    answer = await api.get("http://localhost/docs")
    assert [path for path in document["paths"] if path not in answer.text] == []
    assert re.findall(r"""(?:src|href)=["'](?!/|#)""", answer.text) == []
    style = await api.get("http://localhost/docs.css")
    assert style.headers["content-type"].startswith("text/css")


async def test_the_probes_answer_and_metrics_count_requests_by_route(api, leaf):
    assert (await api.get("http://localhost/livez")).text == "ok"
    assert (await api.get("http://localhost/readyz")).text == "ok"
    await api.get("/resources/leaf/none")
    shown = (await api.get("http://localhost/metrics")).text
    assert re.search(
        r'converge_http_requests_total\{method="GET",route="\S*/resources/\{kind\}/\{name\}",status="404"\}', shown
    )


async def test_an_engine_whose_store_is_gone_is_not_ready(api, engine, monkeypatch):
    async def gone():
        raise StoreUnavailable("disk gone", code="store_full")

    monkeypatch.setattr(engine, "ping", gone)
    answer = await api.get("http://localhost/readyz")
    told = answer.json()
    assert (answer.status_code, told["detail"], told["type"]) == (503, "disk gone", "urn:converge:problem:store_full")


async def test_the_version_says_what_answers(api):
    answer = await api.get("/version")
    assert answer.json()["api_version"] == answer.headers["x-api-version"] == "v1"
    assert answer.json()["store"] == "sqlite"


async def test_headers_that_are_documented_of_a_declaration_are_sent(api, leaf, document):
    config = {"name": "c", "kind": "leaf", "kind_version": 1, "spec": {}}
    binding = {"name": "b", "watch_kind": "leaf", "transition": "created", "reactor": "pager"}
    resource = {"kind": "leaf", "kind_version": 1, "name": "a"}
    sent = {
        "/kinds/{kind}/manifest": await api.put("/kinds/pager/manifest", json=PAGER),
        "/providerconfigs": await api.post("/providerconfigs", json=config),
        "/reactor-bindings": await api.post("/reactor-bindings", json=binding),
        "/resources": await api.post("/resources", json=resource),
    }
    for path, answer in sent.items():
        [operation] = (
            methods.get("put") or methods["post"]
            for place, methods in document["paths"].items()
            if place == f"/api/v1{path}"
        )
        told = operation["responses"][str(answer.status_code)]["headers"]
        assert [name for name in told if name not in answer.headers] == [], path


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("POST", "/resources/leaf/a/reconcile", {"content-type": "text/plain"}),
        ("DELETE", "/resources/leaf/a", {"content-type": "text/plain"}),
        ("POST", "/resources/leaf/a/quarantine", {"if-match": '"x"'}),
        ("GET", "/watch", {"last-event-id": "x"}),
        ("GET", "/resources/leaf/a/watch", {"last-event-id": "x"}),
    ],
)
async def test_what_is_refused_for_its_headers_is_documented(api, leaf, document, method, path, headers):
    answer = await api.request(method, path, headers=headers)
    operation = document["paths"]["/api/v1" + path.replace("leaf/a", "{kind}/{name}")][method.lower()]
    assert answer.status_code in (400, 415)
    assert str(answer.status_code) in operation["responses"]


async def test_no_parameter_is_documented_to_take_a_nul(document):
    found = [parameter for _, _, operation in operations(document) for parameter in operation.get("parameters", ())]
    components = {"components": document["components"]}
    told = [(p["name"], p["schema"] | components) for p in found if p["in"] != "header"]
    texts = ("a\0b", "a:\0", ["a\0b"], ["a:\0"])
    takes = [name for name, schema in told if any(map(jsonschema.Draft202012Validator(schema).is_valid, texts))]
    assert takes == []
