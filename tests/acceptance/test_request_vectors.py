"""Every request vector × every example program: each is answered with a legal response."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from stdworker import protocol_files
from stdworker.framing.document import read_document
from stdworker.framing.messages import Answer, read_line
from stdworker.framing.response import parse_response
from stdworker.model.documents import parse_documents

pytestmark = pytest.mark.slow

HANG_SECONDS = 60
LANGUAGES = {"bash": "jq", "node": "node", "python": "python3"}
EXAMPLES = Path(__file__).parents[2] / "examples"
VECTORS = json.loads(protocol_files.read("stdio/v1/vectors/requests.json"))["vectors"]


def first(path):
    return parse_documents(path.read_bytes(), path.name)[0].raw.value()


def examples():
    for folder in sorted(EXAMPLES.glob("*/0*")):
        kind_file = next(folder.glob("*.kind.yaml"), None)
        declared = first(kind_file) if kind_file else {}
        mode = declared.get("default_config", {}).get("mode", "oneshot")
        is_reactor = any(reaction["trigger"] == "reactor" for reaction in declared.get("reactions", ()))
        if mode != "socket" and not is_reactor:  # the vectors are of what resources of its own ask
            yield pytest.param(folder, declared, mode, id=f"{folder.parent.name}/{folder.name}")


def requests(folder, declared):
    """The vectors as this program gets them: with a spec, a kind and a reaction of its own."""
    resource = first(folder / "resource.yaml")
    reaction = declared.get("reactions", [{"name": "work"}])[0]["name"]
    own = {"kind": resource["kind"], "spec": resource["spec"], "reaction": reaction}
    return [{**vector["request"], **own} for vector in VECTORS]


@pytest.mark.parametrize(("folder", "declared", "mode"), list(examples()))
def test_an_example_answers_whatever_a_host_may_send(folder, declared, mode):
    tool = LANGUAGES[folder.parent.name]
    if shutil.which(tool) is None:
        if os.environ.get("CI"):
            pytest.fail(f"CI must have {tool}")
        pytest.skip(f"{tool} is not installed")
    program = next(path for path in folder.iterdir() if os.access(path, os.X_OK) and path.is_file())

    def answered(lines):
        done = subprocess.run(
            [str(program)], input="".join(lines), capture_output=True, text=True, timeout=HANG_SECONDS, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout.encode()

    sent = requests(folder, declared)
    if mode == "stream":
        lines = answered(json.dumps(request) + "\n" for request in sent).splitlines()
        answers = [message for message in map(read_line, lines) if isinstance(message, Answer)]
        assert [answer.id for answer in answers] == [request["id"] for request in sent]
        found = [answer.document for answer in answers]
    else:
        found = [read_document(answered([json.dumps(request) + "\n"])).response for request in sent]
    for request, document in zip(sent, found, strict=True):
        response = parse_response(document)
        assert (response.error, response.unknown) == (None, ()), request
        assert response.outcome.status is not None, request
