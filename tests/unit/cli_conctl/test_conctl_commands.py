"""Every command against a real engine."""

import json
import re

import pytest
import yaml
from click.testing import CliRunner

from stdworker.cli.conctl.arguments import ALIASES
from stdworker.cli.conctl.commands import cli
from stdworker.cli.conctl.output import doomed

REACTIONS = "spec_schema: {}\nreactions: [{name: work, trigger: specChange, emits: [status]}]\n"


def leaf(name, **spec):
    return yaml.dump({"kind": "leaf", "kind_version": 1, "name": name, "spec": spec, "labels": {"test": name}})


def apply(conctl, text, *words):
    return conctl("apply", "-f", "-", *words, stdin=text)


def test_apply_says_what_became_of_each_document(conctl):
    assert apply(conctl, leaf("told", size=1)).output == "resource leaf/told created (generation 1)\n"
    assert apply(conctl, leaf("told", size=1)).output == "resource leaf/told unchanged (generation 1)\n"
    assert apply(conctl, leaf("told", size=2)).output == "resource leaf/told configured (generation 2)\n"


def test_apply_tells_machines_in_one_document_and_nothing_else(conctl):
    kind = f"kind: mech\nkind_version: 1\n{REACTIONS}default_config: {{}}\n---\n"
    first = apply(conctl, kind + leaf("machine"), "-o", "json", "--wait").stdout
    assert json.loads(first) == {
        "applied": [
            {"type": "manifest", "name": "mech@1", "result": "created"},
            {"type": "providerconfig", "name": "mech", "result": "created"},
            {"type": "resource", "name": "leaf/machine", "result": "created", "generation": 1},
        ]
    }
    again = apply(conctl, leaf("machine", size=1.0), "-o", "yaml", "--dry-run").stdout
    assert yaml.safe_load(again)["applied"][0]["result"] == "configured"
    assert "after: 1.0" in again
    assert apply(conctl, leaf("machine"), "-o", "name", "--wait").stdout == "leaf/machine\n"


def test_what_was_applied_before_a_failure_is_in_the_document(conctl):
    done = apply(conctl, leaf("wrong", size="big") + "---\n" + leaf("well"), "-o", "json")
    assert done.exit_code == 1
    assert [told["name"] for told in json.loads(done.stdout)["applied"]] == ["leaf/well"]


@pytest.mark.parametrize(
    "words", [("describe", "leaf/x"), ("delete", "leaf/x"), ("reconcile", "leaf/x"), ("wait", "leaf/x")]
)
def test_an_output_that_a_command_has_not_is_refused_instead_of_ignored(conctl, words):
    done = conctl(*words, "-o", "json")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "this command has no --output json; " in done.stderr


def test_a_kind_is_called_so_whatever_is_done_with_it(conctl, tmp_path):
    kind = f"kind: word\nkind_version: 1\n{REACTIONS}"
    file = tmp_path / "word.yaml"
    file.write_text(kind.replace("kind_version: 1", "kind_version: 0"))
    assert conctl("apply", "-f", str(file)).stderr.startswith(f"{file}:1: kind word@0: ")
    file.write_text(kind)
    assert "--- kind word@1 (engine)" in conctl("diff", "-f", str(file)).stdout
    assert apply(conctl, kind, "--dry-run").stdout.startswith("kind word@1 would be published")
    assert apply(conctl, kind).stdout == "kind word@1 published\n"
    assert apply(conctl, kind).stdout == "kind word@1 unchanged\n"
    assert conctl("delete", "manifest", "word").stdout == "kind word@1 deleted\n"


def test_what_a_forced_kind_breaks_is_told_by_its_line(conctl, tmp_path):
    file = tmp_path / "forced.yaml"
    schema = "spec_schema:\n  properties:\n    n: {}\n"
    file.write_text(f"kind: forced\nkind_version: 1\n{REACTIONS.replace('spec_schema: {}', schema)}")
    conctl("apply", "-f", str(file))
    file.write_text(file.read_text().replace("n: {}", "n: {type: number}"))
    told = conctl("apply", "--force", "-f", str(file)).stdout
    assert told.startswith("kind forced@1 published by force: ")
    assert f"\n  {file}:5 /spec_schema/properties/n" in told


