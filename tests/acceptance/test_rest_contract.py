"""The REST API answers what its OpenAPI document promises, whatever is asked: schemathesis asks.

FUZZ_ROUNDS and FUZZ_SEED make it a longer or another search, as `make fuzz` does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from stdworker.engine.api import examples, reactors, resources

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1_800)]

HERE = Path(__file__).parent / "rest"
SCHEMATHESIS = Path(sys.executable).with_name("schemathesis")
ROUNDS = int(os.environ.get("FUZZ_ROUNDS", "1"))
SEARCH_SECONDS = 300 * ROUNDS
REQUEST_SECONDS = 10
ENDLESS = "/(watch|wait)$"  # they answer when something happens
PAGER = {
    "kind": "pager",
    "kind_version": 1,
    "reactions": [{"name": "page", "trigger": "reactor", "emits": ["sideEffect"]}],
}


def declare(rest: str) -> None:
    """What the document's examples speak of."""
    with httpx.Client(base_url=f"{rest}/api/v1", timeout=REQUEST_SECONDS) as api:
        for manifest in (examples.MANIFEST, PAGER):
            api.put(f"/kinds/{manifest['kind']}/manifest", json=manifest).raise_for_status()
        for path, body in (("/resources", resources.EXAMPLE), ("/reactor-bindings", reactors.EXAMPLE)):
            api.post(path, json=body).raise_for_status()


def test_whatever_is_asked_is_answered_as_documented(serve, tmp_path):
    engine = serve()
    declare(engine.rest)
    options = {
        "--phases": "examples,coverage,fuzzing",
        "--seed": os.environ.get("FUZZ_SEED", "1"),
        "--max-examples": str(3 * ROUNDS),
        "--exclude-path-regex": ENDLESS,
        "--request-timeout": str(REQUEST_SECONDS),
        "--suppress-health-check": "all",
        "--generation-database": "none",
        "--warnings": "off",
    }
    command = [SCHEMATHESIS, "--config-file", HERE / "schemathesis.toml", "run", f"{engine.rest}/openapi.json"]
    command += [part for option in options.items() for part in option]
    ran = subprocess.run(
        [*command, "--continue-on-failure", "--no-color"],
        cwd=tmp_path,  # what it remembers of a search is no part of the next one
        env={**os.environ, "PYTHONPATH": str(HERE), "PYTHONWARNINGS": "ignore", "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        timeout=SEARCH_SECONDS,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert " 0 generated" not in ran.stdout
    assert "Traceback" not in engine.output
