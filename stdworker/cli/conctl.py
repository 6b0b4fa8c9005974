"""`conctl`: declare resources, look at them, wait for them."""

from __future__ import annotations

import sys


def main() -> None:
    """The `conctl` command: exit status 0, 1 (failed) or 2 (usage)."""
    try:
        from stdworker.cli.conctl_commands import cli
    except ImportError as error:
        sys.exit(f"Error: {error}; conctl comes with: pip install 'stdworker[engine]'")
    cli(prog_name="conctl")
