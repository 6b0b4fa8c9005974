"""The wheel, built and installed: what a user gets is what a checkout has."""

import compileall
import json
import re
import shutil
import site
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def context(tmp_path_factory) -> Path:
    """What an image is built from: the files that .dockerignore lets through."""
    folder = tmp_path_factory.mktemp("context")
    for name in re.findall(r"^!(.+)$", (ROOT / ".dockerignore").read_text(), re.MULTILINE):
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def wheel(context, tmp_path_factory) -> Path:
    out = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--outdir", str(out), str(context)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stdout + built.stderr
    return next(out.glob("*.whl"))


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory) -> Path:
    """A venv that has the wheel and sees this environment's other packages; answers its bin folder."""
    home = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(home)], check=True)
    target = next(home.glob("lib/python3*/site-packages"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(target)
    # The libraries come from here, but not our own editable install, which is a .pth file and so not followed.
    (target / "libraries.pth").write_text(
        "\n".join(f"import sys; sys.path.append({p!r})" for p in site.getsitepackages())
    )
    return home / "bin"


def test_the_wheel_carries_the_contracts_and_the_type_marker(wheel: Path):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert "stdworker/protocol/worker/v1/worker.proto" in names
    assert "stdworker/protocol/kind/v1/merge-vectors.json" in names
    assert "stdworker/py.typed" in names
    assert not [name for name in names if name.startswith(("tests/", "examples/", "bench/"))]


def test_an_installed_wheel_reads_its_own_contracts(installed: Path, tmp_path):
    code = "from stdworker import protocol_files as p; print(p.__file__); print(len(p.read('worker/v1/worker.proto')))"
    command = [str(installed / "python"), "-c", code]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True)
    where, size = done.stdout.split()
    assert where.startswith(str(installed.parent))
    assert int(size) == (ROOT / "protocol/worker/v1/worker.proto").stat().st_size


@pytest.mark.parametrize("name", ["stdworker", "converge", "conctl"])
def test_every_command_answers_from_an_installed_wheel(installed: Path, tmp_path, name: str):
    command = [str(installed / "python"), "-c", f"from stdworker.cli.start import {name}; {name}()", "--help"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "Usage:" in done.stdout


def test_an_installed_wheel_has_every_template_of_new(wheel: Path, installed: Path, tmp_path):
    templates = ROOT / "stdworker/cli/templates"
    carried = [name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("stdworker/cli/templates/")]
    command = [str(installed / "python"), "-c", "from stdworker.cli.worker import main; main()", "new", "bash", "thing"]
    for place in installed.parent.glob("lib/python3*/site-packages/stdworker/cli/templates"):
        compileall.compile_dir(place, quiet=1)  # as installers do

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert sorted(carried) == sorted(str(path.relative_to(ROOT)) for path in templates.rglob("*") if path.is_file())
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "thing" / "thing").stat().st_mode & 0o100


def test_in_the_image_the_worker_itself_is_the_first_process_and_not_root():
    lines = (ROOT / "Dockerfile").read_text().splitlines()
    told = dict(line.split(" ", 1) for line in lines if line.startswith(("ENTRYPOINT", "CMD", "USER")))
    assert json.loads(told["ENTRYPOINT"]) + json.loads(told["CMD"]) == ["stdworker", "run"]
    assert int(told["USER"].split(":")[0]) > 0
