"""`conctl run` against a real engine."""

import json

import pytest
import yaml

KIND = """
kind: oven
kind_version: 1
spec_schema: {type: object}
reactions:
  - {name: work, trigger: specChange, emits: [status]}
  - {name: bake, trigger: operation, verb: bake, emits: [operationOutput], input_schema: {type: object}}
---
{kind: oven, kind_version: 1, name: o, spec: {}}
"""


@pytest.fixture
def oven(conctl):
    """A resource with an operation; the worker of these tests doesn't take its kind."""
    assert conctl("apply", "-f", "-", stdin=KIND).exit_code == 0
    return conctl


def test_an_operation_is_asked_for_and_told_by_its_uid(oven):
    done = oven("run", "oven/o", "bake", "--input", '{"minutes": 1.0}')
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.startswith("bake of oven/o pending (")
    uid = oven("run", "oven/o", "bake", "-o", "name").stdout.strip()
    assert len(uid) == 36


def test_machines_get_the_whole_operation(oven):
    told = json.loads(oven("run", "oven/o", "bake", "--input", "{}", "-o", "json").stdout)
    assert (told["verb"], told["input"], told["state"]) == ("bake", {}, "pending")
    assert yaml.safe_load(oven("run", "oven/o", "bake", "-o", "yaml").stdout)["input"] is None


def test_input_may_come_from_a_file_or_standard_input(oven, tmp_path):
    (tmp_path / "in.json").write_text('{"minutes": 2}')
    told = oven("run", "oven/o", "bake", "--input", f"@{tmp_path}/in.json", "-o", "json").stdout
    assert json.loads(told)["input"] == {"minutes": 2}
    told = oven("run", "oven/o", "bake", "--input", "@-", "-o", "json", stdin='{"minutes": 3}').stdout
    assert json.loads(told)["input"] == {"minutes": 3}


def test_an_operation_that_does_not_end_in_time_is_told(oven):
    done = oven("run", "oven/o", "bake", "--wait", "--timeout", "100ms")
    assert done.exit_code == 1
    assert "is still pending after 0.1 s" in done.stderr


@pytest.mark.parametrize(
    ("words", "status", "told"),
    [
        (("oven/o", "burn"), 1, "no operation 'burn' (it has bake)"),
        (("oven/o", "bake", "--input", "5"), 1, "  --input: 5 is not of type"),
        (("oven/o", "bake", "--input", "{"), 2, "it is not JSON"),
        (("oven/o", "bake", "--input", "@/nowhere"), 2, "/nowhere: No such file"),
        (("oven", "bake"), 2, "is not a resource's KIND/NAME"),
    ],
)
def test_what_cannot_be_run_is_refused_with_its_reason(oven, words, status, told):
    done = oven("run", *words)
    assert done.exit_code == status
    assert told in done.output.replace("\n", " ")
