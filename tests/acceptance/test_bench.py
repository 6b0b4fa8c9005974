"""The benchmarks run. What they measure is never judged by a test."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
HANG_SECONDS = 110
NAMES = "bridge", "composite", "engine", "growth", "million", "reacting", "soak", "watching", "wholepath", "worker"


@pytest.mark.parametrize("name", NAMES)
def test_each_benchmark_prints_its_figures_beside_their_budgets(name):
    command = [sys.executable, "-m", "bench", "--size", "small", name]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANG_SECONDS)

    assert done.returncode == 0, done.stderr
    assert f"\n{name}: " in done.stdout
    assert " ≥ " in done.stdout or " ≤ " in done.stdout


def test_an_unknown_benchmark_is_refused_with_the_names_of_the_others():
    command = [sys.executable, "-m", "bench", "nothing"]

    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANG_SECONDS)

    assert done.returncode == 2
    assert ", ".join(NAMES) in done.stderr
