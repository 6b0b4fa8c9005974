"""Every example, run as its README says, alone and on a real engine; the same number is the same behaviour."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
BIN = Path(sys.executable).parent
HANG_SECONDS = 60
LANGUAGES = {"bash": "jq", "node": "node", "python": "python3"}
CODE = re.compile(r"^```\n(stdworker call .*?)\n```", re.DOTALL | re.MULTILINE)

pytestmark = pytest.mark.slow


@pytest.fixture(params=LANGUAGES)
def language(request):
    tool = LANGUAGES[request.param]
    if shutil.which(tool) is None:
        if os.environ.get("CI"):
            pytest.fail(f"CI must have {tool}")
        pytest.skip(f"{tool} is not installed")
    return request.param


def call(folder, *arguments):
    program = next(path for path in folder.iterdir() if os.access(path, os.X_OK))
    command = [str(BIN / "stdworker"), "call", "--output", "json", *arguments, f"./{program.name}"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=HANG_SECONDS)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()]


def test_a_leaf_creates_a_bucket_and_refuses_a_region_that_is_not_there(language):
    folder = EXAMPLES / language / "01-leaf"

    status, [made] = call(folder, "--name", "photos", "--spec", '{"region":"south"}')
    refused_status, [refused] = call(folder, "--spec", '{"region":"west"}')

    assert status == 0
    assert made["outcome"] == {
        "status": {"url": "https://photos.south.buckets.example", "region": "south"},
        "conditions": [{"type": "Ready", "status": "True", "reason": "Created"}],
    }
    assert refused_status == 2
    assert "use north or south" in refused["error"]["message"]


def test_a_composer_answers_children_and_a_value_that_flows_between_them(language):
    folder = EXAMPLES / language / "02-composer"

    status, [found] = call(folder, "--name", "blog", "--spec", '{"domain":"blog.example","region":"north"}')

    bucket = {"kind": f"{language}-bucket", "name": "blog-files"}
    record = {"kind": f"{language}-record", "name": "blog-dns"}
    assert status == 0
    assert found["outcome"] == {
        "status": {"domain": "blog.example"},
        "children": [
            {**bucket, "kind_version": 1, "spec": {"region": "north"}},
            {**record, "kind_version": 1, "spec": {"domain": "blog.example"}},
        ],
        "edges": [{"from": record, "to": bucket, "values": [{"dependent_field": "/target", "source_field": "/url"}]}],
    }


def test_a_stream_program_answers_one_request_after_the_other(language):
    folder = EXAMPLES / language / "03-stream"

    status, answers = call(folder, "--repeat", "3", "--spec", '{"domain":"a.example","target":"https://b.example"}')

    assert status == 0
    assert [answer["outcome"]["status"] for answer in answers] == [
        {"record": "a.example CNAME https://b.example ttl 300"}
    ] * 3
    assert all(answer["exit"] is None for answer in answers)


def test_a_kind_on_path_has_its_name_from_its_file_and_its_settings_from_its_kind_file(language):
    folder = EXAMPLES / language / "04-path-kind"

    status, [found] = call(folder, "--spec", '{"who":"all"}')
    shown = subprocess.run(
        [str(BIN / "stdworker"), "plugins", "--output", "json"],
        env=os.environ | {"STDWORKER_KINDS_PATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert status == 0
    assert found["outcome"]["status"] == {"text": "Good morning, all!"}
    kinds = [kind for plugin in json.loads(shown.stdout) for kind in plugin["kinds"]]
    kind = f"{language}-motd"
    assert {
        "kind": kind,
        "kind_version": 1,
        "mode": "oneshot",
        "from": str(folder / f"stdworker-kind-{kind}"),
        "declared_by": str(folder / f"{kind}.kind.yaml"),
        "shadows": [],
    } in kinds


def test_a_program_without_a_kind_file_says_what_it_is_and_how_it_is_run(language):
    folder = EXAMPLES / language / "05-describe"

    status, [found] = call(folder, "--spec", '{"title":"Hello, World!"}')
    kinds = subprocess.run(
        [str(BIN / "stdworker"), "kinds"],
        env=os.environ | {"STDWORKER_KINDS_PATH": str(folder)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert status == 0
    assert found["outcome"]["status"] == {"slug": "hello-world"}
    described = {kind["kind"]: kind for kind in map(json.loads, kinds.stdout.splitlines())}[f"{language}-slug"]
    assert described["default_config"] == {"settings": {"separator": "_"}}
    assert described["spec_schema"]["required"] == ["title"]


def test_the_commands_of_each_readme_work(language):
    readmes = sorted((EXAMPLES / language).glob("*/README.md"))
    commands = [(readme.parent, command) for readme in readmes for command in CODE.findall(readme.read_text())]
    environment = os.environ | {"PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}"}

    assert len(commands) >= 3
    for folder, command in commands:
        done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, capture_output=True, check=False)
        assert done.returncode == 0, (command, done.stdout, done.stderr)


def test_all_kinds_and_resources_of_a_language_converge(language, serve, tmp_path, eventually):
    engine = serve()
    folders = sorted(folder for folder in (EXAMPLES / language).iterdir() if folder.is_dir())
    describes_itself = EXAMPLES / language / "05-describe" / f"stdworker-kind-{language}-slug"
    environment = os.environ | {
        "BROKER_ADDR": engine.broker,
        "CONVERGE_SERVER": engine.rest,
        "STDWORKER_KINDS_PATH": os.pathsep.join(map(str, folders)),
    }
    with (tmp_path / "worker.log").open("wb") as log:
        worker = subprocess.Popen([str(BIN / "stdworker")], env=environment, stdout=log, stderr=log)
    try:
        applied = subprocess.run(
            [str(BIN / "conctl"), "apply", "-f", str(EXAMPLES / language), "--program", str(describes_itself)],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert applied.returncode == 0, applied.stderr
        with httpx.Client(base_url=f"{engine.rest}/api/v1", timeout=HANG_SECONDS) as client:
            named = {"bucket": "photos", "site": "blog", "record": "www", "motd": "hall", "slug": "title"}
            for kind, name in named.items():
                path = f"/resources/{language}-{kind}/{language}-{name}"
                client.get(f"{path}/wait", params={"for": "ready", "timeout": "40s"}).raise_for_status()
            record = client.get(f"/resources/{language}-record/{language}-blog-dns").json()
            slug = client.get(f"/resources/{language}-slug/{language}-title").json()
        if language == "bash":
            eventually(lambda: b" bash-site/bash-blog is synced" in (tmp_path / "worker.log").read_bytes())
    finally:
        worker.terminate()
        assert worker.wait(HANG_SECONDS) == 0
    url = f"https://{language}-blog-files.north.buckets.example"
    assert record["spec"] == {"domain": f"{language}-blog.example", "target": url}
    assert record["status"] == {"record": f"{language}-blog.example CNAME {url} ttl 300"}
    assert slug["status"] == {"slug": "hello_world"}


def test_every_example_folder_has_what_a_reader_looks_for(language):
    for folder in (EXAMPLES / language).iterdir():
        names = {path.name for path in folder.iterdir()}
        programs = [path for path in folder.iterdir() if os.access(path, os.X_OK)]
        assert {"README.md", "binding.yaml" if folder.name == "07-reactor" else "resource.yaml"} <= names
        assert len([name for name in names if name.endswith(".kind.yaml")]) == (folder.name != "05-describe")
        assert len(programs) == 1
