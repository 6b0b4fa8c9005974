"""The routes that users know: each is there, under the method that it always had."""

import asyncio

import pytest

pytestmark = pytest.mark.anyio

ONE = "/resources/{kind}/{name}"
KNOWN = {
    "/version": "GET",
    "/resources": "GET POST",
    "/resources/batch": "POST",
    "/resources/roots": "GET",
    "/resources/summary": "GET",
    ONE: "GET DELETE",
    f"{ONE}/reconcile": "POST",
    f"{ONE}/quarantine": "POST",
    f"{ONE}/unquarantine": "POST",
    f"{ONE}/spec-history": "GET",
    f"{ONE}/rollback": "POST",
    f"{ONE}/subgraph": "GET",
    f"{ONE}/summary": "GET",
    f"{ONE}/explain": "GET",
    f"{ONE}/children": "GET",
    f"{ONE}/dependencies": "GET",
    f"{ONE}/events": "GET",
    f"{ONE}/graph": "GET",
    f"{ONE}/ops": "GET POST",
    f"{ONE}/ops/{{uid}}": "GET",
    f"{ONE}/watch": "GET",
    f"{ONE}/wait": "GET",
    "/watch": "GET",
    f"/raw{ONE}/spec/{{generation}}": "GET",
    f"/raw{ONE}/status": "GET",
    "/kinds": "GET",
    "/kinds/manifests": "GET",
    "/kinds/{kind}/schema": "GET",
    "/kinds/{kind}/manifest": "PUT",
    "/kinds/{kind}/versions/{version}/manifest": "GET DELETE",
    "/kinds/{kind}/versions/{version}/config": "GET PUT",
    "/providerconfigs": "GET POST",
    "/providerconfigs/{name}": "GET DELETE",
    "/reactor-bindings": "GET POST",
    "/reactor-bindings/{name}": "GET DELETE",
    "/dead-letters": "GET",
    "/dead-letters/{id}/retry": "POST",
    "/cluster-members": "GET",
    "/audit": "GET",
    "/plan": "POST",
}
PARAMETERS = {
    ("GET", "/resources"): {"kind", "kv", "phase", "owner", "name", "label", "limit", "cursor"},
    ("GET", "/watch"): {"kind", "kv", "phase", "owner", "name", "label", "since", "last-event-id"},
    ("GET", f"{ONE}/wait"): {"for", "timeout"},
    ("POST", "/resources"): {"dryRun", "if-match", "If-None-Match"},
    ("DELETE", ONE): {"force", "dryRun", "if-match"},
    ("DELETE", "/providerconfigs/{name}"): {"dryRun", "if-match"},
    ("DELETE", "/reactor-bindings/{name}"): {"dryRun", "if-match"},
    ("DELETE", "/kinds/{kind}/versions/{version}/manifest"): {"dryRun", "if-match"},
    ("POST", f"{ONE}/rollback"): {"if-match"},
    ("POST", "/providerconfigs"): {"requeue", "if-match"},
    ("POST", "/reactor-bindings"): {"if-match"},
    ("PUT", "/kinds/{kind}/manifest"): {"force", "requeue", "if-match"},
    ("GET", ONE): {"if-none-match"},
    ("GET", "/kinds/{kind}/schema"): {"kind_version"},
    ("GET", "/providerconfigs/{name}"): {"reveal"},
    ("GET", "/audit"): {"actor", "type", "kind", "name", "since", "until", "limit", "cursor"},
}


@pytest.fixture
async def paths(api):
    document = (await api.get("http://localhost/openapi.json")).json()
    return {path.removeprefix("/api/v1"): methods for path, methods in document["paths"].items()}


@pytest.mark.parametrize(("path", "methods"), KNOWN.items())
async def test_each_known_route_is_served(paths, path, methods):
    assert {method.upper() for method in paths[path]} >= set(methods.split())


