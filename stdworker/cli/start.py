"""Where the commands begin. Until one is loaded and can end in order, Ctrl-C ends it without a word."""

from __future__ import annotations

import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from stdworker.cli.collector import uncollected


def stdworker() -> None:
    """The `stdworker` command: exit status 0, 1 (failed), 2 (usage or settings) or 128 + the second signal."""
    with _loading():
        from stdworker.cli.worker import main
    main()


def converge() -> None:
    """The `converge` command: exit status 0, 1 (failed), 2 (usage or settings) or 128 + the second signal."""
    with _loading():
        from stdworker.cli.engine import main
    main()


def conctl() -> None:
    """The `conctl` command: exit status 0, 1 (failed), 2 (usage) or 128 + a signal."""
    try:
        with _loading():
            from stdworker.cli.conctl.commands import cli
    except ImportError as error:
        sys.exit(f"Error: {error}; conctl comes with: pip install 'stdworker[engine]'")
    cli(prog_name="conctl")


@contextmanager
def _loading() -> Iterator[None]:
    """An interrupted import would show a traceback. Whoever started us with SIGINT ignored means it."""
    handler = signal.getsignal(signal.SIGINT)
    if handler is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    try:
        with uncollected():
            yield
    finally:
        signal.signal(signal.SIGINT, handler)
