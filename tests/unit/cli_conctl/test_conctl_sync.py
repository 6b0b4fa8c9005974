"""`conctl sync` against a real engine: what a folder declares is there afterwards, and what it no longer does isn't."""

import json
import os

import pytest

from stdworker.cli.conctl.client import Client
from stdworker.cli.conctl.wait import wait_for

KIND = (
    "kind: {kind}\nkind_version: 1\nspec_schema: {{}}\n"
    "reactions: [{{name: work, trigger: specChange, emits: [status]}}]\n"
)


@pytest.fixture
def estate(tmp_path):
    """A folder that is written by `estate({file: text})`; None takes a file away."""

    def write(texts):
        for name, text in texts.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.unlink() if text is None else path.write_text(text)
        return tmp_path

    return write


def leaf(name, more="", **spec):
    return f"kind: leaf\nkind_version: 1\nname: {name}\nspec: {json.dumps(spec)}\n{more}"


def app(name):
    return f"app: {name}\n"


def sync(conctl, folder, *words):
    return conctl("sync", str(folder), *words)


def names(conctl, label):
    return sorted(conctl("list", "-A", "-l", f"converge.sh/app={label}", "-o", "name").stdout.split())


def labels(conctl, resource):
    return json.loads(conctl("get", resource, "-o", "json").stdout)["labels"]


def test_all_types_are_applied_in_their_order_and_a_second_time_unchanged(conctl, estate):
    folder = estate(
        {
            "converge.yaml": app("order"),
            "a.yaml": "kind: ordered\nkind_version: 1\nname: one\nprovider_config_ref: extra\nspec: {}\n",
            "b/c.yaml": "name: extra\nkind: ordered\nkind_version: 1\nis_default: false\nspec: {}\n",
            "z.yaml": KIND.format(kind="ordered") + "default_config: {settings: {}}\n",
        }
    )
    assert sync(conctl, folder).stdout.splitlines() == [
        "kind ordered@1 published",
        "providerconfig ordered created",
        "providerconfig extra created",
        "resource ordered/one created (generation 1)",
        "4 created",
    ]
    assert sync(conctl, folder, "--prune").stdout.splitlines() == [
        "kind ordered@1 unchanged",
        "providerconfig ordered unchanged",
        "providerconfig extra unchanged",
        "resource ordered/one unchanged (generation 1)",
        "4 unchanged",
    ]
    assert labels(conctl, "ordered/one") == {"converge.sh/app": "order"}


def test_what_is_no_longer_declared_is_named_and_only_pruned_when_asked(conctl, estate):
    folder = estate({"converge.yaml": app("named"), "a.yaml": leaf("stays"), "b.yaml": leaf("goes")})
    sync(conctl, folder)
    estate({"b.yaml": None})
    told = sync(conctl, folder)
    assert told.stderr == "resource leaf/goes no longer declared (--prune deletes it)\n"
    assert names(conctl, "named") == ["leaf/goes", "leaf/stays"]
    assert "resource leaf/goes pruned" in sync(conctl, folder, "--prune").stdout
    conctl("wait", "leaf/goes", "--for", "deleted")
    assert names(conctl, "named") == ["leaf/stays"]


def test_all_that_would_be_pruned_is_named_and_a_folder_without_it_does_not_say_that_nothing_is_to_do(conctl, estate):
    leaves = "---\n".join(leaf(f"many-{n:02}") for n in range(12))
    kept = leaf("many-kept", 'labels: {converge.sh/prune: "false"}\n')
    folder = estate({"converge.yaml": app("many"), "a.yaml": f"{leaves}---\n{kept}"})
    sync(conctl, folder)
    estate({"a.yaml": None})
    told = sync(conctl, folder)
    assert sorted(told.stderr.splitlines()) == [
        f"resource leaf/many-{n:02} no longer declared (--prune deletes it)" for n in range(12)
    ]
    assert told.stdout == "nothing declared, nothing pruned\n"


def test_what_goes_with_something_pruned_is_told_before_and_when_it_is_done(conctl, estate):
    folder = estate({"converge.yaml": app("along"), "a.yaml": "kind: stack\nkind_version: 1\nname: along\nspec: {}\n"})
    sync(conctl, folder)
    conctl("wait", "stack/along", "--for", "ready")
    estate({"a.yaml": None})
    would = sync(conctl, folder, "--prune", "--dry-run").stdout.splitlines()
    assert would[0] == "resource stack/along would be pruned, with 2 resources below it"
    done = sync(conctl, folder, "--prune").stdout.splitlines()
    assert done[0] == "resource stack/along pruned, with 2 resources below it"