def test_apply_goes_on_after_a_failure_and_ends_with_1(conctl):
    done = apply(conctl, leaf("wrong", size="big") + "---\n" + leaf("right"))
    assert done.exit_code == 1
    assert "resource leaf/right created" in done.stdout
    assert "-:1: resource leaf/wrong: the spec breaks the schema of leaf@1" in done.stderr
    assert "-:7 /spec/size: " in done.stderr
    assert "Error: 1 of 2 failed" in done.stderr


def test_apply_tries_without_changing_anything(conctl):
    apply(conctl, leaf("dry", size=1.0))
    done = apply(conctl, leaf("dry", size=18446744073709551617), "--dry-run")
    assert done.output == "resource leaf/dry would be configured\n  /spec/size: 1.0 → 18446744073709551617\n"
    assert json.loads(conctl("get", "leaf/dry", "-o", "json").stdout)["generation"] == 1


def test_apply_waits_until_everything_is_ready(conctl):
    done = apply(conctl, "kind: stack\nkind_version: 1\nname: waited\nspec: {}\n", "--wait")
    assert done.output.splitlines()[-1] == "stack/waited is ready"


def test_apply_that_waits_for_what_fails_ends_with_1_and_the_reason(conctl):
    done = apply(conctl, leaf("doomed", fail="no such bucket"), "--wait")
    assert done.exit_code == 1
    assert "leaf/doomed failed and is not tried again: no such bucket" in done.stderr


def test_numbers_survive_the_way_there_and_back(conctl):
    apply(
        conctl, "kind: leaf\nkind_version: 1\nname: exact\nspec: {a: 1.0, b: 123456789012345678901234567890, c: 1e3}\n"
    )
    assert (
        '"a": 1.0,\n    "b": 123456789012345678901234567890,\n    "c": 1e3'
        in conctl("get", "leaf/exact", "-o", "json").stdout
    )
    assert "a: 1.0\n  b: 123456789012345678901234567890\n" in conctl("get", "leaf/exact", "-o", "yaml").stdout


def test_a_list_shows_roots_and_with_all_also_what_they_own(conctl):
    apply(conctl, "kind: stack\nkind_version: 1\nname: listed\nspec: {}\n", "--wait")
    assert conctl("list", "--name", "listed", "-o", "name").stdout == "stack/listed\n"
    assert sorted(conctl("list", "-A", "--name", "listed", "-o", "name").stdout.split()) == [
        "leaf/listed-db",
        "leaf/listed-web",
        "stack/listed",
    ]
    assert len(conctl("list", "--owner", "stack/listed", "-o", "name").stdout.split()) == 2


def test_a_table_has_headings_and_a_row_a_resource(conctl):
    apply(conctl, leaf("tabled"), "--wait")
    headings, row = conctl("list", "-l", "test=tabled").stdout.splitlines()
    assert headings.split() == ["KIND", "NAME", "PHASE", "READY", "CHILDREN", "GEN", "AGE"]
    assert row.split()[:6] == ["leaf", "tabled", "Ready", "yes", "0", "1/1"]


@pytest.mark.parametrize("phase", ["Ready", "ready", "READY"])
def test_a_phase_may_be_typed_as_the_table_spells_it_or_in_any_case(conctl, phase):
    apply(conctl, leaf("phased"), "--wait")
    assert "phased" in conctl("list", "--phase", phase, "--name", "phased").stdout


