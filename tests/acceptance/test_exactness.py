"""Documents go all the way, token by token: apply → store → wire → program → status → REST and conctl."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from stdworker import KindVersion, Outcome, Terminal
from stdworker.model import pointer
from stdworker.model.json_text import RawJson, ascii_line, dumps, join_members, loads
from stdworker.model.settings import BrokerAddress
from stdworker.wire.channel import open_channel
from stdworker.worker import WorkerOptions, run_worker

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

BIN = Path(sys.executable).parent
HANG_SECONDS = 40
JSON = {"content-type": "application/json"}

# One of everything that is easily changed on the way.
VALUE = (
    '{"z":1,"a":1.0,"2^53+1":9007199254740993,"2^64":18446744073709551616,"tiny":5e-400,'
    '"long":123456789012345678901234567890,"longest":' + "7" * 1_000 + ","
    '"fraction":0.1000000000000000055511151231257827,"zeros":[0,-0,0.0,-0.0,0e0],"powers":[100,1e2,1E+2,1e-7],'
    '"text":"1.0","lines":"\\u2028\u2029\u0085\\u0000","astral":["\U0001f600","\\ud83d\\ude00"],'
    '"escapes":"\\/ / \\u0041 \u00e9 \\u00e9 \\t","":{"":[]},"a/b":{"~":null,"~1":[{}]},'
    '"ordered":{"9":1,"10":2,"1":3},"deep":' + "[" * 90 + "]" * 90 + "}"
)
INTEGERS = b'[9007199254740993,18446744073709551616,123456789012345678901234567890,1.0,1,-0.0,{"b":1,"a":2}]'
EXACT = ascii_line(VALUE.encode())

# Programs that cut documents out of the request as text, because their language can't hold such numbers.
PYTHON = r"""#!%s -S
import re, sys
for line in sys.stdin:
    id = re.search(r'"id":("[^"]*")', line)[1]
    cuts = re.findall(r'"v":(.*?),"end":1', line)
    print('{"id":%%s,"status":{"v":%%s,"config":%%s}}' %% (id, cuts[0], cuts[-1]), flush=True)