def test_an_emptied_folder_prunes_everything_of_its_app_of_every_type(conctl, estate):
    folder = estate(
        {
            "converge.yaml": app("emptied"),
            "a.yaml": "kind: vanishing\nkind_version: 1\nname: one\nprovider_config_ref: vanishes\nspec: {}\n",
            "b.yaml": "name: vanishes\nkind: vanishing\nkind_version: 1\nis_default: false\n",
            "c.yaml": KIND.format(kind="vanishing"),
        }
    )
    assert sync(conctl, folder).exit_code == 0
    estate({"a.yaml": None, "b.yaml": None, "c.yaml": None})
    would = sync(conctl, folder, "--prune", "--dry-run")
    done = sync(conctl, folder, "--prune")
    assert done.stdout.splitlines() == [
        "resource vanishing/one pruned",
        "providerconfig vanishes pruned",
        "kind vanishing@1 pruned",
        "3 pruned",
    ]
    *lines, total = done.stdout.splitlines()
    assert would.stdout.splitlines() == [
        *(line.replace(" pruned", " would be pruned") for line in lines),
        f"dry run: {total}",
    ]
    assert conctl("get", "kind", "vanishing").exit_code == 1
    assert sync(conctl, folder, "--prune").stdout == "nothing declared, nothing to do\n"


def test_configs_and_kinds_stay_until_the_resources_that_need_them_for_their_end_are_gone(conctl, estate, monkeypatch):
    unserved = KIND.format(kind="lingering").rstrip("]\n") + (
        ", {name: end, trigger: deleteRequested, emits: [finalizer], finalizer: f}]\ndefault_config: {settings: {}}\n"
    )
    folder = estate(
        {
            "converge.yaml": app("lingering"),
            "k.yaml": unserved,
            "a.yaml": "kind: lingering\nkind_version: 1\nname: one\nspec: {}\n",
        }
    )
    assert sync(conctl, folder).exit_code == 0
    estate({"a.yaml": None, "k.yaml": None})
    impatient = lambda client, names, state, _, **more: wait_for(client, names, state, 0.01, **more)  # noqa: E731
    monkeypatch.setattr("stdworker.cli.conctl.sync.wait_for", impatient)
    for told in ("1 pruned\n", "nothing declared, nothing to do\n"):  # the second one finds it on its way out
        done = sync(conctl, folder, "--prune")
        assert done.exit_code == 1
        assert done.stdout.endswith(told)
        assert "lingering/one is Deleting, not deleted" in done.stderr
        assert "providerconfig lingering: not pruned before what is told above is gone" in done.stderr
    assert conctl("get", "pc", "lingering").exit_code == 0
    conctl("delete", "lingering/one", "--force", "--wait")
    assert sync(conctl, folder, "--prune").stdout.endswith("2 pruned\n")


def test_more_than_a_page_is_pruned(conctl, estate, monkeypatch):
    monkeypatch.setattr("stdworker.cli.conctl.client.PAGE_ITEMS", 3)
    folder = estate({"converge.yaml": app("paged"), "a.yaml": "---\n".join(leaf(f"paged-{n}") for n in range(8))})
    sync(conctl, folder)
    estate({"a.yaml": None})
    assert sync(conctl, folder, "--prune").stdout.endswith("8 pruned\n")


def test_apps_side_by_side_leave_each_other_alone(conctl, estate):
    folder = estate(
        {
            "one/converge.yaml": app("side-one"),
            "one/a.yaml": leaf("side-a"),
            "two/converge.yaml": app("side-two"),
            "two/b.yaml": leaf("side-b"),
            "c.yaml": leaf("side-c"),
        }
    )
    sync(conctl, folder)
    estate({"one/a.yaml": None, "c.yaml": None})
    assert sync(conctl, folder / "one", "--prune").stdout == "resource leaf/side-a pruned\n1 pruned\n"
    assert names(conctl, "side-two") == ["leaf/side-b"]
    assert labels(conctl, "leaf/side-c") == {}


def test_a_nested_scope_is_an_app_of_its_own(conctl, estate):
    folder = estate(
        {
            "converge.yaml": app("outer"),
            "a.yaml": leaf("nest-a"),
            "deep/converge.yaml": app("inner"),
            "deep/er/b.yaml": leaf("nest-b"),
        }
    )
    sync(conctl, folder)
    assert (names(conctl, "outer"), names(conctl, "inner")) == (["leaf/nest-a"], ["leaf/nest-b"])


