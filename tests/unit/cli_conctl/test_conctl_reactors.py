"""Reactor bindings and dead letters on the command line."""

import json

import pytest
import yaml

KINDS = """
---
{kind: pager, kind_version: 1, reactions: [{name: tell, trigger: reactor, emits: [sideEffect]}]}
---
{kind: mute, kind_version: 1, reactions: [{name: tell, trigger: reactor, emits: [sideEffect]}]}
"""

CREATED = ["reactorbinding one created", "reactorbinding two created"]


@pytest.fixture
def reactors(conctl):
    """A reactor kind that no worker takes, and mute, which fails for good whatever it is told."""
    done = conctl("apply", "-f", "-", stdin=KINDS)
    assert done.exit_code == 0, done.output
    return conctl


def binding(name, **more):
    told = {"name": name, "watch_kind": "leaf", "transition": "created", "reactor": "pager", **more}
    return yaml.dump(told)


def test_an_empty_list_names_its_type_in_words(conctl):
    assert conctl("list", "bindings", "--name", "nothing").stderr == "No reactor bindings found.\n"


def test_a_binding_is_known_by_its_shape_and_applied_before_resources(reactors):
    leaf = "---\n{kind: leaf, kind_version: 1, name: shaped}\n---\n"
    done = reactors("apply", "-f", "-", stdin=leaf + binding("shaped"))
    assert done.output == "reactorbinding shaped created\nresource leaf/shaped created (generation 1)\n"
    assert reactors("apply", "-f", "-", stdin=binding("shaped")).output == "reactorbinding shaped unchanged\n"
    changed = binding("shaped", enabled=False, type="reactorbinding")
    told = reactors("apply", "-f", "-", "--dry-run", stdin=changed).output
    assert told == "reactorbinding shaped would be configured\n  /enabled: true → false\n"
    assert reactors("apply", "-f", "-", stdin=changed).output == "reactorbinding shaped configured\n"


def test_a_binding_that_could_not_work_fails_with_its_reason(reactors):
    done = reactors("apply", "-f", "-", stdin=binding("bad", transition="creatd"))
    assert done.exit_code == 1
    assert "-:1: reactorbinding bad: 'creatd' is no transition; it is one of created, synced" in done.stderr


@pytest.mark.parametrize("alias", ["reactorbinding", "reactorbindings", "binding", "bindings", "rb"])
def test_bindings_are_shown_by_any_of_their_names(reactors, alias):
    reactors("apply", "-f", "-", stdin=binding("named", label_match={"team": "web"}, reactor_version=1))
    line = next(line for line in reactors("list", alias).output.splitlines() if line.startswith("named"))
    assert line.split()[:6] == ["named", "leaf", "created", "team=web", "pager@1", "yes"]
    assert "named" in reactors("list", alias, "-o", "name").output.splitlines()
    assert yaml.safe_load(reactors("get", alias, "named").output)["label_match"] == {"team": "web"}


def test_what_waits_for_a_binding_is_listed_with_the_reason(reactors):
    reactors("apply", "-f", "-", stdin=binding("unheard", label_match={"only": "that"}))
    assert row(reactors, "unheard").endswith(" -")
    reactors("apply", "-f", "-", stdin="---\n{kind: leaf, kind_version: 1, name: lost, labels: {only: that}}")
    assert row(reactors, "unheard").endswith("  1: no worker that is connected serves pager@1")


def row(conctl, name):
    return next(line for line in conctl("list", "rb").output.splitlines() if line.startswith(name))


def test_a_binding_is_deleted(reactors):
    reactors("apply", "-f", "-", stdin=binding("short"))
    assert reactors("delete", "rb", "short").output == "reactorbinding short deleted\n"
    assert "there is no reactor binding short" in reactors("delete", "rb", "short").output


def test_bindings_are_chosen_by_what_they_watch_and_by_their_own_labels(reactors):
    reactors("apply", "-f", "-", stdin=binding("mine", labels={"team": "web"}))
    reactors("apply", "-f", "-", stdin=binding("theirs", watch_kind="stack"))
    chosen = reactors("list", "rb", "-l", "team=web", "-o", "name").output.split()
    assert (chosen, "theirs" in reactors("list", "rb", "--kind", "leaf", "-o", "name").output) == (["mine"], False)


def test_what_an_app_no_longer_binds_is_pruned(reactors, tmp_path):
    (tmp_path / "converge.yaml").write_text("app: bound\n")
    (tmp_path / "one.yaml").write_text(binding("one"))
    (tmp_path / "two.yaml").write_text(binding("two"))
    assert reactors("sync", str(tmp_path)).stdout.splitlines()[:2] == CREATED
    assert reactors("sync", str(tmp_path)).stdout.endswith("\n2 unchanged\n")
    (tmp_path / "two.yaml").unlink()
    done = reactors("sync", str(tmp_path), "--prune")
    assert "reactorbinding two pruned" in done.stdout.splitlines()
    assert "two" not in reactors("list", "rb", "-l", "converge.sh/app=bound", "-o", "name").output.split()


def test_a_binding_is_edited(reactors, monkeypatch):
    reactors("apply", "-f", "-", stdin=binding("edited"))
    monkeypatch.setenv("EDITOR", "sed -i s/created/failed/")
    monkeypatch.delenv("VISUAL", raising=False)
    assert reactors("edit", "rb", "edited").output == "reactorbinding edited configured\n"
    assert yaml.safe_load(reactors("get", "rb", "edited").output)["transition"] == "failed"


def test_a_dead_letter_is_shown_and_retried(reactors, eventually):
    def letters():
        return json.loads(reactors("list", "dl", "-o", "json").output)["dead_letters"]

    reactors("apply", "-f", "-", stdin=binding("muted", reactor="mute", label_match={"only": "this"}))
    leaf = "---\n{kind: leaf, kind_version: 1, name: heard, labels: {only: this}}"
    reactors("apply", "-f", "-", stdin=leaf)
    [letter] = eventually(letters)
    row = next(line for line in reactors("list", "deadletters").output.splitlines() if "muted" in line)
    assert row.split()[:5] == [str(letter["id"]), "muted", "created", "leaf/heard", "1"]
    assert "nobody listens" in row
    shown = yaml.safe_load(reactors("get", "deadletter", str(letter["id"])).output)
    assert shown["resource"]["name"] == "heard"

    done = reactors("retry", str(letter["id"]))
    assert done.output == f"dead letter {letter['id']} is delivered again (created leaf/heard to mute)\n"
    [again] = eventually(letters)
    assert (again["id"], again["dedup_token"]) == (letter["id"], letter["dedup_token"])
    assert reactors("delete", "dl", str(letter["id"])).exit_code == 2


def test_what_is_no_dead_letter_is_not_retried(reactors):
    done = reactors("retry", "999999")
    assert (done.exit_code, "there is no dead letter 999999" in done.output) == (1, True)
