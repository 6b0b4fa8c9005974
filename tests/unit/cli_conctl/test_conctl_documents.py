"""What a document is, and in which order they go."""

import re
from pathlib import Path

import pytest

from stdworker.cli.conctl.items import load
from stdworker.errors import ConfigError

MANIFEST = "kind: a\nkind_version: 2\nspec_schema: {}\nreactions: []\n"
CONFIG = "name: c\nkind: a\nkind_version: 2\nis_default: false\nspec: {x: 1.0}\n"
RESOURCE = "kind: a\nkind_version: 2\nname: r\nspec: {x: 1.0}\n"


PAGE = Path(__file__).parents[3] / "docs/conctl.md"
KINDS_OF_PAGE = """
---
{kind: greeter, kind_version: 1, reactions: [{name: work, trigger: specChange, emits: [status]}]}
---
{kind: pager, kind_version: 1, reactions: [{name: tell, trigger: reactor, emits: [sideEffect]}]}
"""


def loaded(tmp_path, text, name="f.yaml", forced_type=None):
    path = tmp_path / name
    path.write_text(text)
    return load([str(path)], forced_type)


def test_kinds_go_first_then_configs_then_resources(tmp_path):
    found = loaded(tmp_path, f"{RESOURCE}---\n{CONFIG}---\n{MANIFEST}")
    assert [(item.type, item.name) for item in found] == [
        ("manifest", "a@2"),
        ("providerconfig", "c"),
        ("resource", "a/r"),
    ]


def test_things_of_one_type_keep_their_order(tmp_path):
    found = loaded(tmp_path, "---\n".join(RESOURCE.replace("name: r", f"name: {n}") for n in "zab"))
    assert [item.name for item in found] == ["a/z", "a/a", "a/b"]


def test_the_type_in_a_document_wins_over_its_shape(tmp_path):
    (item,) = loaded(tmp_path, "type: providerconfig\n" + RESOURCE)
    assert item.type == "providerconfig"


def test_the_type_of_the_command_line_wins_over_all(tmp_path):
    (item,) = loaded(tmp_path, CONFIG, forced_type="resource")
    assert item.type == "resource"


def test_a_kind_file_is_a_manifest_and_a_default_config(tmp_path):
    manifest, config = loaded(tmp_path, MANIFEST + "default_config: {settings: {n: 1.0}}\ndefault_bundle: UEs=\n")
    assert sorted(manifest.members) == ["kind", "kind_version", "reactions", "spec_schema"]
    assert config.members == {
        "kind": b'"a"',
        "kind_version": b"2",
        "name": b'"a.v2"',
        "is_default": b"true",
        "spec": b'{"settings":{"n":1.0}}',
        "data": b'"UEs="',
    }


@pytest.mark.parametrize(
    ("config", "told"),
    [
        (
            "\n  settings: {}\n  timeout_second: 5",
            ":7 /default_config: unknown key 'timeout_second' (did you mean 'time",
        ),
        ("\n  limits:\n    line_bytes: x", ":7 /default_config/limits/line_bytes: expected a whole number from 1 to"),
        (" 5", ":5 /default_config: expected an object"),
    ],
)
def test_a_default_config_that_no_worker_could_use_is_refused_with_its_line(conctl, tmp_path, config, told):
    kind = f"{MANIFEST}default_config:{config}\n"
    file = tmp_path / "a@2.kind.yaml"
    file.write_text(kind)
    for words in (("apply", "-f", str(tmp_path)), ("diff", "-f", str(file)), ("sync", str(tmp_path))):
        done = conctl(*words)
        assert done.stderr.startswith(f"Error: {file}{told}")
        assert done.stdout == ""


def test_the_config_of_a_kind_that_no_program_beside_the_file_serves_may_have_keys_of_its_own(tmp_path):
    found = loaded(tmp_path, f"{MANIFEST}default_config: {{region: south}}\n", name="kinds.yaml")
    assert [item.type for item in found] == ["manifest", "providerconfig"]


def test_versions_of_a_kind_have_default_configs_of_their_own(tmp_path):
    text = MANIFEST + "default_config: {}\n"
    found = loaded(tmp_path, f"{text}---\n{text.replace('kind_version: 2', 'kind_version: 1')}")
    assert [item.name for item in found if item.type == "providerconfig"] == ["a.v2", "a"]


def test_numbers_reach_the_body_as_they_are_written(tmp_path):
    (item,) = loaded(tmp_path, RESOURCE)
    assert item.body == b'{"kind":"a","kind_version":2,"name":"r","spec":{"x":1.0}}'


def test_a_folder_is_read_recursively_without_hidden_and_foreign_folders(tmp_path):
    for name in ("b/f.yaml", "a.json", ".git/x.yaml", "node_modules/p/package.json", "run.sh"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(RESOURCE if name == "b/f.yaml" else '{"kind":"a","kind_version":1,"name":"j"}')
    assert [item.name for item in load([str(tmp_path)])] == ["a/j", "a/r"]


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("- 1\n", "f.yaml:1 item 1: expected an object, got 1"),
        (
            "type: pod\n",
            "f.yaml:1: the type 'pod' is not known; it is one of manifest, providerconfig, reactorbinding, resource",
        ),
        ("\nx: 1\n", "f.yaml:2: no type; it is one of manifest, providerconfig, reactorbinding, resource"),
    ],
)
def test_a_document_that_is_nothing_known_is_refused_with_its_place(tmp_path, text, complaint):
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, text)
    assert caught.value.message == f"{tmp_path}/{complaint}"


def test_a_file_that_can_not_be_read_says_why(tmp_path):
    with pytest.raises(ConfigError, match="can't be read: No such file or directory"):
        load([str(tmp_path / "absent.yaml")])


def test_a_folder_without_documents_is_refused(tmp_path):
    with pytest.raises(ConfigError, match="holds no file that ends in"):
        load([str(tmp_path)])


def test_the_file_that_names_an_app_declares_nothing(tmp_path):
    (tmp_path / "converge.yaml").write_text("app: web\n")
    (tmp_path / "r.yaml").write_text(RESOURCE)
    assert [item.name for item in load([str(tmp_path)])] == ["a/r"]


@pytest.mark.parametrize(
    ("written", "name"), [("2", "a@2"), ("2.0", "a@2"), ("2e0", "a@2"), ("2.5", "a@2.5"), ("x", 'a@"x"')]
)
def test_a_kind_is_called_by_the_value_of_its_version(tmp_path, written, name):
    (item,) = loaded(tmp_path, MANIFEST.replace("kind_version: 2", f"kind_version: {written}"))
    assert item.name == name


def test_the_engine_takes_the_documents_of_the_page(conctl):
    published = conctl("apply", "-f", "-", stdin=KINDS_OF_PAGE)
    assert published.exit_code == 0, published.output
    [documents] = re.findall(r"^```yaml\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)
    done = conctl("apply", "-f", "-", stdin=documents)
    assert done.output.splitlines() == [
        "providerconfig polite created",
        "reactorbinding page-us created",
        "resource greeter/ada created (generation 1)",
    ]
