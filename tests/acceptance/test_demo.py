"""`make demo` as it is run: two processes, real programs, everything Ready, nothing left."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
HANG_SECONDS = 110

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("demo")]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The demo's temporary files go here, and every process of it has this path in its environment."""
    return tmp_path_factory.mktemp("demo")


@pytest.fixture(scope="module")
def demo(folder):
    for tool in ("bash", "jq", "node"):
        if shutil.which(tool) is None:
            if os.environ.get("CI"):
                pytest.fail(f"CI must have {tool}")
            pytest.skip(f"{tool} is not installed")
    return subprocess.run(
        [sys.executable, str(ROOT / "examples" / "demo" / "run.py")],
        env=os.environ | {"TMPDIR": str(folder)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )


def test_it_succeeds(demo):
    assert demo.returncode == 0, demo.stdout + demo.stderr
    assert demo.stderr == ""


def test_programs_of_two_languages_converge_with_a_failure_that_mends_itself(demo):
    said = demo.stdout
    for name in (
        "bash-site/blog",
        "bash-bucket/blog-files",
        "bash-record/blog-dns",
        "node-site/shop",
        "node-bucket/shop-files",
        "node-record/shop-dns",
    ):
        assert re.search(rf"^ *{name}: Ready$", said, re.MULTILINE), name
    failed = r"demo-database/orders: Failed \(.* the database is still starting\)\n"  # one line, as in a pipe
    assert re.search(rf"{failed}(.*\n)* *demo-database/orders: Ready", said)


def test_it_says_where_the_docs_are_and_what_to_try_next(demo):
    assert re.search(r"http://127\.0\.0\.1:\d+/docs", demo.stdout)
    assert "What to try next" in demo.stdout


def test_the_commands_to_try_next_can_be_copied_from_a_narrow_terminal(demo):
    assert """call examples/bash/01-leaf/bash-bucket --name photos --spec '{"region":"south"}'\n""" in demo.stdout


def test_nothing_is_left(demo, folder):
    assert "nothing is left running" in demo.stdout
    assert list(folder.iterdir()) == []
    assert not [
        entry.parent.name for entry in Path("/proc").glob("[0-9]*/environ") if str(folder) in environment(entry)
    ]


def environment(entry):
    try:
        return entry.read_text(errors="replace")
    except OSError:
        return ""  # it ended, or is not ours


def test_the_makefile_runs_this_very_program():
    assert "examples/demo/run.py" in (ROOT / "Makefile").read_text()