@pytest.mark.parametrize(("route", "names"), PARAMETERS.items())
async def test_each_known_parameter_is_taken(paths, route, names):
    method, path = route
    told = paths[path][method.lower()]["parameters"]
    assert {parameter["name"] for parameter in told if parameter["in"] != "path"} >= names


@pytest.mark.parametrize("path", KNOWN)
async def test_a_405_names_the_methods_of_the_path(api, paths, path):
    values = {"kind": "a", "name": "b", "version": 1, "generation": 1, "uid": "u", "id": 1}
    answer = await api.request("PATCH", path.format(**values), json={})
    assert answer.status_code == 405
    methods = {method.upper() for method in paths[path]}
    assert set(answer.headers["allow"].split(", ")) == methods | ({"HEAD"} if "GET" in methods else set())
    assert answer.json()["type"] == "urn:converge:problem:method_not_allowed"


@pytest.mark.parametrize("path", ["/nothing", "/resources/", "/kinds/a/b/c/d", "http://localhost/api/v2/version"])
async def test_a_route_that_is_not_there_is_a_problem(api, path):
    answer = await api.get(path)
    assert (answer.status_code, answer.headers["content-type"]) == (404, "application/problem+json")
    assert answer.json()["type"] == "urn:converge:problem:no_such_route"


@pytest.mark.parametrize(
    "path",
    [
        "/resources",
        "/resources/roots",
        "/resources/leaf/a/children",
        "/resources/leaf/a/events",
        "/resources/leaf/a/dependencies",
        "/audit",
        "/dead-letters",
    ],
)
@pytest.mark.parametrize("cursor", ["", "x", "-1", "9" * 40, "٣"])
async def test_a_cursor_that_no_list_answered_is_a_bad_request(api, leaf, path, cursor):
    await api.post("/resources", json={"kind": "leaf", "kind_version": 1, "name": "a"})
    answer = await api.get(path, params={"cursor": cursor})
    assert (answer.status_code, answer.json()["type"]) == (400, "urn:converge:problem:bad_cursor")


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("/kinds/leaf/versions/x/manifest", "path/version: expected a whole number"),
        ("/kinds/leaf/versions/0/manifest", "path/version: expected at least 1"),
        ("/resources?limit=501", "query/limit: expected at most 500"),
        (
            "/resources?phase=Nope",
            "query/phase/0: expected 'Deleting', 'Quarantined', 'Failed', 'Orphaned', 'Degraded', ",
        ),
        (f"/resources?{'&'.join(['kind=a'] * 101)}", "query/kind: expected at most 100 of them, got 101"),
        ("/resources/leaf/a/wait?for=x", "query/for: expected 'ready', 'synced' or 'deleted'"),
        ("/providerconfigs/x?reveal=maybe", "query/reveal: expected true or false"),
        ("/audit?since=yesterday", "query/since: not an instant such as 2026-01-31T12:00:00Z"),
    ],
)
async def test_a_parameter_that_can_t_be_meant_is_told_what_it_should_be(api, path, told):
    answer = await api.get(path)
    assert (answer.status_code, answer.json()["type"]) == (422, "urn:converge:problem:bad_parameter")
    assert answer.json()["detail"].startswith(told)


@pytest.mark.parametrize("path", ["/version", "/resources?limit=1", "/kinds/leaf/versions/1/manifest", "/nothing"])
async def test_a_head_is_answered_as_its_get_without_the_body(api, leaf, path):
    shown, headers = await api.get(path), await api.head(path)
    assert (headers.status_code, headers.content) == (shown.status_code, b"")
    assert {**headers.headers, "date": ""} == {**shown.headers, "date": ""}


async def test_a_head_of_a_stream_ends(api):
    answer = await asyncio.wait_for(api.head("/watch"), 10)
    assert (answer.status_code, answer.headers["content-type"].partition(";")[0]) == (200, "text/event-stream")


async def test_a_head_where_nothing_is_got_is_not_allowed(api):
    answer = await api.head("/kinds/leaf/manifest")
    assert (answer.status_code, answer.headers["allow"]) == (405, "PUT")
