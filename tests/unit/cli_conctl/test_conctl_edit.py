"""`conctl edit` with a program for an editor."""

import json
import re
import stat
import sys
from pathlib import Path

import pytest

from stdworker.cli.conctl.client import Client


@pytest.fixture(autouse=True)
def kept(tmp_path, monkeypatch):
    """The texts that are kept for whoever wrote them."""
    folder = tmp_path / "kept"
    folder.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    return lambda: [path.read_text() for path in folder.iterdir()]


@pytest.fixture
def editor(tmp_path, monkeypatch):
    """Edit with these steps, one each time that the editor opens: pairs of what is replaced by what."""

    def use(*steps):
        (tmp_path / "steps.json").write_text(json.dumps(steps))
        program = tmp_path / "editor"
        program.write_text(
            f"#!{sys.executable}\n"
            "import json, os, subprocess, sys\n"
            f"folder = {str(tmp_path)!r}\n"
            "steps = json.load(open(folder + '/steps.json'))\n"
            "text = open(sys.argv[1]).read()\n"
            "open(folder + '/seen.txt', 'a').write(text + '=====\\n')\n"
            "for old, new in steps.pop(0).items():\n"
            "    assert old in text, (old, text)\n"
            "    text = text.replace(old, new)\n"
            "open(sys.argv[1], 'w').write(text)\n"
            "json.dump(steps, open(folder + '/steps.json', 'w'))\n"
        )
        program.chmod(program.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("EDITOR", str(program))
        monkeypatch.delenv("VISUAL", raising=False)

    use.seen = lambda: (tmp_path / "seen.txt").read_text().split("=====\n")[:-1]
    return use


def declare(conctl, name, **spec):
    document = {"kind": "leaf", "kind_version": 1, "name": name, "spec": spec, "labels": {"a": "1"}}
    conctl("apply", "-f", "-", "--wait", stdin=json.dumps(document))


def read(conctl, name):
    return json.loads(conctl("get", f"leaf/{name}", "-o", "json").stdout)


def test_an_edit_is_stored_numbers_as_they_are_written(conctl, editor):
    declare(conctl, "edited", size=1.0)
    editor({"size: 1.0": "size: 2.50"})
    assert conctl("edit", "leaf/edited").stdout == "resource leaf/edited configured\n"
    assert "size: 2.50" in conctl("get", "leaf/edited", "-o", "yaml").stdout
    assert editor.seen() == ["kind: leaf\nkind_version: 1\nname: edited\nlabels:\n  a: '1'\nspec:\n  size: 1.0\n"]


def test_what_is_left_as_it_was_is_not_sent(conctl, editor):
    declare(conctl, "idle", size=1)
    editor({})
    assert conctl("edit", "leaf/idle").stdout == "resource leaf/idle unchanged\n"
    assert read(conctl, "idle")["generation"] == 1


def test_what_is_taken_out_is_cleared(conctl, editor):
    declare(conctl, "bare", size=1)
    editor({"labels:\n  a: '1'\n": ""})
    assert conctl("edit", "leaf/bare").exit_code == 0
    assert read(conctl, "bare")["labels"] == {}


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        ("size: big", "is not of type"),
        ("size: [", "not YAML"),
        ("size: 1\n---\nkind: leaf", "only that"),
    ],
)
def test_what_is_refused_is_shown_in_the_editor_until_it_is_mended(conctl, editor, wrong, told):
    declare(conctl, "mended", size=1)
    editor({"size: 1": wrong}, {wrong: "size: 3"})
    done = conctl("edit", "leaf/mended")
    assert (done.exit_code, done.stdout) == (0, "resource leaf/mended configured\n")
    again = editor.seen()[1]
    assert again.startswith("# ")
    assert told in again.split("kind: leaf")[0]
    conctl("delete", "leaf/mended", "--wait")


def test_another_name_is_refused(conctl, editor):
    declare(conctl, "named", size=1)
    editor({"name: named": "name: other"}, {})
    done = conctl("edit", "leaf/named")
    assert done.exit_code == 1
    assert "the text must declare resource leaf/named, and only that" in done.stderr


def test_who_gives_up_finds_the_text_in_a_file(conctl, editor, kept):
    declare(conctl, "given-up", size=1)
    editor({"size: 1": "size: big"}, {})
    done = conctl("edit", "leaf/given-up")
    assert done.exit_code == 1
    path = Path(done.stderr.split("what you wrote is in ")[1].strip())
    assert [path.read_text()] == kept()
    assert "size: big" in kept()[0]


def test_who_gives_up_is_told_each_place_and_reason(conctl, editor):
    declare(conctl, "reasons", size=1)
    editor({"size: 1": "size: big"}, {})
    assert conctl("edit", "leaf/reasons").stderr.splitlines()[:2] == [
        "Error: not stored: the spec breaks the schema of leaf@1",
        '  edited.yaml:7 /spec/size: "big" is not of type "number"',
    ]