def test_a_list_goes_through_all_pages(conctl):
    apply(conctl, "---\n".join(leaf(f"many-{number}") for number in range(7)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("stdworker.cli.conctl.client.PAGE_ITEMS", 3)
        assert len(conctl("list", "--name", "many-", "-o", "name").stdout.split()) == 7
        assert len(conctl("list", "--name", "many-", "-o", "name", "--limit", "5").stdout.split()) == 5


def test_a_limit_holds_for_kinds_too(conctl):
    done = conctl("list", "kinds", "--limit", "1", "-o", "name")
    assert (len(done.stdout.splitlines()), done.stderr) == (1, "(the first 1; --limit 0 shows all)\n")


def test_what_is_waited_for_may_be_typed_in_any_case(conctl):
    apply(conctl, leaf("awaited"), "--wait")
    assert conctl("wait", "leaf/awaited", "--for", "Ready").stdout == "leaf/awaited is ready\n"


@pytest.mark.parametrize(
    "words",
    [
        ("kinds", "--phase", "failed"),
        ("pc", "--owner", "a/b"),
        ("rb", "-A"),
        ("cluster", "--name", "x"),
        ("dl", "-l", "a=b"),
    ],
)
def test_a_filter_that_a_type_has_not_is_refused_instead_of_passed_over(conctl, words):
    done = conctl("list", *words)
    assert (done.exit_code, done.stdout) == (2, "")
    assert "can't choose among things of the type" in done.stderr


def test_kinds_and_configs_are_chosen_by_label_kind_and_name(conctl):
    text = f"kind: chosen\nkind_version: 1\nlabels: {{team: a}}\n{REACTIONS}default_config: {{}}\n"
    apply(conctl, text)
    for listed, name in (("kinds", "chosen@1"), ("configs", "chosen")):
        assert conctl("list", listed, "-o", "name", "-l", "team=a").stdout == f"{name}\n"
        assert conctl("list", listed, "-o", "name", "--kind", "chosen", "--name", "hose").stdout == f"{name}\n"
        assert conctl("list", listed, "-l", "team=b").stderr.startswith("No ")


def test_a_list_that_is_cut_says_so(conctl):
    apply(conctl, leaf("cut-1") + "---\n" + leaf("cut-2"))
    assert "--limit 0 shows all" in conctl("list", "--name", "cut-", "--limit", "1").stderr
    assert conctl("list", "--name", "cut-", "--limit", "2").stderr == ""


def test_an_empty_list_is_a_valid_document(conctl):
    assert json.loads(conctl("list", "--name", "nothing", "-o", "json").stdout) == {"resources": []}
    assert conctl("list", "--name", "nothing").stderr == "No resources found.\n"


def test_a_resource_is_described_with_what_it_waits_for_and_its_events(conctl):
    apply(conctl, "kind: stack\nkind_version: 1\nname: told-of\nspec: {}\n", "--wait")
    text = conctl("describe", "leaf/told-of-web").stdout
    for line in (
        "Phase:      Ready",
        "Owner:      stack/told-of",
        "  url: http://told-of-db",
        "/url → /url",
        "Created",
    ):
        assert line in text


def test_a_description_is_a_page_that_a_person_reads_from_the_top(conctl):
    apply(conctl, leaf("page", fail="no such bucket"))
    conctl("wait", "leaf/page")
    shown = re.sub(r"\b\d+s\b", "0s", conctl("describe", "leaf/page").stdout)
    shown = re.sub(r"[0-9a-f-]{36}", "…", shown)
    assert (
        shown
        == """\
Resource:   leaf/page (kind version 1)
Phase:      Failed
Generation: 1, synced 0
Age:        0s, changed 0s ago
Failure:    no such bucket (not tried again)
UID:        …

Not Ready because:
  it failed and is not tried again: no such bucket

Labels:
  test: page

Spec:
  fail: no such bucket

Conditions:
TYPE    STATUS  SINCE  REASON    MESSAGE
Synced  False   0s     Terminal  no such bucket
Ready   False   0s     Terminal  no such bucket

Events:
AGE  TYPE          REASON    BY                   MESSAGE
0s   Created                 anonymous@127.0.0.1
0s   TaskFailed    Terminal  engine               no such bucket
0s   PhaseChanged  Failed    engine               no such bucket
"""
    )


def test_a_tree_shows_phases_and_culprits(conctl):
    apply(conctl, "kind: stack\nkind_version: 1\nname: grown\nspec: {}\n", "--wait")
    top, first, second = conctl("tree", "stack/grown").stdout.splitlines()
    assert top == "stack/grown Ready"
    assert first.endswith("leaf/grown-db Ready")
    assert second.endswith("leaf/grown-web Ready ← leaf/grown-db")
    apply(conctl, leaf("sick", fail="no such bucket"))
    conctl("wait", "leaf/sick")
    assert conctl("tree", "leaf/sick").stdout == "leaf/sick Failed  no such bucket\n"


def test_events_are_told_from_the_oldest(conctl):
    apply(conctl, leaf("eventful"), "--wait")
    headings, first, *_ = conctl("events", "leaf/eventful").stdout.splitlines()
    assert headings.split() == ["AGE", "TYPE", "REASON", "BY", "MESSAGE"]
    assert "Created" in first


def test_a_reconcile_by_hand_says_its_generation(conctl):
    apply(conctl, leaf("again"), "--wait")
    assert conctl("reconcile", "leaf/again").stdout == "resource leaf/again runs again (generation 2)\n"


def test_delete_waits_until_it_is_gone(conctl):
    apply(conctl, leaf("goner"), "--wait")
    assert conctl("delete", "leaf/goner", "--wait").stdout == "leaf/goner is deleted\n"
    assert conctl("get", "leaf/goner").exit_code == 1


def test_wait_names_each_resource_that_is_not_so(conctl):
    apply(conctl, leaf("fine") + "---\n" + leaf("bad", fail="broken"))
    done = conctl("wait", "leaf/fine", "leaf/bad", "leaf/absent")
    assert (done.exit_code, done.stdout) == (1, "leaf/fine is ready\n")
    assert "leaf/bad failed" in done.stderr
    assert "leaf/absent" in done.stderr


def test_wait_asks_for_the_name_as_it_is_written(conctl):
    apply(conctl, leaf("meant"), "--wait")
    assert conctl("wait", "leaf/meant/wait?x=").exit_code == 2
    assert "there is no resource leaf/meant?x=1" in conctl("wait", "leaf/meant?x=1").stderr


def test_wait_ends_in_time(conctl):
    apply(conctl, leaf("stays"), "--wait")
    done = conctl("wait", "leaf/stays", "--for", "deleted", "--timeout", "10ms")
    assert (done.exit_code, done.stderr) == (1, "Error: leaf/stays is Ready, not deleted\n")


def test_a_wait_on_a_terminal_shows_what_is_missing(conctl, monkeypatch):
    shown = []
    monkeypatch.setattr("stdworker.cli.conctl.wait.on_terminal", lambda: True)
    monkeypatch.setattr("stdworker.cli.conctl.wait.LOOK_SECONDS", 0.01)
    monkeypatch.setattr("stdworker.cli.conctl.wait.Status.update", lambda self, text: shown.append(str(text)))
    apply(conctl, "kind: stack\nkind_version: 1\nname: watched\nspec: {}\n", "--wait")
    assert conctl("wait", "stack/watched", "--for", "deleted", "--timeout", "100ms").exit_code == 1
    assert "stack/watched Ready, 2 of 2 Ready" in shown


def test_kinds_are_listed_shown_and_deleted(conctl):
    kind = f"kind: passing\nkind_version: 3\n{REACTIONS}"
    assert apply(conctl, kind).stdout == "kind passing@3 published\n"
    assert "passing@3" in conctl("list", "kinds", "-o", "name").stdout.split()
    assert "passing  3" in conctl("list", "manifests").stdout
    assert "trigger: specChange" in conctl("get", "kind", "passing@3").stdout
    assert conctl("delete", "crd", "passing", "--kind-version", "3").stdout == "kind passing@3 deleted\n"
    assert conctl("get", "kind", "passing@3").exit_code == 1


def test_provider_configs_are_listed_shown_and_deleted(conctl):
    config = "type: providerconfig\nname: pc1\nkind: leaf\nkind_version: 1\nspec: {settings: {token: sesame, n: 1.0}}\n"
    assert apply(conctl, config).stdout == "providerconfig pc1 created\n"
    assert "pc1" in conctl("list", "pc").stdout
    assert "token: '***'\n    n: 1.0" in conctl("get", "config", "pc1").stdout
    assert "token: sesame" in conctl("get", "config", "pc1", "--reveal").stdout
    assert conctl("delete", "pc", "pc1").stdout == "providerconfig pc1 deleted\n"


def test_a_kind_file_makes_the_kind_and_its_default_config(conctl):
    text = f"kind: filed\nkind_version: 1\n{REACTIONS}default_config: {{settings: {{greeting: hi}}}}\n"
    assert apply(conctl, text).stdout.splitlines()[1] == "providerconfig filed created"
    assert json.loads(conctl("get", "pc", "filed", "-o", "json").stdout)["is_default"] is True
    apply(conctl, "kind: filed\nkind_version: 1\nname: left\nspec: {}\n")
    for words, done in (("--dry-run",), "would be deleted"), ((), "deleted"):
        told = f"providerconfig filed {done}; resources of filed@1 then have no default config\n"
        assert conctl("delete", "pc", "filed", *words).stdout == told


def test_global_options_may_come_before_or_after_the_command(server):
    for words in (
        ["--server", server, "-o", "name", "list", "kinds"],
        ["list", "kinds", "--server", server, "-o", "name"],
    ):
        assert "leaf@1" in CliRunner().invoke(cli, words).stdout.split()


def test_the_server_may_come_from_the_environment(server):
    done = CliRunner().invoke(cli, ["list", "kinds", "-o", "name"], env={"CONVERGE_SERVER": server})
    assert "leaf@1" in done.stdout.split()


def test_what_is_typed_wins_over_the_environment_wherever_it_is_typed(server):
    for words in (["--server", server, "list", "kinds"], ["list", "kinds", "--server", server]):
        assert CliRunner().invoke(cli, words, env={"CONVERGE_SERVER": "http://127.0.0.1:1"}).exit_code == 0


@pytest.mark.parametrize("alias", [alias for name, aliases in ALIASES.items() for alias in (name, *aliases)])
def test_every_alias_of_a_type_is_understood(conctl, alias):
    assert conctl("list", alias).exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        ["list", "pods"],
        ["get", "leaf"],
        ["get", "resource", "leaf"],
        ["tree", "leaf"],
        ["apply"],
        ["get", "leaf/.."],
        ["get", "leaf/a/b"],
        ["get", "leaf/\udcff"],
        ["history", "leaf/."],
        ["delete", "pc", ".."],
        ["delete", "pc", ""],
        ["get", "kind", "leaf@1/config"],
        ["list", "--timeout", "5"],
        ["list", "--timeout", "0s"],
        ["list", "--timeout", "9999999h"],
        ["list", "-l", "team"],
        ["list", "--server", "localhost:8080"],
        ["wait", "leaf/x", "--for", "sunshine"],
    ],
)
def test_what_can_not_be_meant_is_a_usage_error(conctl, words):
    assert conctl(*words).exit_code == 2


