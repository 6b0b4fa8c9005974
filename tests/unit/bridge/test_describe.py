import json
import re

import pytest
from jsonschema import Draft202012Validator

from stdworker import protocol_files
from stdworker.bridge.describe import NotDescribed, describe, kind_named
from stdworker.errors import ConfigError, ManifestError
from stdworker.model.kind import KindVersion

pytestmark = pytest.mark.anyio

MANIFEST = {"kind": "greeter", "kind_version": 1, "reactions": [{"name": "work", "trigger": "specChange", "emits": []}]}


VECTORS = json.loads(protocol_files.read("stdio/v1/vectors/describe.json"))["vectors"]


def answering(text, *, shebang="#!/bin/sh"):
    return f"{shebang}\nread -r request\ncat <<'END'\n{text}\nEND\n"


@pytest.fixture
def ask(runtime, script):
    async def asking(content, **options):
        return await describe(script(content), run=runtime, **options)

    return asking


async def test_the_request_has_the_exact_form_and_then_the_input_ends(ask, tmp_path):
    await ask(f"#!/bin/sh\ncat >{tmp_path}/request\n", kind=KindVersion("greeter", 2))

    line = (tmp_path / "request").read_text()
    request = json.loads(line)
    assert list(request) == ["protocol", "id", "reaction", "trigger", "kind", "kind_version"]
    assert request | {"id": ""} == {
        "protocol": 1,
        "id": "",
        "reaction": "describe",
        "trigger": "describe",
        "kind": "greeter",
        "kind_version": 2,
    }
    assert line.endswith("}\n")
    Draft202012Validator(json.loads(protocol_files.read("stdio/v1/request.schema.json"))).validate(request)


async def test_a_program_that_describes_itself_answers_as_a_kind_file_would(ask):
    found = await ask(answering(json.dumps({"describe": MANIFEST | {"default_config": {"settings": {"n": 2**70}}}})))

    assert found.pair == KindVersion("greeter", 1)
    assert found.manifest.worker.name == "work"
    assert found.default_config == b'{"settings": {"n": %d}}' % 2**70


async def test_a_persistent_program_answers_as_well(ask):
    answer = json.dumps({"describe": MANIFEST})
    found = await ask(
        "#!/bin/sh\n"
        'echo \'{"hello":{"protocol":1,"shutdown":true}}\'\n'
        f"while read -r request; do echo '{answer}'; done\n"
    )

    assert found.pair == KindVersion("greeter")


async def test_stray_output_and_log_lines_do_not_hide_the_description(ask):
    answer = json.dumps({"describe": MANIFEST})

    found = await ask(answering('hello\n{"log":{"level":"info","message":"m"}}\n' + answer))

    assert found.pair == KindVersion("greeter")


@pytest.mark.parametrize("vector", VECTORS, ids=[vector["name"] for vector in VECTORS])
async def test_every_vector_gets_its_verdict(ask, vector):
    content = answering(vector["text"])

    if vector["verdict"] == "not described":
        assert isinstance(await ask(content), NotDescribed)
    elif vector["verdict"] == "illegal":
        with pytest.raises(ManifestError, match=vector["path"]):
            await ask(content)
    else:
        found = await ask(content)
        assert str(found.pair) == vector["verdict"]
        assert found.default_config == (vector["default_config"].encode() if "default_config" in vector else None)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (answering('{"status":{"made":true}}'), 'its answer has no "describe"'),
        (answering(""), 'its answer has no "describe"'),
        (answering('{"describe":null}'), 'its answer has no "describe"'),
        (answering('{"error":{"message":"no such reaction"}}'), "no such reaction"),
        (answering('{"describe":7}'), "/describe: expected object or null, got integer 7"),
        (answering("usage: greeter NAME"), "expected a JSON object, got text"),
        ("#!/bin/sh\necho wrong >&2\nexit 3\n", "status 3"),
        ("#!/bin/sh\nkill -9 $$\n", "SIGKILL"),
    ],
)
async def test_any_other_answer_means_that_it_does_not_describe_itself(ask, content, reason):
    found = await ask(content)

    assert isinstance(found, NotDescribed)
    assert reason in found.reason


async def test_a_program_that_does_not_end_does_not_describe_itself(ask, alive):
    found = await ask("#!/bin/sh\nexec sleep 1000\n", seconds=0.3)

    assert isinstance(found, NotDescribed)
    assert "the program gave no answer within 0.3 s" in found.reason
    assert not alive()


async def test_a_manifest_that_breaks_rules_is_an_error_with_the_places(ask):
    with pytest.raises(ManifestError) as refused:
        await ask(answering('{"describe":{"kind":"greeter","kind_version":1,"reactions":[{"name":"work"}]}}'))

    assert refused.value.message.startswith("what /")
    assert "/reactions/0: trigger" in refused.value.message


async def test_a_default_config_must_not_name_a_command(ask):
    with pytest.raises(ManifestError, match="/default_config/command: a kind file names no command"):
        await ask(answering(json.dumps({"describe": MANIFEST | {"default_config": {"command": "x"}}})))


async def test_a_program_that_can_not_be_started_is_an_error(runtime, tmp_path):
    with pytest.raises(ConfigError) as refused:
        await describe(str(tmp_path / "nowhere"), run=runtime)

    assert refused.value.code == "program_not_found"


async def test_the_protocols_readme_shows_the_request_and_an_answer_as_they_are(ask, tmp_path):
    readme = protocol_files.read("stdio/v1/README.md").decode("utf-8")
    shown_request, shown_answer = re.findall(r"```json\n(.*?)\n```", readme, re.DOTALL)

    found = await ask(
        f"#!/bin/sh\ncat >{tmp_path}/request\ncat <<'END'\n{shown_answer}\nEND\n", kind=KindVersion("greeter")
    )

    assert (tmp_path / "request").read_text() == f"{shown_request}\n"
    assert found.default_config == b'{"mode":"stream"}'


@pytest.mark.parametrize(
    ("file", "pair"),
    [
        ("/opt/stdworker-kind-greeter", KindVersion("greeter")),
        ("stdworker-kind-greeter@2", KindVersion("greeter", 2)),
        ("./greeter.py", KindVersion("greeter.py")),
        ("./My Greeter!", KindVersion("my-greeter")),
        ("./@", KindVersion("program")),
    ],
)
def test_a_program_is_asked_under_the_name_of_its_file(file, pair):
    assert kind_named(file) == pair
