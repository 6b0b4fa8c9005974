"""The example plugin, installed for real: a distribution of its own in an environment of its own."""

import json
import os
import site
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLUGIN = ROOT / "examples" / "plugin"

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("plugin_example")]


@pytest.fixture(scope="module")
def python(tmp_path_factory):
    """The interpreter of a venv that sees this environment's packages and has the plugin installed by pip."""
    home = tmp_path_factory.mktemp("venv")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", home], check=True)
    target = next(home.glob("lib/python3*/site-packages"))
    (target / "ours.pth").write_text("\n".join(f"import site; site.addsitedir({p!r})" for p in site.getsitepackages()))
    python = home / "bin" / "python"
    install = ["install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation", PLUGIN]
    done = subprocess.run(
        [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, *install],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return python


def run(python, *arguments, cwd, **environment):
    return subprocess.run(
        [python, *arguments], env=os.environ | environment, cwd=cwd, capture_output=True, text=True, check=False
    )


def test_the_installed_plugin_is_found_with_its_origin_and_kind(python, tmp_path):
    done = run(python, "-m", "stdworker", "plugins", "--output", "json", cwd=tmp_path)

    assert done.returncode == 0, done.stderr
    found = {plugin["name"]: plugin for plugin in json.loads(done.stdout)}
    assert found["greet"] == {
        "name": "greet",
        "distribution": "stdworker-plugin-greet",
        "version": "0.1.0",
        "module": "stdworker_plugin_greet",
        "kinds": [{"kind": "greeting", "kind_version": 1, "mode": "", "from": "", "declared_by": "", "shadows": []}],
        "errors": [],
    }
    assert "stdio" in found


def test_the_kind_file_that_it_ships_is_printed(python, tmp_path):
    done = run(python, "-m", "stdworker", "kinds", cwd=tmp_path, STDWORKER_PLUGINS="greet")

    [document] = map(json.loads, done.stdout.splitlines())
    assert document["kind"] == "greeting"
    assert document["default_config"] == {"word": "Hello"}


def test_its_own_tests_pass(python, tmp_path):
    done = run(python, "-m", "pytest", "-q", "-p", "no:cacheprovider", PLUGIN, cwd=tmp_path)

    assert done.returncode == 0, done.stdout


def test_without_an_allowed_name_it_is_left_alone(python, tmp_path):
    done = run(python, "-m", "stdworker", "plugins", "--output", "json", cwd=tmp_path, STDWORKER_PLUGINS="stdio")

    assert [plugin["name"] for plugin in json.loads(done.stdout)] == ["stdio"]
