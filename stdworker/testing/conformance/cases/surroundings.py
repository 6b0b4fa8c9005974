"""Where a program runs: with little in its environment, and where it may not write."""

from __future__ import annotations

import os

from stdworker.process.environment import DEFAULTS
from stdworker.testing.conformance.exchange import Ending
from stdworker.testing.conformance.lab import Lab
from stdworker.testing.conformance.verdict import PROCESS, Finding, Skipped, case, passed, warned

READ_ONLY = "/proc"  # where nobody can create a file, root neither


@case(
    "environment",
    "it needs nothing but PATH",
    why="In a container there is often no HOME and no USER; a worker passes on an allow-list only.",
    advice="Give what you need a default, or name it in env or env_passthrough of the launch config.",
    modes=PROCESS,
)
async def environment(lab: Lab) -> Finding:
    command = lab.program.command()
    if lab.launch.inherit_env:
        raise Skipped("inherit_env is set")
    kept = {"PATH", *DEFAULTS, *lab.launch.env, *lab.launch.env_passthrough, "STDWORKER_KIND"}
    little = {name: value for name, value in command.environment.items() if name in kept}
    words = ("env", "-i", *(f"{name}={value}" for name, value in sorted(little.items())))
    found = await lab.ask(lab.request("environment"), environment=little, prefix=words)
    return passed() if found.ending is Ending.SUCCESS else warned(f"without HOME and USER {found}", found)


@case(
    "read-only-folder",
    "it doesn't write into its working folder",
    why="Containers with a read-only root file system are common, and several tasks share one folder.",
    advice="Write to a folder of mktemp or TMPDIR.",
    modes=PROCESS,
)
async def read_only_folder(lab: Lab) -> Finding:
    if lab.launch.cwd is not None or any(map(os.path.exists, lab.launch.args)):
        raise Skipped("its working folder is part of how it is launched")
    found = await lab.ask(lab.request("read-only-folder"), cwd=READ_ONLY, prefix=("env", "-C", READ_ONLY))
    return passed() if found.ending is Ending.SUCCESS else warned(f"in a folder that is read-only {found}", found)


CASES = (environment, read_only_folder)
