"""What every file of the repository keeps to."""

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def tracked() -> list[Path]:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.splitlines() if (ROOT / name).is_file()]


def texts() -> list[tuple[str, str]]:
    found = []
    for path in tracked():
        try:
            found.append((str(path.relative_to(ROOT)), path.read_text("utf-8")))
        except UnicodeDecodeError:
            continue
    return found


def test_no_file_names_a_path_of_one_machine_or_a_registry_host():
    machine = re.compile(r"/(?:work|root|home/\w+)/|registry\.npmjs|pypi\.org/simple|files\.pythonhosted")
    guilty = [name for name, text in texts() if machine.search(text) and name != "tests/tidy/test_repository.py"]
    assert guilty == []


def test_every_link_in_a_page_leads_somewhere():
    broken = [
        f"{name}: {target}"
        for name, text in texts()
        if name.endswith(".md")
        for target in re.findall(r"\]\(([^)#\s]+)", text)
        if "://" not in target and not (ROOT / name).parent.joinpath(target).exists()
    ]
    assert broken == []


def test_the_makefile_has_the_two_targets_that_the_readme_promises():
    makefile = (ROOT / "Makefile").read_text()
    readme = (ROOT / "README.md").read_text()
    for target in ("demo", "test"):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
        assert f"make {target}" in readme


def test_the_changelog_knows_the_version():
    import stdworker

    assert f"## {stdworker.__version__}" in (ROOT / "CHANGELOG.md").read_text()