@pytest.mark.parametrize("wrong", ["size: big", "size: [}"])
def test_a_refusal_names_the_line_that_the_editor_shows_it_in(conctl, editor, wrong):
    declare(conctl, "lines", size=1)
    editor({"size: 1": wrong}, {wrong: "size: 1"})
    conctl("edit", "leaf/lines")
    shown = editor.seen()[1]
    [line] = re.findall(r"edited\.yaml:(\d+)", shown)
    assert wrong in shown.splitlines()[int(line) - 1]


def test_who_gives_up_over_what_somebody_changed_meanwhile_is_told_so(conctl, editor, raced):
    declare(conctl, "yielded", size=1)
    editor(
        {"size: 1": "size: 2"},
        {"kind: leaf\nkind_version: 1\nname: yielded\nlabels:\n  a: '1'\nspec:\n  size: 2\n": ""},
    )
    raced("yielded", size=5)
    assert conctl("edit", "leaf/yielded").stderr.startswith("Error: not stored: leaf/yielded was changed meanwhile\n")


def test_a_program_that_writes_nonsense_for_ever_is_given_up_on_with_what_it_wrote_last(
    conctl, tmp_path, monkeypatch, kept
):
    monkeypatch.setattr("stdworker.cli.conctl.edit.OPENED_MAX", 3)
    declare(conctl, "nonsense", size=1)
    program = tmp_path / "nonsense"
    program.write_text('#!/bin/sh\necho "and: more" >> "$1"\n')
    program.chmod(0o755)
    monkeypatch.setenv("EDITOR", str(program))
    monkeypatch.delenv("VISUAL", raising=False)
    done = conctl("edit", "leaf/nonsense")
    assert done.exit_code == 1
    assert "not stored: " in done.stderr
    assert [text.count("and: more") for text in kept()] == [3]


def test_an_interrupt_while_it_is_stored_loses_nothing(conctl, editor, kept, monkeypatch):
    declare(conctl, "interrupted", size=1)
    editor({"size: 1": "size: 2"})

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("stdworker.cli.conctl.edit.Editing.send", interrupt)
    done = conctl("edit", "leaf/interrupted")
    assert (done.exit_code, "what you wrote is in " in done.stderr) == (130, True)
    assert "size: 2" in kept()[0]


def test_nothing_is_kept_of_what_was_stored_or_never_written(conctl, editor, kept):
    declare(conctl, "tidy", size=1)
    editor({"size: 1": "size: big"}, {"size: big": "size: 2"}, {}, {"size: 2": "size: big"}, {"size: big": "size: 2"})
    for told in ("configured", "unchanged", "unchanged"):
        assert conctl("edit", "leaf/tidy").stdout == f"resource leaf/tidy {told}\n"
    assert kept() == []


def test_who_empties_the_text_gives_up(conctl, editor):
    declare(conctl, "emptied", size=1)
    editor({"kind: leaf\nkind_version: 1\nname: emptied\nlabels:\n  a: '1'\nspec:\n  size: 1\n": "\n"})
    done = conctl("edit", "leaf/emptied")
    assert done.exit_code == 1
    assert "not stored: the text is empty" in done.stderr


@pytest.fixture
def meanwhile(monkeypatch):
    """Have something done right before an edit is stored, once."""

    def do(act):
        real, done = Client.call, []

        def call(self, method, path, **more):
            if "if-match" in (more.get("headers") or {}) and not done:
                done.append(True)
                act()
            return real(self, method, path, **more)

        monkeypatch.setattr(Client, "call", call)

    return do


@pytest.fixture
def raced(conctl, meanwhile):
    """Have somebody else change a leaf right before an edit of it is stored."""
    return lambda name, **spec: meanwhile(lambda: declare(conctl, name, **spec))


def test_who_saw_what_somebody_changed_meanwhile_may_store_the_text_as_it_is(conctl, editor, raced):
    declare(conctl, "insisted", size=1)
    editor({"size: 1": "size: 2"}, {})
    raced("insisted", size=5)
    assert conctl("edit", "leaf/insisted").stdout == "resource leaf/insisted configured\n"
    assert "# -  size: 1\n# +  size: 5" in editor.seen()[1]
    assert read(conctl, "insisted")["spec"] == {"size": 2}


def test_a_change_made_meanwhile_is_shown_and_not_lost(conctl, editor, raced):
    declare(conctl, "raced", size=1)
    editor({"size: 1": "size: 2"}, {"size: 2": "size: 2\n  color: red"})
    raced("raced", size=1, color="red")
    done = conctl("edit", "leaf/raced")
    assert (done.exit_code, done.stdout) == (0, "resource leaf/raced configured\n")
    again = editor.seen()[1]
    assert "# leaf/raced was changed meanwhile" in again
    assert "# +  color: red" in again
    assert read(conctl, "raced")["spec"] == {"size": 2, "color": "red"}


