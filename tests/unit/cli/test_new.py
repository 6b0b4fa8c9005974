"""`stdworker new`: what is made, and what is refused."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from stdworker.cli.new import LANGUAGES, MODES, PLACEHOLDER, new
from stdworker.model.documents import parse_documents
from stdworker.model.kind import KindVersion
from stdworker.model.kind_file import KindFile

SHARED = {"README.md", "example.yaml", "dns-record.kind.yaml", "test_dns-record.py"}
OWN = {
    "bash": {"dns-record"},
    "node": {"dns-record"},
    "python": {"dns-record"},
    "go": {".gitignore", "Makefile", "dns-record.go", "go.mod"},
    "c": {".gitignore", "Makefile", "dns-record.c", "json.h"},
}


def typed(*arguments, into):
    return CliRunner().invoke(new, [*arguments, "--into", str(into)])


@pytest.fixture
def made(tmp_path):
    """Makes a kind, which must succeed; answers its folder."""

    def make(language, name="dns-record", *options):
        done = typed(language, name, *options, into=tmp_path)
        assert done.exit_code == 0, done.output
        return tmp_path / name

    return make


def kind_file(folder):
    (path,) = folder.glob("*.kind.yaml")
    return KindFile.parse(path.read_bytes(), str(path))


@pytest.mark.parametrize("language", LANGUAGES)
def test_each_language_gets_its_program_with_kind_file_readme_example_and_test(made, language):
    assert {path.name for path in made(language).iterdir()} == SHARED | OWN[language]


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_has_a_shebang_is_executable_and_nothing_else(made, language):
    for path in made(language).iterdir():
        assert os.access(path, os.X_OK) == path.read_text().startswith("#!"), path


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_name_of_the_template_is_nowhere_left(made, language, mode):
    for path in made(language, "dns-record", "--mode", mode).iterdir():
        assert PLACEHOLDER not in path.name + path.read_text()


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_mode_is_the_one_that_suits_the_language_unless_said(made, language):
    suits = {"bash": "oneshot"}.get(language, "stream")

    modes = [
        kind_file(made(language, name, *options)).default_config.value().get("mode", "oneshot")
        for name, options in (("a", ()), ("b", ("--mode", "oneshot")), ("c", ("--mode", "stream")))
    ]

    assert modes == [suits, "oneshot", "stream"]


@pytest.mark.parametrize(
    "name", ["a", "dns.record", "x" * 63, "123", "1e3", "0x1f", "null", "true", "no", "2026-11-29"]
)
def test_every_legal_kind_name_is_the_kind_of_its_files(made, name):
    folder = made("bash", name)
    (example,) = parse_documents((folder / "example.yaml").read_bytes(), "example.yaml")

    assert kind_file(folder).pair == KindVersion(name)
    assert example.raw.value()["kind"] == name
    assert os.access(folder / name, os.X_OK)


@pytest.mark.parametrize("name", ["greeter", "mygreeter", "greeter2", "greeter-bash", "py-greeter", "greeter.greeter"])
def test_a_name_with_that_of_the_template_in_it_is_written_once_and_whole(made, name):
    other = re.sub("[a-z]", "z", name)  # as long, so the columns are the same
    written, expected = (
        {path.name: path.read_text() for path in made("bash", each).iterdir()} for each in (name, other)
    )

    for theirs, ours in ((other, name), (other.replace(".", "-"), name.replace(".", "-"))):
        expected = {path.replace(theirs, ours): text.replace(theirs, ours) for path, text in expected.items()}
    assert written == expected


@pytest.mark.parametrize("name", ["a", "mygreeter", "x" * 63])
@pytest.mark.parametrize("language", LANGUAGES)
def test_the_comments_of_the_readme_stand_in_one_column(made, language, name):
    lines = (made(language, name) / "README.md").read_text().splitlines()
    commented = [line.split("   # ")[0] for line in lines if "   # " in line]

    assert len(commented) == (4 if LANGUAGES[language].is_compiled else 3)
    assert {len(command) for command in commented} == {max(len(command.rstrip()) for command in commented)}


def test_the_test_of_a_kind_with_a_dot_in_its_name_is_a_module_of_python(made):
    folder = made("bash", "dns.record")

    assert (folder / "test_dns-record.py").exists()
    assert "test_dns-record.py" in (folder / "README.md").read_text()


@pytest.mark.parametrize(
    ("language", "name", "other"),
    [
        ("go", "go.mod", "go.mod"),
        ("go", "makefile", "Makefile"),
        ("c", "json.h", "json.h"),
        ("bash", "readme.md", "README.md"),
        ("bash", "example.yaml", "example.yaml"),
    ],
)
def test_a_name_that_another_file_of_the_folder_has_is_refused(tmp_path, language, name, other):
    done = typed(language, name, into=tmp_path)

    assert done.exit_code == 2
    assert f"'{name}' can't be the program, {other} is another file beside it" in done.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["", "Greeter", "my_kind", "-x", "a b", "../up", "a/b", "a@2", "x" * 64, "é"])
def test_a_name_that_is_no_kind_name_is_refused_with_the_rule(tmp_path, name):
    done = CliRunner().invoke(new, ["--into", str(tmp_path), "--", "bash", name])

    assert done.exit_code == 2
    assert f"{name!r} is not a kind name (a-z, 0-9, '.', '-'; at most 63; first alphanumeric)" in done.output


@pytest.mark.parametrize("name", ["stdio", "stdio-composer"])
def test_the_name_of_a_kind_that_every_worker_serves_is_refused(tmp_path, name):
    done = typed("bash", name, into=tmp_path)

    assert done.exit_code == 2
    assert f"every worker serves a kind {name!r} already; take another name" in done.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("language", "hint"), [("pyton", "did you mean 'python'?"), ("rust", "there are bash, node, python, go, c")]
)
def test_an_unknown_language_is_refused_with_the_nearest_or_with_all(tmp_path, language, hint):
    done = typed(language, "dns-record", into=tmp_path)

    assert done.exit_code == 2
    assert f"there is no template for '{language}'; {hint}" in done.output
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("what", ["folder", "file", "dangling link"])
def test_what_is_there_already_is_named_and_left_alone(tmp_path, what):
    taken = tmp_path / "dns-record"
    {"folder": taken.mkdir, "file": taken.touch, "dangling link": lambda: taken.symlink_to("nowhere")}[what]()

    done = typed("bash", "dns-record", into=tmp_path)

    assert done.exit_code == 1
    assert f"{taken} is there already" in done.output
    assert [path.name for path in tmp_path.rglob("*")] == ["dns-record"]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    done = typed("bash", "dns-record", into=tmp_path / "nowhere")

    assert done.exit_code == 2
    assert str(tmp_path / "nowhere") in done.output


def test_a_folder_where_nothing_can_be_made_is_named_with_the_reason():
    done = typed("bash", "dns-record", into="/proc")

    assert done.exit_code == 1
    assert done.output == "Error: /proc/dns-record can't be made: No such file or directory\n"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_named_with_the_reason(tmp_path):
    tmp_path.chmod(0o500)

    done = typed("bash", "dns-record", into=tmp_path)

    assert done.output == f"Error: {tmp_path / 'dns-record'} can't be made: Permission denied\n"


def test_when_a_file_cannot_be_written_nothing_is_left(tmp_path):
    command = f'ulimit -f 0; exec "{Path(sys.executable).parent}/stdworker" new bash dns-record'

    done = subprocess.run(["bash", "-c", command], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 1
    assert re.search(r"^Error: dns-record/\S+ can't be written: File too large$", done.stderr, re.MULTILINE)
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_it_says_what_was_made_and_what_to_type_next(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    done = CliRunner().invoke(new, ["bash", "dns-record"])

    first, *others = done.output.splitlines()
    kind, _, files = first.partition(": ")
    assert kind == "dns-record is a kind in bash, a process for each request"
    assert files == "README.md, dns-record, dns-record.kind.yaml, example.yaml, test_dns-record.py"
    assert others == [
        "next:",
        "  cd dns-record",
        """  stdworker call ./dns-record --spec '{"name": "Ada"}'""",
        "  stdworker check ./dns-record",
        "  stdworker dev .",
    ]


def test_what_is_compiled_is_built_first_and_a_folder_with_a_space_is_quoted(tmp_path):
    (tmp_path / "two words").mkdir()

    lines = typed("c", "dns-record", into=tmp_path / "two words").output.splitlines()

    start = lines.index("next:")
    assert lines[start + 1 : start + 3] == [f"  cd '{tmp_path}/two words/dns-record'", "  make"]


def test_tools_that_the_program_needs_and_that_are_missing_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))

    done = typed("go", "dns-record", into=tmp_path)

    assert done.exit_code == 0
    assert "go is not on PATH, and the program needs it" in done.output