@pytest.mark.parametrize("words", [["--name", "\udcff"], ["-l", "a=\udcff"]])
def test_a_filter_that_is_not_utf_8_is_one_sentence(conctl, words):
    done = conctl("list", *words)
    assert (done.exit_code, done.stderr) == (1, f"Error: {words[1].replace('=', ':')!r} is not UTF-8\n")


def test_the_name_of_a_kind_never_changes_what_the_engine_is_asked(conctl):
    done = apply(conctl, f"kind: leaf?force=true\nkind_version: 1\n{REACTIONS}")
    assert "/kind: 'leaf?force=true' is not legal" in done.stderr


@pytest.mark.parametrize("words", [["list", "leaf"], ["get", "leaf", "told"]])
def test_a_kind_where_a_type_belongs_is_answered_with_where_kinds_go(conctl, words):
    done = conctl(*words)
    assert "KIND/NAME" in done.stderr
    assert "--kind" in done.stderr


@pytest.mark.parametrize("text", ["a: [", "type: pod\n", "", "a: 1\n"])
def test_a_document_that_can_not_be_used_is_one_sentence(conctl, text):
    done = apply(conctl, text)
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: -")
    assert len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_learns_to_complete(shell):
    assert "_CONCTL_COMPLETE" in CliRunner().invoke(cli, ["completion", shell]).stdout