def test_a_renamed_app_takes_over_what_it_declares_and_says_so(conctl, estate):
    folder = estate({"converge.yaml": app("old-name"), "a.yaml": leaf("renamed")})
    sync(conctl, folder)
    estate({"converge.yaml": app("new-name")})
    would, done = sync(conctl, folder, "--dry-run"), sync(conctl, folder, "--prune")
    for told in (would, done):
        assert "taken over from app old-name" in told.stdout
    assert (names(conctl, "old-name"), names(conctl, "new-name")) == ([], ["leaf/renamed"])


def test_labels_that_a_file_does_not_speak_of_are_kept(conctl, estate):
    conctl("apply", "-f", "-", stdin=leaf("marked", "labels: {by: hand}\n"))
    folder = estate({"converge.yaml": app("keeps"), "a.yaml": leaf("marked")})
    sync(conctl, folder)
    assert labels(conctl, "leaf/marked") == {"by": "hand", "converge.sh/app": "keeps"}
    estate({"a.yaml": leaf("marked", "labels: {from: file}\n")})
    sync(conctl, folder)
    assert labels(conctl, "leaf/marked") == {"from": "file", "converge.sh/app": "keeps"}


def test_what_a_file_of_an_app_declares_stays_in_the_app_when_it_is_applied_by_itself(conctl, estate):
    folder = estate({"converge.yaml": app("stays"), "a.yaml": leaf("alone", "labels: {tier: one}\n")})
    sync(conctl, folder)
    assert conctl("diff", "-f", str(folder)).exit_code == 0
    assert "unchanged" in conctl("apply", "-f", str(folder / "a.yaml"), "--dry-run").stdout
    estate({"a.yaml": leaf("alone", "labels: {tier: two}\n")})
    conctl("apply", "-f", str(folder / "a.yaml"))
    assert labels(conctl, "leaf/alone") == {"tier": "two", "converge.sh/app": "stays"}
    estate({"a.yaml": None})
    assert "resource leaf/alone pruned" in sync(conctl, folder, "--prune").stdout


@pytest.mark.parametrize("told", ["{converge.sh/app: mine}", "{}", "null"])
def test_a_file_that_says_so_takes_a_thing_out_of_its_app(conctl, estate, told):
    sync(conctl, estate({"converge.yaml": app("loses"), "a.yaml": leaf("taken")}))
    conctl("apply", "-f", "-", stdin=leaf("taken", f"labels: {told}\n"))
    assert "loses" not in labels(conctl, "leaf/taken").values()


def test_labels_that_are_none_are_refused_by_the_engine_in_any_form(conctl):
    for told in ("text", "[1]", "{tier: 1}"):
        done = conctl("apply", "-f", "-", stdin=leaf("odd", f"labels: {told}\n"))
        assert (done.exit_code, "\n  at -:5\n" in done.stderr) == (1, True)


def test_what_is_labelled_to_be_kept_is_not_pruned(conctl, estate):
    folder = estate(
        {"converge.yaml": app("guarded"), "a.yaml": leaf("guarded", 'labels: {converge.sh/prune: "false"}\n')}
    )
    sync(conctl, folder)
    estate({"a.yaml": None})
    assert "resource leaf/guarded kept: converge.sh/prune is false" in sync(conctl, folder, "--prune").stdout
    assert names(conctl, "guarded") == ["leaf/guarded"]


def test_what_a_composite_owns_is_never_pruned_by_itself(conctl, estate):
    folder = estate(
        {"converge.yaml": app("owning"), "a.yaml": "kind: stack\nkind_version: 1\nname: owning\nspec: {copies: true}\n"}
    )
    sync(conctl, folder)
    conctl("wait", "stack/owning")
    assert names(conctl, "owning") == ["leaf/owning-db", "leaf/owning-web", "stack/owning"]
    pruned = sync(conctl, folder, "--prune")
    assert (pruned.exit_code, pruned.stderr) == (0, "")
    assert pruned.stdout.splitlines()[-1] == "1 unchanged"


def test_nothing_is_pruned_before_everything_is_applied(conctl, estate):
    folder = estate({"converge.yaml": app("midway"), "a.yaml": leaf("mid-a"), "b.yaml": leaf("mid-b")})
    sync(conctl, folder)
    estate({"a.yaml": None, "b.yaml": leaf("mid-b", size="big"), "c.yaml": leaf("mid-c")})
    done = sync(conctl, folder, "--prune")
    assert done.exit_code == 1
    assert "nothing is pruned before everything is applied" in done.stderr
    assert "resource leaf/mid-c created" in done.stdout
    assert names(conctl, "midway") == ["leaf/mid-a", "leaf/mid-b", "leaf/mid-c"]


