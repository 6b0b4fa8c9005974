"""What a check tells: to people, to machines, to those who run it from a test."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from stdworker.errors import ConfigError
from stdworker.model.json_text import RawJson
from stdworker.testing import conformance

ROOT = Path(__file__).parents[3]
BIN = Path(sys.executable).parent
GLUED = {"answer": """name=${spec#*'"check":"'}; printf '{"status":{"name":"%s"}}' "${name%%'"'*}" """}


def test_a_failure_shows_what_was_sent_what_came_what_to_change_and_how_to_see_it_again(oneshot):
    report = conformance.check(oneshot(**GLUED), specs=[{"name": "Ada"}], only=["quoting"])

    text = conformance.as_text(report)

    for word in ("fail quoting", "sent ", "received ", "exit ", "why ", "change ", "try       stdworker call"):
        assert word in text


def test_the_command_of_a_failure_does_the_same_again(oneshot, monkeypatch):
    report = conformance.check(oneshot(**GLUED), specs=[{"name": "Ada"}], only=["quoting"])
    (failure,) = report.failures
    monkeypatch.setenv("PATH", str(BIN), prepend=":")

    done = subprocess.run(["bash", "-c", failure.finding.exchange.command], capture_output=True, text=True, timeout=60)

    assert "can't be used" in done.stdout
    assert done.returncode == 2


def test_a_huge_spec_is_made_anew_by_its_command(oneshot, monkeypatch):
    parts = {"answer": """/usr/bin/env printf '{"status":{"spec":%s}}' "$spec"; exit"""}
    report = conformance.check(oneshot(**parts), only=["huge-spec"])
    (failure,) = report.failures
    command = failure.finding.exchange.command
    monkeypatch.setenv("PATH", str(BIN), prepend=":")

    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)

    assert len(command) < 1_000
    assert "Argument list too long" in done.stdout


def test_what_only_a_pipe_can_do_again_is_a_pipe(oneshot):
    report = conformance.check(oneshot(before="case $request in *x_check*) exit 2 ;; esac"), only=["unknown-fields"])
    (failure,) = report.failures
    command = failure.finding.exchange.command

    assert command.startswith("printf ")
    assert subprocess.run(["bash", "-c", command], capture_output=True, timeout=60).returncode == 2


def test_the_json_document_has_a_stable_shape(oneshot):
    report = conformance.check(
        oneshot(before="echo working"), specs=[{"name": "Ada"}], only=["stray-output", "flush"], skip=["clean-up"]
    )

    document = json.loads(json.dumps(conformance.as_document(report)))

    assert set(document) == {"version", "program", "kind", "mode", "passed", "counts", "seconds", "cases"}
    assert (document["version"], document["kind"], document["mode"], document["passed"]) == (
        1,
        "mutant@1",
        "oneshot",
        True,
    )
    assert document["counts"] == {"pass": 0, "warn": 1, "fail": 0, "skip": 1}
    skipped, warned = sorted(document["cases"], key=lambda entry: entry["verdict"])
    least = {"id", "title", "verdict", "message", "why", "advice", "seconds"}
    assert set(skipped) == least
    assert set(warned) == least | {"sent", "received", "exit", "reproduce"}


def test_junit_counts_each_case_once_and_is_xml_whatever_the_program_prints(oneshot):
    program = oneshot(before=r"printf '\001\033[31m ]]> <oops> \377\n'; exit 0")
    report = conformance.check(program, specs=[{"name": "Ada"}])

    suite = ElementTree.fromstring(conformance.as_junit(report)).find("testsuite")

    cases = suite.findall("testcase")
    assert int(suite.get("tests")) == len(cases) == len(report.results)
    assert int(suite.get("failures")) == len(suite.findall("testcase/failure")) == 1
    assert int(suite.get("skipped")) == len(suite.findall("testcase/skipped")) == len(cases) - 1
    assert all(case.get("name") and case.get("classname") and float(case.get("time")) >= 0 for case in cases)


def test_control_characters_of_a_program_never_reach_the_terminal(oneshot):
    report = conformance.check(oneshot(before=r"printf 'red \033[31m\n'"), specs=[{"name": "Ada"}])

    assert "\x1b" not in conformance.as_text(report)
    assert "\x1b" not in "".join(map(conformance.case_line, report.results))