@pytest.mark.parametrize(
    ("words", "list_command"),
    [
        (("get", "leaf"), "conctl list --kind leaf shows all"),
        (("get", "manifests"), "conctl list manifests shows all"),
        (("list", "leaf"), "conctl list --kind leaf"),
    ],
)
def test_who_asks_for_a_kind_without_a_name_is_told_how_it_is_listed(conctl, words, list_command):
    done = conctl(*words)
    assert done.exit_code == 2
    assert list_command in done.stderr


@pytest.mark.parametrize("words", [("kind", "leaf"), ("crd", "leaf@1"), ("kinds", "leaf", "--kind-version=1")])
def test_a_kind_is_named_with_its_version(conctl, words):
    assert conctl("get", *words, "-o", "name").stdout == "leaf@1\n"


@pytest.mark.parametrize("version", ["x", "0", "-1", "99999", "1.0", "٣"])
def test_a_version_that_is_none_is_a_usage_error(conctl, version):
    for words in (("get", "kind", f"leaf@{version}"), ("delete", "kind", f"leaf@{version}")):
        done = conctl(*words)
        assert done.exit_code == 2
        assert f"'leaf@{version}' is not KIND@VERSION, the version a number from 1 to 32767" in done.stderr


def test_a_label_key_that_could_not_be_chosen_by_is_refused_with_its_place(conctl):
    leaf = "kind: leaf\nkind_version: 1\nname: odd\nlabels:\n  a: b\n  x:y: z\nspec: {}\n"
    done = conctl("apply", "-f", "-", stdin=leaf)
    assert done.exit_code == 1
    assert "'x:y' is no label key" in done.stderr
    assert "-:6" in done.stderr