def test_labels_that_are_none_are_refused_and_not_written_over(conctl, estate):
    folder = estate({"converge.yaml": app("mislabelled"), "a.yaml": leaf("mislabelled", "labels: [a]\n")})
    done = sync(conctl, folder)
    assert done.exit_code == 1
    assert "/labels: expected object" in done.stderr
    assert f"  at {folder}/a.yaml:5\n" in done.stderr


def test_a_resource_that_somebody_takes_away_from_the_app_meanwhile_is_not_deleted(conctl, estate, monkeypatch):
    folder = estate({"converge.yaml": app("raced"), "a.yaml": leaf("raced-away"), "b.yaml": leaf("raced-on")})
    sync(conctl, folder)
    estate({"a.yaml": None, "b.yaml": None})
    real, raced = Client.call, []

    def call(self, method, path, **more):
        if method == "DELETE" and path not in raced:
            raced.append(path)
            taken = leaf("raced-away", "labels: {}\n") if "away" in path else leaf("raced-on", size=2)
            conctl("apply", "-f", "-", stdin=taken)
        return real(self, method, path, **more)

    monkeypatch.setattr(Client, "call", call)
    done = sync(conctl, folder, "--prune")
    assert len(raced) == 2
    assert done.exit_code == 1
    assert "resource leaf/raced-away: not pruned: it is no longer a thing of app raced" in done.stderr
    assert "resource leaf/raced-on pruned" in done.stdout


def test_a_kind_that_is_used_elsewhere_is_not_pruned_and_the_dry_run_knows_it(conctl, estate):
    folder = estate({"converge.yaml": app("used"), "k.yaml": KIND.format(kind="shared"), "a.yaml": leaf("used")})
    sync(conctl, folder)
    conctl("apply", "-f", "-", stdin="kind: shared\nkind_version: 1\nname: else\nspec: {}\n")
    estate({"k.yaml": None})
    for words in (["--dry-run"], []):
        done = sync(conctl, folder, "--prune", *words)
        assert done.exit_code == 1
        assert "kind shared@1: not pruned: " in done.stderr


def test_who_is_left_without_a_default_config_is_told_and_the_dry_run_knows_it(conctl, estate):
    config = "type: providerconfig\nname: {kind}\nkind: {kind}\nkind_version: 1\nis_default: true\n---\n"
    declared = {kind: config.format(kind=kind) + KIND.format(kind=kind) for kind in ("lacks", "goes")}
    folder = estate({"converge.yaml": app("missed"), "k.yaml": "---\n".join(declared.values())})
    sync(conctl, folder)
    conctl("apply", "-f", "-", stdin="kind: lacks\nkind_version: 1\nname: else\nspec: {}\n")
    estate({"k.yaml": KIND.format(kind="lacks")})
    for words, done in ((["--dry-run"], "would be pruned"), ([], "pruned")):
        told = sync(conctl, folder, "--prune", *words).stdout.splitlines()
        assert f"providerconfig lacks {done}; resources of lacks@1 then have no default config" in told
        assert f"providerconfig goes {done}" in told


def test_a_dry_run_says_what_the_real_run_does_and_does_nothing(conctl, estate):
    folder = estate(
        {
            "converge.yaml": app("dry"),
            "k.yaml": KIND.format(kind="fresh"),
            "a.yaml": "kind: fresh\nkind_version: 1\nname: one\nspec: {}\n---\n" + leaf("dry-run"),
        }
    )
    would = sync(conctl, folder, "--dry-run")
    assert conctl("get", "kind", "fresh").exit_code == 1
    done = sync(conctl, folder)
    assert would.exit_code == done.exit_code == 0
    assert [line.replace("would be ", "").removeprefix("dry run: ") for line in would.stdout.splitlines()] == [
        line.removesuffix(" (generation 1)") for line in done.stdout.splitlines()
    ]


def test_machines_are_told_in_one_document(conctl, estate):
    folder = estate({"converge.yaml": app("machines"), "a.yaml": leaf("told-mech")})
    assert json.loads(sync(conctl, folder, "-o", "json").stdout) == {
        "applied": [{"type": "resource", "name": "leaf/told-mech", "result": "created", "generation": 1}]
    }
    estate({"a.yaml": None})
    assert json.loads(sync(conctl, folder, "--prune", "-o", "json").stdout) == {
        "applied": [{"type": "resource", "name": "leaf/told-mech", "result": "pruned"}]
    }


def test_what_is_not_ours_is_told_and_left_alone(conctl, estate):
    folder = estate(
        {
            "converge.yaml": app("foreign"),
            "package.json": '{"name": "x", "private": true}',
            "p.yaml": "apiVersion: v1\nkind: Pod\n",
        }
    )
    done = sync(conctl, folder)
    assert done.exit_code == 0
    assert done.stderr == f"not ours, left alone: {folder}/p.yaml:1, {folder}/package.json:1\n"


