"""What `conctl diff` and dry runs show: golden screens."""

import json

import pytest

OBJECT = "{type: object}"
REACTIONS = "reactions: [{name: work, trigger: specChange, emits: [status]}]\n"


def leaf(name, **spec):
    return json.dumps({"kind": "leaf", "kind_version": 1, "name": name, "spec": spec, "labels": {"a": "1"}})


def diff(conctl, text, *words):
    return conctl("diff", "-f", "-", *words, stdin=text)


def test_a_diff_shows_declarations_before_and_after(conctl):
    conctl("apply", "-f", "-", stdin=leaf("differs", size=1.0, tags=["x"]))
    done = diff(conctl, leaf("differs", size=2, tags=["x", "y"]))
    assert done.exit_code == 1
    assert (
        done.stdout
        == """\
--- resource leaf/differs (engine)
+++ resource leaf/differs (-:1)
@@ -4,6 +4,7 @@
 labels:
   a: '1'
 spec:
-  size: 1.0
+  size: 2
   tags:
   - x
+  - y
"""
    )


def test_what_is_new_is_all_added(conctl):
    done = diff(conctl, "kind: leaf\nkind_version: 1\nname: brand-new\nspec: {}\n")
    assert done.exit_code == 1
    assert done.stdout.splitlines()[2:] == [
        "@@ -0,0 +1,4 @@",
        "+kind: leaf",
        "+kind_version: 1",
        "+name: brand-new",
        "+spec: {}",
    ]


def test_what_would_not_change_shows_nothing_and_ends_with_0(conctl):
    conctl("apply", "-f", "-", stdin=leaf("even", size=1))
    done = diff(conctl, leaf("even", size=1))
    assert (done.exit_code, done.output) == (0, "")


def test_kinds_and_configs_are_compared_by_the_engine_too(conctl):
    kind = f"kind: judged\nkind_version: 1\nspec_schema: {OBJECT}\n{REACTIONS}"
    config = "name: judged\nkind: judged\nkind_version: 1\nis_default: true\nspec: {settings: {token: abcdef, n: 1}}\n"
    conctl("apply", "-f", "-", stdin=f"{kind}---\n{config}")
    assert diff(conctl, f"{kind}---\n{config}").exit_code == 0
    other = config.replace("n: 1}", "n: 2}")
    described = diff(conctl, f"{kind}description: Now.\n---\n{other}")
    assert "+description: Now." in described.stdout
    assert "-    n: 1\n+    n: 2" in described.stdout
    assert "abcdef" not in described.stdout
    assert "only secrets differ" in diff(conctl, config.replace("abcdef", "ghijkl")).stdout


def test_a_break_of_a_kind_is_trouble_unless_it_is_forced(conctl):
    kind = f"kind: fragile\nkind_version: 1\nspec_schema: {OBJECT}\n{REACTIONS}"
    conctl("apply", "-f", "-", stdin=kind)
    broken = kind.replace("{type: object}", "{type: object, required: [x]}")
    refused = diff(conctl, broken)
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "this would break it" in refused.stderr
    assert diff(conctl, broken, "--force").exit_code == 1
    assert "would break it" in conctl("apply", "--dry-run", "-f", "-", stdin=broken).stderr


@pytest.mark.parametrize("text", ["a: [", leaf("refused", size="big")])
def test_what_can_not_be_compared_ends_with_2(conctl, text):
    assert diff(conctl, text).exit_code == 2


def test_differences_for_machines(conctl):
    conctl("apply", "-f", "-", stdin=leaf("mech-diff", size=1.0))
    done = diff(conctl, leaf("mech-diff", size=2), "-o", "json")
    assert json.loads(done.stdout) == {
        "differences": [
            {
                "type": "resource",
                "name": "leaf/mech-diff",
                "result": "configured",
                "changes": [{"path": "/spec/size", "before": 1.0, "after": 2}],
            }
        ]
    }


def test_a_dry_run_of_more_than_a_request_carries_knows_the_kinds_in_each(conctl, monkeypatch):
    monkeypatch.setattr("stdworker.cli.conctl.items.DOCUMENTS_MAX", 2)
    kind = f"kind: many\nkind_version: 1\n{REACTIONS}"
    resources = "".join(f"---\nkind: many\nkind_version: 1\nname: n{n}\nspec: {{}}\n" for n in range(5))
    done = conctl("apply", "--dry-run", "-f", "-", stdin=kind + resources)
    assert done.stdout.splitlines() == [
        "kind many@1 would be published",
        *(f"resource many/n{n} would be created" for n in range(5)),
    ]


def test_what_is_refused_is_told_with_its_line(conctl, tmp_path):
    path = tmp_path / "two.yaml"
    path.write_text(
        "kind: leaf\nkind_version: 1\nname: fine\n---\n# a comment\n"
        "kind: leaf\nkind_version: 1\nname: bad\nspec:\n  size: big\n"
    )
    for words in ([], ["--dry-run"]):
        done = conctl("apply", "-f", str(path), *words)
        assert done.exit_code == 1
        assert f"{path}:6: resource leaf/bad: the spec breaks the schema" in done.stderr
        assert f"  {path}:10 /spec/size: " in done.stderr


def test_what_is_wrong_in_the_config_of_a_kind_file_has_its_line(conctl, tmp_path):
    path = tmp_path / "k.kind.yaml"
    path.write_text(
        "kind: lined\nkind_version: 1\nconfig_schema:\n  properties: {settings: {properties: {n: {type: number}}}}\n"
        "reactions: [{name: work, trigger: specChange, emits: [status]}]\ndefault_config:\n  settings:\n    n: x\n"
    )
    assert f"  {path}:8 /spec/settings/n: " in conctl("apply", "-f", str(path)).stderr