@pytest.mark.parametrize("number", ["x", "1.0", "٣", ""])
@pytest.mark.parametrize("words", [["get", "deadletter"], ["retry"], ["retry", "1"]])
def test_what_is_no_number_is_no_dead_letter(conctl, words, number):
    done = conctl(*words, number)
    assert done.exit_code == 2
    assert f"{number!r} is not a dead letter's id, a whole number; conctl list deadletters shows them" in done.stderr


@pytest.mark.parametrize("label", ["a:b=c", "=c", "a"])
def test_a_label_to_choose_by_is_key_and_value(conctl, label):
    assert conctl("list", "-l", label).exit_code == 2


def test_a_dry_run_of_a_deletion_says_what_would_go_and_leaves_it(conctl):
    apply(conctl, "kind: stack\nkind_version: 1\nname: dry\nspec: {}\n", "--wait")
    for _ in range(2):
        done = conctl("delete", "stack/dry", "--dry-run", "--wait")
        assert (done.exit_code, done.stdout) == (0, "resource stack/dry would be deleted, with 2 resources below it\n")
    assert conctl("get", "stack/dry", "-o", "name").stdout == "stack/dry\n"
    events = conctl("events", "stack/dry", "-o", "name").stdout
    assert "Delet" not in events


def test_a_deletion_and_its_dry_run_say_what_goes_because_it_depends_on_what_goes(conctl):
    apply(conctl, "kind: stack\nkind_version: 1\nname: taken\nspec: {}\n", "--wait")
    along = ", with 1 resource that depends on it: leaf/taken-web\n"
    assert conctl("delete", "leaf/taken-db", "--dry-run").stdout == f"resource leaf/taken-db would be deleted{along}"
    assert conctl("delete", "leaf/taken-web", "--dry-run").stdout == "resource leaf/taken-web would be deleted\n"
    assert conctl("delete", "leaf/taken-db").stdout == f"resource leaf/taken-db deletion requested{along}"


def test_what_goes_with_a_resource_is_counted_and_the_first_of_many_named():
    first = [{"kind": "leaf", "name": name} for name in "ab"]
    answer = {"deleted": True, "below": 1, "dependents": 7, "first_dependents": first}
    assert doomed(answer) == ", with 1 resource below it and 7 that depend on it: leaf/a, leaf/b, …"
    assert doomed({"deleted": True}) == ""


def test_a_dry_run_of_a_deletion_says_what_stands_against_it(conctl):
    apply(conctl, "kind: leaf\nkind_version: 1\nname: dry-used\nspec: {}\n")
    for words, told in ((("kind", "leaf"), "leaf@1 has resources"), (("leaf/nobody",), "leaf/nobody")):
        done = conctl("delete", *words, "--dry-run")
        assert done.exit_code == 1
        assert told in done.stderr


@pytest.mark.parametrize(
    ("document", "told"),
    [
        ("kind: leaf\nkind_version: 1\nname: x\nspec: {}\ncolour: red\n", ["/colour: unknown key", "\n  at -:5\n"]),
        ("kind: leaf\nkind_version: 7\nname: x\nspec: {}\n", ["leaf@7 is not published", "\n  at -:2 /kind_version\n"]),
        ("kind: leaf\nkind_version: 1\nname: x\nspec: {size: big}\n", ["breaks the schema", "\n  -:4 /spec/size: "]),
    ],
)
def test_a_refusal_says_its_place_once(conctl, document, told):
    done = apply(conctl, document)
    for part in told:
        assert done.stderr.count(part) == 1
    assert done.stderr.count(told[1].split()[-1]) == 1


@pytest.mark.parametrize("command", ["apply", "diff"])
def test_a_file_without_its_option_is_told_how_it_is_given(conctl, command):
    done = conctl(command, "-f", "a.yaml", "b.yaml", "c d.yaml")
    assert done.exit_code == 2
    assert f"Error: -f goes before each file: conctl {command} -f b.yaml -f 'c d.yaml'\n" in done.stderr


@pytest.mark.parametrize("owner", ["foo", "a/", "a/b/c"])
@pytest.mark.parametrize("command", ["list", "watch"])
def test_an_owner_to_choose_by_is_kind_and_name(conctl, command, owner):
    done = conctl(command, "--owner", owner)
    assert done.exit_code == 2
    assert f"--owner {owner!r} is not a resource's KIND/NAME" in done.stderr