@pytest.mark.parametrize(
    ("texts", "told"),
    [
        ({"a.yaml": "knid: leaf\nkind_version: 1\nspec: {}\n"}, "a.yaml:1: no type"),
        ({"a.yaml": ""}, "a.yaml is empty (remove it, if what it declared is to go)"),
        ({"a.yaml": "kind: leaf\n"}, "a.yaml:1 has only kind: is its end missing?"),
        ({"a.yaml": "name: a\n"}, "a.yaml:1 has only name: is its end missing?"),
        ({"a.yaml": "kind: leaf\nlabels: {a: b}\n"}, "a.yaml:1 has only kind and labels: is its end missing?"),
        ({"a.yaml": "{}\n"}, "a.yaml:1 has no members: is its end missing?"),
        ({"a.yaml": "kin"}, 'a.yaml:1: expected an object, got "kin"'),
        (
            {"a.yaml": leaf("twice"), "b.yaml": leaf("twice")},
            "a.yaml:1 and {folder}/b.yaml:1 both declare the resource leaf/twice",
        ),
        ({"converge.yaml": "app: ''\n"}, "converge.yaml: expected one member, `app: NAME`"),
        ({"converge.yaml": "app: a\nprune: true\n"}, "converge.yaml: expected one member"),
        ({"a/converge.yaml": "app: x\n", "b/converge.yaml": "app: x\n"}, "both say app 'x'"),
        ({"a.yaml": "a: [\n"}, "a.yaml:2:1: not YAML"),
        (
            {"converge.yaml": "app: x\n", "a.yaml": leaf("l", "labels: {converge.sh/app: y}\n")},
            "a.yaml:1: its label converge.sh/app is not that of its folder, x",
        ),
    ],
)
def test_a_folder_that_can_not_be_meant_changes_nothing(conctl, estate, texts, told):
    folder = estate(texts)
    done = sync(conctl, folder)
    assert (done.exit_code, done.stdout) == (1, "")
    assert told.format(folder=folder) in done.stderr


def test_a_part_of_an_app_is_refused(conctl, estate):
    folder = estate({"converge.yaml": app("parts"), "part/a.yaml": leaf("part")})
    done = sync(conctl, folder / "part", "--prune")
    assert done.exit_code == 1
    assert f"is a part of the app of {folder}/converge.yaml" in done.stderr


def test_linked_files_and_folders_are_read_where_they_are_linked(conctl, estate, tmp_path_factory):
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "a.yaml").write_text(leaf("linked-a"))
    (elsewhere / "b.yaml").write_text(leaf("linked-b"))
    folder = estate({"converge.yaml": app("links")})
    (folder / "inner").mkdir()
    (folder / "inner" / "link").symlink_to(elsewhere)
    assert sync(conctl, folder).exit_code == 0
    assert names(conctl, "links") == ["leaf/linked-a", "leaf/linked-b"]
    (folder / "again").symlink_to(folder / "inner")
    assert "are the same folder" in sync(conctl, folder).stderr
    (folder / "again").unlink()
    (folder / "nowhere.yaml").symlink_to(folder / "absent")
    assert "nowhere.yaml can't be read" in sync(conctl, folder).stderr


def test_a_pipe_among_the_files_is_refused_not_waited_for(conctl, estate):
    folder = estate({"converge.yaml": app("pipes")})
    os.mkfifo(folder / "a.yaml")
    assert "a.yaml is not a file" in sync(conctl, folder).stderr


def test_an_app_that_no_file_names_any_more_is_told_and_nothing_of_it_pruned(conctl, estate):
    folder = estate({"converge.yaml": app("lost"), "a.yaml": leaf("lost-a"), "b.yaml": leaf("lost-b")})
    sync(conctl, folder)
    estate({"converge.yaml": None, "b.yaml": None})
    done = sync(conctl, folder)
    assert (done.exit_code, done.stdout.splitlines()[0]) == (0, "resource leaf/lost-a unchanged (generation 1)")
    assert "no converge.yaml says app: lost here" in done.stderr
    assert names(conctl, "lost") == ["leaf/lost-a", "leaf/lost-b"]
    estate({"converge.yaml": app("lost")})
    assert "resource leaf/lost-b pruned" in sync(conctl, folder, "--prune").stdout


def test_to_prune_without_an_app_is_a_usage_error(conctl, estate):
    done = sync(conctl, estate({"a.yaml": leaf("appless")}), "--prune")
    assert done.exit_code == 2
    assert "no converge.yaml" in done.stderr
