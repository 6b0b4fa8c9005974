"""Running a plugin's code so that whatever it does to this process ends with it.

While it runs a time limit holds (in the main thread, where a signal can interrupt Python code), and what it or
its children print to stdout goes to the log. Afterwards signal handlers and root logging are as before.
"""

from __future__ import annotations

import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import IO

from stdworker.errors import PluginError

INSIST_SECONDS = 1.0  # between interrupts of a plugin that swallowed the first
LINES_LOGGED_MAX = 100  # of what a plugin prints in one go; the rest is counted
LINE_BYTES_MAX = 1_000
DRAIN_SECONDS_MAX = 1.0  # for a child that keeps stdout open

log = logging.getLogger("stdworker.plugins")


@contextlib.contextmanager
def contained(name: str, seconds: float) -> Iterator[None]:
    """Contain what the plugin `name` does inside. Raises PluginError when `seconds` are over."""
    with contextlib.ExitStack() as stack:
        stack.enter_context(_logging_kept())
        stack.enter_context(_stdout_logged(name))
        if threading.current_thread() is threading.main_thread():
            stack.enter_context(_signals_kept())
            stack.enter_context(_time_limit(name, seconds))
        yield


@contextlib.contextmanager
def _time_limit(name: str, seconds: float) -> Iterator[None]:
    def expire(number: int, frame: FrameType | None) -> None:
        raise PluginError(f"plugin {name} took longer than {seconds:g} s", code="plugin_too_slow")

    signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, seconds, INSIST_SECONDS)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


@contextlib.contextmanager
def _signals_kept() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    wakeup = signal.set_wakeup_fd(-1)
    signal.set_wakeup_fd(wakeup)
    try:
        yield
    finally:
        signal.set_wakeup_fd(wakeup)
        for number, handler in before.items():
            if handler is not None and signal.getsignal(number) != handler:
                signal.signal(number, handler)


@contextlib.contextmanager
def _logging_kept() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level, disabled = list(root.handlers), root.level, root.manager.disable
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
        root.manager.disable = disabled


@contextlib.contextmanager
def _stdout_logged(name: str) -> Iterator[None]:
    """The descriptor itself is swapped, so that children and C code are caught as well."""
    sys.stdout.flush()
    kept = os.dup(1)
    reading, writing = os.pipe()
    os.dup2(writing, 1)
    os.close(writing)
    drain = threading.Thread(target=_drain, args=(name, os.fdopen(reading, "rb")), daemon=True)
    drain.start()
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
        drain.join(DRAIN_SECONDS_MAX)


def _drain(name: str, pipe: IO[bytes]) -> None:
    count = 0
    with pipe:
        while line := pipe.readline(LINE_BYTES_MAX):
            count += 1
            if count <= LINES_LOGGED_MAX:
                log.info("plugin %s printed: %s", name, line.decode("utf-8", "replace").rstrip())
    if count > LINES_LOGGED_MAX:
        log.info("plugin %s printed %d lines more", name, count - LINES_LOGGED_MAX)
