"""Many resources in one request."""

import json

import pytest

from stdworker.engine.api import batch, bodies

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("leaf")]


def line(name, spec="{}"):
    return f'{{"kind":"leaf","kind_version":1,"name":"{name}","spec":{spec}}}'


async def send(api, *lines, ending=""):
    answer = await api.post(
        "/resources/batch",
        content=("\n".join(lines) + ending).encode(),
        headers={"content-type": "application/x-ndjson"},
    )
    assert answer.status_code == 200
    return [json.loads(text) for text in answer.text.splitlines()]


async def test_each_line_is_answered_in_its_order(api):
    told = await send(api, line("a"), line("b"), line("a", '{"size":1}'), ending="\n")
    assert [(t["line"], t["result"], t["name"], t["generation"]) for t in told][:2] == [
        (1, "created", "a", 1),
        (2, "created", "b", 1),
    ]
    assert (told[2]["line"], told[2]["result"]) == (3, "configured")


async def test_a_line_that_fails_does_not_stop_the_others(api):
    told = await send(api, line("a"), "{", line("b", '{"size":"x"}'), '{"kind":"leaf"}', "[1]", line("c"))
    assert [t["result"] for t in told] == ["created", "failed", "failed", "failed", "failed", "created"]
    assert [t["problem"]["status"] for t in told if "problem" in t] == [400, 400, 422, 422]
    assert told[2]["problem"]["errors"][0] | {"message": ""} == {
        "message": "",
        "location": "body/spec/size",
        "value": "x",
    }


async def test_a_name_with_a_nul_fails_alone_at_its_place(api):
    kind = line("b").replace("leaf", "le\\u0000af")
    config = line("b").replace('"spec"', '"provider_config_ref":"\\u0000","spec"')
    told = await send(api, line("a"), line("b\\u0000"), kind, config, line("c"))
    assert [t["result"] for t in told] == ["created", "failed", "failed", "failed", "created"]
    wrong = [t["problem"]["errors"][0]["location"] for t in told[1:4]]
    assert wrong == ["body/name", "body/kind", "body/provider_config_ref"]


@pytest.mark.parametrize(
    ("path", "member"),
    [
        ("/providerconfigs", "name"),
        ("/providerconfigs", "kind"),
        ("/reactor-bindings", "name"),
        ("/reactor-bindings", "watch_kind"),
        ("/reactor-bindings", "reactor"),
    ],
)
async def test_a_nul_in_a_name_of_what_is_declared_is_refused_at_its_place(api, path, member):
    config = {"name": "c", "kind": "leaf", "kind_version": 1}
    binding = {"name": "b", "watch_kind": "leaf", "transition": "failed", "reactor": "ear"}
    body = config if path == "/providerconfigs" else binding
    answer = await api.post(path, json={**body, member: "a\0b"})
    assert (answer.status_code, answer.json()["errors"][0]["location"]) == (422, f"body/{member}")


async def test_blank_lines_are_skipped_but_counted(api):
    assert [t["line"] for t in await send(api, "", line("a"), "  ", line("b"), ending="\n\n")] == [2, 4]


async def test_an_empty_body_is_an_empty_batch(api):
    assert await send(api) == []


async def test_specs_arrive_verbatim(api):
    await send(api, line("a", '{"b": 1.0,"a":18446744073709551617}'))
    assert (await api.get("/raw/resources/leaf/a/spec/1")).content == b'{"b": 1.0,"a":18446744073709551617}'


async def test_more_lines_than_a_chunk_holds_land_all(api, monkeypatch):
    monkeypatch.setattr(batch, "CHUNK_DOCUMENTS_MAX", 3)
    told = await send(api, *(line(f"n{n}") for n in range(10)))
    assert [(t["line"], t["name"], t["result"]) for t in told] == [(n + 1, f"n{n}", "created") for n in range(10)]


async def test_a_batch_over_its_limit_is_too_large(api, monkeypatch):
    monkeypatch.setattr(bodies, "RESOURCE_BYTES_MAX", 100)
    answer = await api.post(
        "/resources/batch", content=line("a").encode() * 3, headers={"content-type": "application/x-ndjson"}
    )
    assert answer.status_code == 413


async def test_a_batch_of_too_many_lines_is_too_large(api, monkeypatch):
    monkeypatch.setattr(batch, "LINES_MAX", 3)
    answer = await api.post("/resources/batch", content=b"x\n" * 4, headers={"content-type": "application/x-ndjson"})
    assert (answer.status_code, answer.json()["type"]) == (413, "urn:converge:problem:too_many_lines")


async def pieces(*parts):
    for part in parts:
        yield part


@pytest.mark.parametrize(
    "parts", [[b'{"a":1}\n{"b":2}\n'], [b'{"a', b'":1}', b'\n{"b":2}'], [b'{"a":1}\n', b"{", b'"b":2}', b"\n"]]
)
async def test_lines_are_found_however_the_body_is_cut(parts):
    chunks = [chunk async for chunk in batch.chunks(batch.lines(pieces(*parts)))]
    assert chunks == [[(1, b'{"a":1}'), (2, b'{"b":2}')]]
