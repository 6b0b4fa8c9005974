"""Mistakes in configs: what a resource shows on a real engine with a real worker, and what mending them does."""

import os
import re
import sys
from pathlib import Path

import httpx
import pytest

BIN = Path(sys.executable).parent
HANG_SECONDS = 30
MANIFEST = {
    "kind": "thing",
    "kind_version": 1,
    "reactions": [{"name": "work", "trigger": "specChange", "emits": ["status"]}],
}

pytestmark = pytest.mark.slow


class Stage:
    """An engine and a worker that serves `thing` with whatever program its config names."""

    def __init__(self, engine, folder, watch, eventually):
        self.folder = folder
        self.eventually = eventually
        self.client = httpx.Client(base_url=f"{engine.rest}/api/v1", timeout=HANG_SECONDS)
        self.client.put("/kinds/thing/manifest", json=MANIFEST).raise_for_status()
        environment = {"PATH": os.environ["PATH"], "BROKER_ADDR": engine.broker, "STDIO_KINDS": "thing"}
        self.worker = watch(BIN / "stdworker", env=environment)

    def said(self, text):
        self.worker.said(re.escape(text))

    def program(self, name="program", *, shebang="#!/bin/sh"):
        """A program that notes whom it ran for."""
        path = self.folder / name
        path.write_text(f"{shebang}\nread -r request\necho $STDWORKER_NAME >>{self.folder}/runs\necho '{{}}'\n")
        path.chmod(0o755)
        return str(path)

    def runs(self, name):
        return (self.folder / "runs").read_text().split().count(name)

    def config(self, name, *, default=False, **spec):
        body = {"name": name, "kind": "thing", "kind_version": 1, "is_default": default, "spec": spec}
        self.client.post("/providerconfigs", json=body).raise_for_status()

    def resource(self, name, config=None):
        body = {"kind": "thing", "kind_version": 1, "name": name, "spec": {}}
        body |= {"provider_config_ref": config} if config else {}
        self.client.post("/resources", json=body).raise_for_status()

    def failures(self, name):
        events = self.client.get(f"/resources/thing/{name}/events").raise_for_status().json()["events"]
        return [event for event in events if event["type"] == "TaskFailed"]

    def shown(self, name):
        return self.client.get(f"/resources/thing/{name}").raise_for_status().json()

    def wait(self, name):
        """The resource once it is ready, or once it failed for good."""
        answer = self.client.get(f"/resources/thing/{name}/wait", params={"for": "ready", "timeout": "25s"})
        assert answer.status_code in (200, 409), answer.text
        return self.shown(name)

    def mended(self, name):
        """The resource once it is ready; that it is queued again, only its phase tells."""
        self.eventually(lambda: self.wait(name)["phase"] == "Ready")
        return self.shown(name)


@pytest.fixture
def stage(serve, watch, eventually, tmp_path):
    stage = Stage(serve(), tmp_path, watch, eventually)
    yield stage
    stage.client.close()


def test_a_kind_that_nobody_configured_yet_waits_and_no_attempt_is_counted(stage):
    stage.resource("early")
    stage.said("no program is configured yet")

    waiting = stage.shown("early")
    stage.config("thing", default=True, command=stage.program())

    assert waiting["phase"] == "Reconciling"
    assert stage.wait("early")["phase"] == "Ready"
    assert (stage.runs("early"), stage.failures("early")) == (1, [])


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ({"comand": "x"}, "unknown key 'comand' (did you mean 'command'?)"),
        ({"timeout_seconds": "5s"}, "/timeout_seconds: expected seconds as a number"),
    ],
)
def test_a_mistake_in_the_default_makes_the_kind_unready_until_it_is_mended(stage, spec, told):
    stage.config("thing", default=True, **{"command": stage.program()} | spec)
    stage.said(told)
    stage.resource("waits")

    waiting = stage.shown("waits")
    stage.config("thing", default=True, command=stage.program())

    assert waiting["phase"] == "Reconciling"
    assert stage.wait("waits")["phase"] == "Ready"
    assert stage.failures("waits") == []


def test_a_kind_is_ready_again_when_its_program_is_there(stage):
    stage.config("thing", default=True, command=str(stage.folder / "late"))
    stage.said(f"no program '{stage.folder}/late'")
    stage.resource("waits")

    stage.program("late")

    assert stage.wait("waits")["phase"] == "Ready"
    assert stage.failures("waits") == []


def test_a_default_whose_program_can_not_be_started_fails_for_good_and_runs_once_when_it_is_mended(stage):
    stage.config("thing", default=True, command=stage.program("broken", shebang="#!/nowhere/sh"))
    stage.resource("one")

    failed = stage.wait("one")
    stage.config("thing", default=True, command=stage.program("mended"))
    stage.mended("one")

    assert (failed["phase"], failed["failure"]["terminal"]) == ("Failed", True)
    assert "/nowhere/sh" in failed["failure"]["message"]
    assert (stage.runs("one"), len(stage.failures("one"))) == (1, 1)


def test_a_mistake_in_a_resources_own_config_fails_that_resource_until_that_config_changes(stage):
    stage.config("thing", default=True, command=stage.program())
    stage.config("own", timout_seconds=5)
    stage.resource("wrong", config="own")
    stage.resource("right")

    failed, right = stage.wait("wrong"), stage.wait("right")
    stage.config("own", timeout_seconds=5)
    stage.mended("wrong")

    assert (failed["phase"], failed["failure"]["terminal"], right["phase"]) == ("Failed", True, "Ready")
    assert "unknown key 'timout_seconds' (did you mean 'timeout_seconds'?)" in failed["failure"]["message"]
    assert (stage.runs("wrong"), stage.runs("right"), len(stage.failures("wrong"))) == (1, 1, 1)


def test_a_timeout_of_zero_or_null_is_none_and_a_text_or_a_negative_one_is_a_mistake(stage):
    stage.config("thing", default=True, command=stage.program())
    for name, value in {"zero": 0, "none": None, "text": "5s", "negative": -1}.items():
        stage.config(name, timeout_seconds=value)
        stage.resource(name, config=name)

    found = {name: stage.wait(name) for name in ("zero", "none", "text", "negative")}

    assert {name: shown["phase"] for name, shown in found.items()} == {
        "zero": "Ready",
        "none": "Ready",
        "text": "Failed",
        "negative": "Failed",
    }
    for name, got in (("text", '"5s"'), ("negative", "-1")):
        message = found[name]["failure"]["message"]
        assert message.startswith("/timeout_seconds: expected seconds as a number from 0 to ")
        assert message.endswith(f"got {got}")