"""
NODE = r"""#!/usr/bin/env node
const text = require("fs").readFileSync(0, "utf8");
const cuts = [...text.matchAll(/"v":(.*?),"end":1/g)].map((found) => found[1]);
process.stdout.write(`{"status":{"v":${cuts[0]},"config":${cuts.at(-1)}}}`);
"""
BASH = r"""#!/usr/bin/env bash
while IFS= read -r line; do
  id=${line#*\"id\":\"} id=${id%%\"*}
  spec=${line#*\"v\":} spec=${spec%%,\"end\":1*}
  config=${line##*\"v\":} config=${config%%,\"end\":1*}
  printf '{"id":"%s","status":{"v":%s,"config":%s}}\n' "$id" "$spec" "$config"
done
"""
COMPOSER = r"""#!%s -S
import re, sys
value = re.search(r'"v":(.*?),"end":1', sys.stdin.read())[1]
child = '{"kind":"exact-bash","kind_version":1,"name":"%%s","spec":{%%s"end":1}}'
print('{"status":{"v":%%s},"children":[' %% value + child %% ("from", '"v":%%s,' %% value) + "," + child %% ("to", ""))
print('],"edges":[{"from":{"kind":"exact-bash","name":"to"},"to":{"kind":"exact-bash","name":"from"},')
print('"values":[{"dependent_field":"/flowed","source_field":"/v"}]}]}')
"""
PROGRAMS = {"python": (PYTHON % sys.executable, "stream"), "node": (NODE, "oneshot"), "bash": (BASH, "stream")}


def kind_file(kind, mode="oneshot", emits='"status"'):
    reaction = f'{{"name":"react","trigger":"specChange","emits":[{emits}]}}'
    settings = f'{{"v":{VALUE},"end":1}}'
    return (
        f'{{"kind":"{kind}","kind_version":1,"spec_schema":{{"type":"object"}},"reactions":[{reaction}],'
        f'"default_config":{{"mode":"{mode}","settings":{settings}}}}}'
    )


@pytest.fixture
def kinds(tmp_path):
    """A folder of programs, each with its kind file."""
    folder = tmp_path / "kinds"
    folder.mkdir()
    for name, (program, mode) in PROGRAMS.items():
        write(folder, f"exact-{name}", program, kind_file(f"exact-{name}", mode))
    write(folder, "exact-site", COMPOSER % sys.executable, kind_file("exact-site", emits='"status","children","edges"'))
    return folder


def write(folder, kind, program, manifest):
    path = folder / f"stdworker-kind-{kind}"
    path.write_text(program)
    path.chmod(0o755)
    (folder / f"{kind}.kind.json").write_text(manifest)


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def engine(request, serve):
    if request.param == "sqlite":
        return serve()
    return serve(DATABASE_URL=request.getfixturevalue("postgres").create_database())


@pytest.fixture
def worker(engine, kinds, tmp_path):
    """The installed worker, serving the folder of programs that `conctl` published."""
    conctl(engine, "apply", "-f", str(kinds))
    environment = os.environ | {"BROKER_ADDR": engine.broker, "STDWORKER_KINDS_PATH": str(kinds)}
    with (tmp_path / "worker.log").open("wb") as log:
        running = subprocess.Popen([str(BIN / "stdworker")], env=environment, stdout=log, stderr=log)
    yield
    running.terminate()
    running.wait(HANG_SECONDS)


def conctl(engine, *words, text=""):
    command = [str(BIN / "conctl"), *words]
    environment = {"PATH": os.environ["PATH"], "CONVERGE_SERVER": engine.rest}
    done = subprocess.run(
        command, env=environment, cwd=engine.folder, input=text.encode(), capture_output=True, check=False
    )
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@contextlib.contextmanager
def rest(engine):
    with httpx.Client(base_url=f"{engine.rest}/api/v1", timeout=HANG_SECONDS) as client:
        yield client


def ready(client, kind, name):
    """The resource as REST answers it, once it is Ready."""
    told = client.get(f"/resources/{kind}/{name}/wait", params={"for": "ready", "timeout": f"{HANG_SECONDS}s"})
    assert told.is_success, told.text
    return client.get(f"/resources/{kind}/{name}").raise_for_status().content


def at(document, place):
    found = pointer.find(document, place)
    assert found is not None, (place, document[:300])
    return found


def tokens(document):
    """A document as order, texts and numbers as they are written: what is left when blanks don't count."""
    return json.loads(document, object_pairs_hook=list, parse_int=lambda n: ("#", n), parse_float=lambda n: ("#", n))


def body(kind, name="one", spec=None):
    return f'{{"kind":"{kind}","kind_version":1,"name":"{name}","spec":{spec or f"""{{"v":{VALUE},"end":1}}"""}}}'


class Provider:
    def on_config(self, config):
        pass

    def ready(self):
        return True


def languages():
    return [name for name in PROGRAMS if name != "node" or shutil.which("node")]


def test_what_is_applied_over_rest_comes_back_token_by_token_from_programs_in_every_language(engine, worker):
    with rest(engine) as client:
        for name in languages():
            client.post("/resources", content=body(f"exact-{name}"), headers=JSON).raise_for_status()
        for name in languages():
            found = ready(client, f"exact-{name}", "one")
            assert at(found, "/spec/v") == EXACT
            assert at(found, "/status/v") == EXACT
            assert at(found, "/status/config") == EXACT
            shown = conctl(engine, "get", f"exact-{name}/one", "-o", "json")
            assert tokens(at(shown, "/status")) == tokens(at(found, "/status"))


def test_what_conctl_applies_from_files_of_json_and_yaml_is_the_same_document(engine, worker):
    (engine.folder / "one.json").write_text(body("exact-bash", "json"))
    (engine.folder / "two.yaml").write_text(body("exact-bash", "yaml").replace(r"\ud83d\ude00", r"\U0001f600"))
    conctl(engine, "apply", "-f", "one.json", "-f", "two.yaml")
    with rest(engine) as client:
        for name in ("json", "yaml"):
            found = ready(client, "exact-bash", name)
            assert tokens(at(found, "/spec/v")) == tokens(VALUE)
            assert tokens(at(found, "/status/v")) == tokens(VALUE)
        assert at(ready(client, "exact-bash", "json"), "/status/v") == EXACT


def test_children_and_values_that_flow_between_them_are_exact(engine, worker):
    with rest(engine) as client:
        client.post("/resources", content=body("exact-site", "site"), headers=JSON).raise_for_status()
        assert at(ready(client, "exact-site", "site"), "/status/v") == EXACT
        assert at(ready(client, "exact-bash", "from"), "/spec/v") == EXACT
        assert tokens(at(ready(client, "exact-bash", "to"), "/spec/flowed")) == tokens(EXACT)


async def test_a_provider_of_the_sdk_gets_and_gives_documents_token_by_token(engine):
    class Echo(Provider):
        kind = KindVersion("exact-sdk")

        async def work(self, request):
            assert request.resource.spec == loads(b'{"v":%s,"end":1}' % EXACT)
            return Outcome(status=join_members({"v": request.resource.spec_json, "value": dumps(loads(INTEGERS))}))

    found = await converge(engine, Echo())

    assert at(found, "/spec/v") == EXACT
    assert at(found, "/status/v/v") == EXACT
    assert at(found, "/status/value") == INTEGERS


async def converge(engine, provider, expect="ready"):
    """Serve a provider until its one resource is Ready (or has failed for good); the resource."""
    stop = asyncio.Event()
    async with open_channel(BrokerAddress.parse(engine.broker)) as channel:
        serving = asyncio.create_task(run_worker(channel, [provider], WorkerOptions(), stop=stop))
        try:
            async with httpx.AsyncClient(base_url=f"{engine.rest}/api/v1", timeout=HANG_SECONDS) as client:
                kind = provider.kind.kind
                published = json.loads(kind_file(kind))
                del published["default_config"]
                (await client.put(f"/kinds/{kind}/manifest", json=published)).raise_for_status()
                (await client.post("/resources", content=body(kind), headers=JSON)).raise_for_status()
                query = {"for": "ready", "timeout": f"{HANG_SECONDS}s"}
                told = await client.get(f"/resources/{kind}/one/wait", params=query)
                assert told.status_code == (200 if expect == "ready" else 409), told.text
                return (await client.get(f"/resources/{kind}/one")).content
        finally:
            stop.set()
            await serving


# ---- what can't be carried ----


def never():
    raise Terminal("a\0b \ud800", reason="No\0pe")


@pytest.mark.parametrize(
    ("work", "told"),
    [
        (never, r"a\\x00b \\ud800"),
        (lambda: Outcome(status={"a": [float("nan")]}), "the status: /a/0: can't be written as JSON: nan"),
        (lambda: Outcome(status=RawJson(b'{"a":[NaN]}')), "status: /a/0: NaN is not a JSON number"),
        (lambda: Outcome(status=RawJson(b'{"a":"\xff"}')), "status: byte 6 is not UTF-8"),
    ],
    ids=["a message that no store holds", "a float nan", "a raw NaN", "raw bytes"],
)
async def test_what_a_provider_reports_and_nobody_can_carry_fails_for_good_and_says_why(engine, work, told):
    class Broken(Provider):
        kind = KindVersion("exact-broken")

        async def work(self, request):
            return work()

    found = await converge(engine, Broken(), "failed")

    assert told in at(found, "/failure/message").decode()
    assert at(found, "/failure/terminal") == b"true"


REFUSED = [
    ('{"a":{"b":1,"b":2}}', "body/spec/a/b"),
    ('{"a":[NaN]}', "body/spec/a/0"),
    ('{"a":-Infinity}', "body/spec/a"),
    ('{"a":1e999}', "body/spec/a"),
    ('{"a":"\\ud800"}', "body/spec/a"),
    ('{"a":%s}' % ("1" * 1_001), "body/spec/a"),
    ('{"a":%s}' % ("[" * 101 + "]" * 101), "body/spec/a/0"),
]


def test_a_spec_that_json_peers_can_t_agree_on_is_refused_with_its_pointer(engine):
    conctl(engine, "apply", "-f", "-", text=kind_file("exact-any"))
    with rest(engine) as client:
        for spec, place in REFUSED:
            told = client.post("/resources", content=body("exact-any", spec=spec), headers=JSON)
            assert (told.status_code, told.json()["errors"][0]["location"][: len(place)]) == (400, place), told.text
            told = client.post("/providerconfigs", content=body("exact-any", spec=spec), headers=JSON)
            assert (told.status_code, told.json()["errors"][0]["location"][: len(place)]) == (400, place), told.text
        raw = body("exact-any").encode().replace(b'"1.0"', b'"\xed\xa0\x80"')
        told = client.post("/resources", content=raw, headers=JSON)
        assert (told.status_code, "UTF-8" in told.text) == (400, True), told.text


def test_a_name_with_nul_is_the_caller_s_mistake_whatever_the_store(engine):
    conctl(engine, "apply", "-f", "-", text=kind_file("exact-any"))
    with rest(engine) as client:
        told = client.post("/resources", content=body("exact-any", r"a\u0000b"), headers=JSON)
        looked_up = client.get("/resources/exact-any/a%00b")
    assert (told.status_code, looked_up.status_code in (404, 422)) == (422, True), looked_up.text