def test_numbers_of_a_given_spec_reach_the_program_as_they_were_written(oneshot):
    spec = RawJson(b'{"b":1.0,"a":12345678901234567890123}')

    report = conformance.check(oneshot(before="echo working"), specs=[spec], only=["stray-output"])

    assert b'"spec":{"b":1.0,"a":12345678901234567890123}' in report.results[0].finding.exchange.sent


def test_a_case_that_nobody_has_is_refused_naming_those_there_are(oneshot):
    with pytest.raises(ValueError, match="no case 'unicorn'; the cases are start, "):
        conformance.check(oneshot(), only=["unicorn"])


def test_a_misspelt_case_is_told_the_near_one(oneshot):
    with pytest.raises(ValueError, match=r"no case 'unicod'; did you mean 'unicode'\?"):
        conformance.check(oneshot(), skip=["unicod"])


def test_a_program_that_answers_nothing_fails_also_when_only_other_cases_were_asked_for(oneshot):
    report = conformance.check(oneshot(before="echo hello; exit 0"), only=["unicode"])

    assert {result.case.id: str(result.verdict) for result in report.results} == {"answer": "fail", "unicode": "skip"}


def test_a_spec_that_was_made_up_may_be_refused_but_must_not_crash_the_program(oneshot):
    refused = conformance.check(oneshot(work="exit 2"))
    crashed = conformance.check(oneshot(work="exit 1"))

    assert refused.passed
    assert refused.verdict_of("answer") == "warn"
    assert refused.verdict_of("idempotent") == "skip"
    assert refused.verdict_of("sigterm") == "pass"
    assert crashed.verdict_of("answer") == "fail"
    assert crashed.counts["fail"] == 1


def test_a_spec_that_was_given_must_succeed(oneshot):
    program = oneshot(work="case $spec in *Eve*) exit 2 ;; esac")

    report = conformance.check(program, specs=[{"name": "Ada"}, {"name": "Eve"}], only=["full-spec"])

    assert report.verdict_of("full-spec") == "fail"


def test_a_spec_that_was_given_must_fit_the_schema(oneshot, declare):
    program = oneshot()
    declare(spec_schema={"type": "object", "required": ["region"]})

    report = conformance.check(program, specs=[{"name": "Ada"}], only=["full-spec"])

    (failure,) = report.failures
    assert "'region' is a required property" in failure.message


def test_a_program_without_kind_file_is_asked_which_kind_it_is(tmp_path, oneshot):
    oneshot()
    kind_file = tmp_path / "mutant.kind.json"
    described = json.dumps({"describe": json.loads(kind_file.read_text()) | {"kind": "named"}})
    told = f'case $request in *\'"trigger":"describe"\'*) echo {shlex.quote(described)}; exit 0 ;; esac'
    program = oneshot(before=told)
    kind_file.unlink()

    report = conformance.check(program, specs=[{"name": "Ada"}])

    assert report.kind == "named@1"
    assert report.verdict_of("describe") == "pass"
    assert report.verdict_of("delete-twice") == "pass"


def test_strict_makes_stray_output_and_unknown_fields_failures(oneshot):
    mistakes = {
        "stray-output": {"before": "echo working"},
        "answer-fields": {"answer": """printf '{"status":{"spec":%s},"statuss":1}' "$spec" """},
    }
    for case, parts in mistakes.items():
        program = oneshot(**parts)
        report = conformance.check(program, specs=[{"name": "Ada"}], config={"strict": True}, only=[case])
        assert report.verdict_of(case) == "fail"


def test_the_page_has_a_row_for_each_case_with_its_rule_and_its_advice():
    page = (ROOT / "docs" / "check.md").read_text()
    rows = re.findall(r"^\| `([a-z-]+)` \| (.*?) \| (.*?) \|$", page, re.MULTILINE)
    told = {
        case.id: (f"{case.title}{' (persistent)' if 'oneshot' not in case.modes else ''}. {case.why}", case.advice)
        for case in conformance.CASES
    }
    assert {name: (rule, advice) for name, rule, advice in rows} == told
    assert [name for name, *_ in rows] == [case.id for case in conformance.CASES]


