"""Reactors with a real engine, a real worker, and a program in bash that writes down what it is told."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

BIN = Path(sys.executable).parent
HANG_SECONDS = 60
TRANSITIONS = ("created", "synced", "degraded", "failed", "deleted")

# One program for three kinds: a site is made of parts, a part becomes what its spec says, a journal reacts.
PROGRAM = r"""
request=$(cat)
case $(jq -r .kind <<<"$request") in
  site)
    jq -c 'if .spec.fail then {error: {message: .spec.fail, terminal: true}} else
      {status: {}, children: [.spec.parts[] | {kind: "part", kind_version: 1, name, spec: .}]} end' <<<"$request" ;;
  part)
    jq -c 'if .spec.fail then {error: {message: .spec.fail, terminal: true}} else
      {conditions: [{type: "Ready", status: (if .spec.sick then "False" else "True" end)}]} end' <<<"$request" ;;
  journal)
    [ -e locked ] && { echo "the journal is locked" >&2; exit 3; }
    jq -c '{transition, dedup_token, resource}' <<<"$request" >>heard
    echo '{}' ;;
esac
"""
COMPOSE = ["children", "edges", "status", "conditions"]
KINDS = [
    {"kind": "site", "reactions": [{"name": "plan", "trigger": "specChange", "emits": COMPOSE}]},
    {"kind": "part", "reactions": [{"name": "make", "trigger": "specChange", "emits": ["status", "conditions"]}]},
    {
        "kind": "journal",
        "reactions": [{"name": "write", "trigger": "reactor", "emits": ["sideEffect"]}],
        "max_transient_attempts": 2,
    },
]
BINDINGS = [
    {"name": f"{kind}-{transition}", "watch_kind": kind, "transition": transition, "reactor": "journal"}
    for kind in ("site", "part")
    for transition in TRANSITIONS
]


class Journal:
    """An engine and a worker with the program, and what the reactor was told."""

    def __init__(self, folder, engine):
        self.folder = folder
        self.engine = engine
        config = {"cwd": str(folder), "command": "bash", "args": ["-c", PROGRAM]}
        kinds = [{**kind, "kind_version": 1, "default_config": config} for kind in KINDS]
        self.apply(*kinds, *BINDINGS)
        settings = {"PATH": os.environ["PATH"], "BROKER_ADDR": engine.broker, "STDIO_KINDS": "site,part,journal"}
        self.worker = subprocess.Popen([str(BIN / "stdworker"), "run"], env=settings)

    def conctl(self, *words, stdin=""):
        command = [str(BIN / "conctl"), "--server", self.engine.rest, *words]
        options = {"env": {"PATH": os.environ["PATH"]}, "timeout": HANG_SECONDS, "input": stdin}
        return subprocess.run(command, **options, capture_output=True, text=True, check=False)

    def apply(self, *documents):
        done = self.conctl(
            "apply", "-f", "-", stdin="".join(f"---\n{json.dumps(document)}\n" for document in documents)
        )
        assert done.returncode == 0, done.stderr

    def site(self, **spec):
        self.apply({"kind": "site", "kind_version": 1, "name": "s", "spec": {"parts": [], **spec}})

    def told(self):
        """`transition kind/name` of each line in the journal."""
        path = self.folder / "heard"
        lines = path.read_text().splitlines() if path.exists() else []
        return [json.loads(line) for line in lines]

    def heard(self):
        return Counter(f"{t['transition']} {t['resource']['kind']}/{t['resource']['name']}" for t in self.told())

    def dead_letters(self):
        return json.loads(self.conctl("list", "deadletters", "-o", "json").stdout)["dead_letters"]

    def close(self):
        self.worker.kill()
        self.worker.wait(HANG_SECONDS)


@pytest.fixture
def journal(tmp_path, serve):
    made = Journal(tmp_path, serve(RETRY_BASE="50ms"))
    try:
        yield made
    finally:
        made.close()


def test_a_program_is_told_of_every_transition_of_a_composite_and_of_its_parts(journal, eventually):
    good, sick = {"name": "good"}, {"name": "sick", "sick": True}
    journal.site(parts=[good, sick])
    made = {
        f"{transition} {ref}" for transition in ("created", "synced") for ref in ("site/s", "part/good", "part/sick")
    }
    made |= {"degraded part/sick", "degraded site/s"}
    eventually(lambda: made <= set(journal.heard()))
    assert journal.heard() == Counter(made)

    journal.site(parts=[{**good, "fail": "no room"}, {"name": "sick"}])
    eventually(lambda: journal.heard()["failed part/good"] and journal.heard()["synced part/sick"] == 2)
    journal.site(fail="no plan")
    eventually(lambda: journal.heard()["failed site/s"])
    assert journal.conctl("delete", "site/s", "--wait").returncode == 0
    gone = {"deleted site/s", "deleted part/good", "deleted part/sick"}
    eventually(lambda: gone <= set(journal.heard()))

    told = {(t["transition"], t["resource"]["name"]): t for t in journal.told()}
    assert told["failed", "good"]["resource"]["spec"] == {"name": "good", "fail": "no room"}
    assert told["deleted", "good"]["resource"]["generation"] == 2
    tokens = [t["dedup_token"] for t in journal.told()]
    assert len(tokens) == len({*tokens})


def test_what_a_reactor_can_not_take_is_a_dead_letter_until_it_is_retried(journal, eventually):
    (journal.folder / "locked").touch()
    journal.apply({"kind": "part", "kind_version": 1, "name": "p", "spec": {"size": 1}})
    eventually(lambda: len(journal.dead_letters()) == 2)
    letters = journal.dead_letters()
    assert {letter["binding"] for letter in letters} == {"part-created", "part-synced"}
    assert {letter["attempts"] for letter in letters} == {2}
    assert all("the journal is locked" in letter["message"] for letter in letters)
    assert "the journal is locked" in journal.conctl("list", "deadletters").stdout

    (journal.folder / "locked").unlink()
    done = journal.conctl("retry", *(str(letter["id"]) for letter in letters))
    assert (done.returncode, done.stderr) == (0, "")
    eventually(lambda: len(journal.told()) == 2)
    assert {t["dedup_token"] for t in journal.told()} == {letter["dedup_token"] for letter in letters}
    assert journal.dead_letters() == []