def test_a_config_is_edited_with_its_secrets_and_keeps_its_bundle(conctl, editor):
    config = (
        "type: providerconfig\nname: pce\nkind: leaf\nkind_version: 1\nspec: {settings: {token: sesame}}\ndata: UEs=\n"
    )
    conctl("apply", "-f", "-", stdin=config)
    editor({"token: sesame": "token: other"})
    assert conctl("edit", "config", "pce").stdout == "providerconfig pce configured\n"
    stored = json.loads(conctl("get", "pc", "pce", "--reveal", "-o", "json").stdout)
    assert (stored["spec"], stored["data"]) == ({"settings": {"token": "other"}}, "UEs=")


def test_a_kind_is_edited(conctl, editor):
    conctl(
        "apply",
        "-f",
        "-",
        stdin="kind: edk\nkind_version: 2\ndescription: Old.\n"
        "reactions: [{name: work, trigger: specChange, emits: [status]}]\n",
    )
    editor({"Old.": "New."})
    assert conctl("edit", "kind", "edk", "--kind-version", "2").stdout == "kind edk@2 published\n"
    assert "New." in conctl("get", "kind", "edk@2").stdout


EAR = "kind: ear\nkind_version: 1\nreactions: [{name: hear, trigger: reactor, emits: [sideEffect]}]\n"
MADE = {
    "kind": "kind: edr\nkind_version: 1\ndescription: DESCRIBED\n"
    "reactions: [{name: work, trigger: specChange, emits: [status]}]\n",
    "config": "type: providerconfig\nname: edr\nkind: leaf\nkind_version: 1\nspec: {settings: {a: DESCRIBED}}\n",
    "binding": "type: reactorbinding\nname: edr\nwatch_kind: leaf\ntransition: failed\nreactor: ear\n"
    "label_match: {a: DESCRIBED}\n",
}


@pytest.mark.parametrize("what", MADE)
def test_what_somebody_changed_meanwhile_is_overwritten_by_no_edit(conctl, editor, meanwhile, what):
    conctl("apply", "-f", "-", stdin=EAR)
    conctl("apply", "-f", "-", stdin=MADE[what].replace("DESCRIBED", "Old."))
    meanwhile(lambda: conctl("apply", "-f", "-", stdin=MADE[what].replace("DESCRIBED", "Theirs.")))
    editor({"Old.": "Ours."}, {"Ours.": "Both."})
    done = conctl("edit", what, "edr")
    assert done.exit_code == 0, done.stderr
    again = editor.seen()[1]
    assert "was changed meanwhile" in again
    assert "Theirs." in again.split("was changed meanwhile")[1]
    assert "Both." in conctl("get", what, "edr").stdout


def test_what_is_owned_is_not_edited(conctl, editor):
    conctl("apply", "-f", "-", "--wait", stdin="kind: stack\nkind_version: 1\nname: edit-owner\nspec: {}\n")
    editor({})
    done = conctl("edit", "leaf/edit-owner-db")
    assert done.exit_code == 1
    assert "is owned by stack/edit-owner; edit that instead" in done.stderr


def test_an_editor_that_fails_is_one_sentence(conctl, monkeypatch, kept):
    declare(conctl, "no-editor", size=1)
    monkeypatch.setenv("EDITOR", "/bin/false")
    monkeypatch.delenv("VISUAL", raising=False)
    done = conctl("edit", "leaf/no-editor")
    assert done.exit_code == 1
    assert done.stderr.startswith("Error: /bin/false: Editing failed")
    assert kept() == []


@pytest.mark.parametrize(
    ("what", "document", "taken", "cleared"),
    [
        (
            "config",
            "{type: providerconfig, name: taken, kind: leaf, kind_version: 1, labels: {a: b}, spec: {shards: 1}}",
            "is_default: false\nlabels:\n  a: b\nspec:\n  shards: 1\n",
            {"is_default": False, "labels": {}, "spec": None},
        ),
        (
            "binding",
            "{type: reactorbinding, name: taken, WATCHED, watch_kind_version: 1, label_match: {a: b}, enabled: false}",
            "label_match:\n  a: b\nenabled: false\n",
            {"label_match": {}, "enabled": True, "watch_kind_version": 1},
        ),
    ],
)
def test_what_is_taken_out_of_a_config_or_a_binding_is_cleared_too(conctl, editor, what, document, taken, cleared):
    conctl("apply", "-f", "-", stdin=EAR)
    watched = "watch_kind: leaf, transition: failed, reactor: ear"
    conctl("apply", "-f", "-", stdin=document.replace("WATCHED", watched))
    editor({taken: ""})
    done = conctl("edit", what, "taken")
    assert (done.exit_code, done.stderr) == (0, "")
    told = json.loads(conctl("get", what, "taken", "-o", "json").stdout)
    assert {name: told[name] for name in cleared} == cleared