COMPOSER = """#!/bin/sh
request=$(cat)
case $request in
*'"trigger":"childrenSettled"'*'"descendants":[{'*'"name":"check-reaction-sum-a"'*) echo '{"status":{"children":1}}' ;;
*'"trigger":"childrenSettled"'*) exit 2 ;;
*) name=${request#*'"name":"'}; name=${name%%'"'*}
  echo "{\\"children\\":[{\\"kind\\":\\"leaf\\",\\"kind_version\\":1,\\"name\\":\\"$name-a\\"}],\\"status\\":{}}" ;;
esac
"""


def test_a_rollup_is_asked_about_the_children_that_were_composed(oneshot, declare):
    program = Path(oneshot())
    program.write_text(COMPOSER)
    declare(
        reactions=[
            {"name": "compose", "trigger": "specChange", "emits": ["children", "status"]},
            {"name": "sum", "trigger": "childrenSettled", "emits": ["status"]},
        ],
        finalizer_name=None,
    )

    report = conformance.check(str(program), only=["reactions"])

    assert report.verdict_of("reactions") == "pass", conformance.as_text(report)


def test_a_kind_of_reactors_is_asked_about_what_it_watches(oneshot, declare):
    program = Path(oneshot())
    program.write_text("""#!/bin/sh\ngrep -q '"transition":"synced".*"resource":{' || exit 2\n""")
    declare(
        reactions=[{"name": "tell", "trigger": "reactor", "emits": ["sideEffect"]}],
        finalizer_name=None,
        resync_interval_secs=0,
    )

    report = conformance.check(str(program))

    assert report.passed, conformance.as_text(report)


def test_a_reaction_that_is_not_declared_is_refused_naming_those_that_are(oneshot):
    with pytest.raises(ConfigError, match="no reaction 'wrok'; the kind declares work, delete, restart"):
        conformance.check(oneshot(), reactions=["wrok"])


def test_no_report_and_no_command_shows_a_secret_of_the_config(oneshot):
    config = {
        "settings": {"api_token": "swordfish-42", "password": "o'hara-7"},
        "env": {"DB_PASSWORD": "hunter2-hunter2"},
    }
    dump = """printf '%s %s' "$request" "$DB_PASSWORD" >&2; printf '%s %s\\n' "$request" "$DB_PASSWORD"; """
    program = oneshot(before=dump + "case $request in *x_check*) exit 1 ;; esac")

    report = conformance.check(program, config=config, only=["stray-output", "unknown-fields"], skip=["clean-up"])

    assert [str(result.verdict) for result in report.results] == ["warn", "fail"]
    shown = [conformance.as_text(report), str(conformance.as_document(report)), conformance.as_junit(report).decode()]
    assert not [word for word in ("swordfish", "hara", "hunter2") for text in shown if word in text]


@pytest.mark.parametrize("options", [{}, {"only": ["unicode"]}, {"only": ["broken-pipe", "descendants"]}])
@pytest.mark.parametrize("mode", ["oneshot", "stream"])
def test_all_that_a_check_made_is_deleted_at_its_end(oneshot, stream, tmp_path, mode, options):
    (tmp_path / "made").mkdir()
    if mode == "oneshot":
        name = """name=${request#*'"name":"'}; name=${name%%'"'*}; """
        program = oneshot(
            work=f"""case $request in *'"name":'*) {name}: >{tmp_path}/made/$name ;; esac""",
            delete=f"{name}rm -f {tmp_path}/made/$name; echo '{{}}'; exit 0",
        )
    else:
        announced = """print('{"hello": {"protocol": 1, "cancel": true}}', flush=True)"""
        act = f"""
        file = pathlib.Path({str(tmp_path / "made")!r}, message["name"])
        file.unlink(missing_ok=True) if message["trigger"] == "deleteRequested" else file.touch()
        put(message, answered(message))"""
        program = stream(before=f"import pathlib\n{announced}", reply=act)

    report = conformance.check(program, specs=[{"name": "Ada"}], **options)

    assert report.passed, conformance.as_text(report)
    assert list((tmp_path / "made").iterdir()) == []
