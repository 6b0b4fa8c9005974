"""`conctl` as it is installed, against `converge serve` as it is installed."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

pytestmark = [pytest.mark.anyio, pytest.mark.usefixtures("one_loop"), pytest.mark.slow]

HANG_SECONDS = 30
CONCTL = str(Path(sys.executable).parent / "conctl")
DOCUMENTS = """
{kind: leaf, kind_version: 1, name: one, spec: {size: 1.0}}
---
kind: leaf
kind_version: 1
spec_schema: {type: object}
reactions: [{name: work, trigger: specChange, emits: [status, conditions]}]
default_config: {settings: {greeting: hi}}
"""


@pytest.fixture
def engine(serve, tmp_path):
    (tmp_path / "all.yaml").write_text(DOCUMENTS)
    return serve()


def conctl(engine, *words, **environment):
    return subprocess.run(
        [CONCTL, *words],
        env={"PATH": os.environ["PATH"], "CONVERGE_SERVER": engine.rest, **environment},
        cwd=engine.folder,
        capture_output=True,
        text=True,
        timeout=HANG_SECONDS,
        check=False,
    )


class Terminal:
    """conctl on a terminal of 60 columns; its output is collected as it comes."""

    def __init__(self, engine, *words):
        self.text = ""
        self._grew = threading.Condition()
        ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            [CONCTL, *words],
            env={"PATH": os.environ["PATH"], "CONVERGE_SERVER": engine.rest, "TERM": "xterm-256color", "COLUMNS": "60"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
        )
        os.close(theirs)
        self._reader = threading.Thread(target=self._read, args=(ours,))
        self._reader.start()

    def _read(self, ours):
        try:
            while piece := os.read(ours, 4096):
                with self._grew:
                    self.text += piece.decode(errors="replace")
                    self._grew.notify_all()
        except OSError:  # how Linux says that the last writer is gone
            pass
        finally:
            os.close(ours)

    def shows(self, text):
        with self._grew:
            assert self._grew.wait_for(lambda: text in self.text, HANG_SECONDS), self.text

    def ended(self):
        self._reader.join(HANG_SECONDS)
        return self.process.wait(HANG_SECONDS)


@pytest.fixture
def terminal(engine):
    started = []

    def start(*words):
        started.append(Terminal(engine, *words))
        return started[-1]

    yield start
    for one in started:
        one.process.kill()
        one.ended()


def test_a_file_is_applied_in_the_right_order_and_shown(engine):
    done = conctl(engine, "apply", "-f", "all.yaml")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        "kind leaf@1 published",
        "providerconfig leaf created",
        "resource leaf/one created (generation 1)",
    ]
    listed = conctl(engine, "list")
    assert re.search(r"^leaf +one +Reconciling +no +0 +0/1 +\d+s$", listed.stdout, re.MULTILINE)
    assert "\x1b" not in listed.stdout


def test_a_kind_that_breaks_what_was_published_is_applied_only_by_force(engine):
    conctl(engine, "apply", "-f", "all.yaml")
    path = engine.folder / "all.yaml"
    path.write_text(DOCUMENTS.replace("{type: object}", "{type: object, required: [color]}"))
    refused = conctl(engine, "apply", "-f", "all.yaml")
    assert refused.returncode == 1
    assert 'all.yaml:6 /spec_schema/required: "color" is required now' in refused.stderr
    forced = conctl(engine, "apply", "-f", "all.yaml", "--force")
    assert "kind leaf@1 published by force: " in forced.stdout
    assert '"color" is required now' in forced.stdout
    again = conctl(engine, "apply", "-f", "all.yaml")
    assert "kind leaf@1 unchanged\n" in again.stdout


def test_failures_are_1_and_usage_is_2_without_any_traceback(engine):
    for words, status in ((["get", "leaf/none"], 1), (["get"], 2), (["list", "pods"], 2), (["apply", "-f", "none"], 1)):
        done = conctl(engine, *words)
        assert (done.returncode, done.stdout) == (status, "")
        assert "Traceback" not in done.stderr
        assert "Error: " in done.stderr


def test_an_engine_that_stopped_is_said_to_be_gone(engine):
    engine.kill()
    done = conctl(engine, "list")
    assert done.returncode == 1
    assert done.stderr.startswith(f"Error: no engine answers at {engine.rest}: ")


async def test_a_wait_on_a_terminal_shows_progress_and_ends_when_it_is_so(engine, terminal, scripted_worker):
    conctl(engine, "apply", "-f", "all.yaml")
    waiting = terminal("wait", "leaf/one")
    waiting.shows("leaf/one Reconciling")
    worker = await scripted_worker(engine.broker.removeprefix("http://")).subscribe("leaf")
    await worker.complete(await worker.task(), status=b'{"ok":true}')
    waiting.shows("leaf/one is ready")
    assert waiting.ended() == 0
    await worker.close()


def test_a_resource_that_waits_says_what_for(engine):
    nobody = "no worker that is connected serves leaf@1"
    conctl(engine, "apply", "-f", "all.yaml")
    assert f"Not Ready because:\n  {nobody}\n" in conctl(engine, "describe", "leaf/one").stdout
    waited = conctl(engine, "wait", "leaf/one", "--timeout", "50ms")
    assert (waited.returncode, waited.stderr) == (1, f"Error: leaf/one is Reconciling, not ready: {nobody}\n")


def test_a_wait_is_interrupted_without_a_traceback(engine, terminal):
    conctl(engine, "apply", "-f", "all.yaml")
    waiting = terminal("wait", "leaf/one")
    waiting.shows("leaf/one Reconciling")
    waiting.process.send_signal(signal.SIGINT)
    assert waiting.ended() == 128 + signal.SIGINT
    assert "Traceback" not in waiting.text


def test_a_table_on_a_terminal_has_colours_and_fits(engine, terminal):
    (engine.folder / "long.yaml").write_text(DOCUMENTS.replace("name: one", f"name: {'long-' * 30}name"))
    conctl(engine, "apply", "-f", "long.yaml")
    listed = terminal("list")
    assert listed.ended() == 0
    assert "\x1b[36mReconciling" in listed.text
    plain = re.sub(r"\x1b\[[0-9;]*m", "", listed.text)
    assert max(map(len, plain.splitlines())) <= 60
    assert "long-l…ng-name" in plain
