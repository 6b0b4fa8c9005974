"""Long-lived streams with cancels: nothing accumulates."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
MEASURE = """
import asyncio
from bench.worker import worker_alone

print(asyncio.run(worker_alone(60_000, cancelled_every=20))[2])
"""
GROWTH_MIB_MAX = 8.0  # 60,000 results of 200 bytes that were kept would be 12


@pytest.mark.slow
def test_memory_stays_flat_over_many_tasks_of_which_some_are_cancelled():
    if not (ROOT / "bench").is_dir():
        pytest.skip("no benchmarks beside the tests")
    done = subprocess.run(
        [sys.executable, "-c", MEASURE], cwd=ROOT, capture_output=True, text=True, check=True, timeout=100
    )
    assert float(done.stdout) < GROWTH_MIB_MAX
