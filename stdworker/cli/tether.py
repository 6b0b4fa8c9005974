"""A process that must not outlive the one that started it.

The starter holds the other end of our stdin. When it is gone, however that went, the end of the input says so.
"""

from __future__ import annotations

import os
import signal
import threading
import time

DRAIN_SECONDS = 2.0  # after which the second signal says: at once
ABORT_SECONDS = 10.0


def tether() -> None:
    """From now on the end of stdin ends this process, in order if it can."""
    threading.Thread(target=_end_with_stdin, daemon=True).start()


def _end_with_stdin() -> None:
    while os.read(0, 4096):
        pass
    for patience in (DRAIN_SECONDS, ABORT_SECONDS):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(patience)
    os.kill(os.getpid(), signal.SIGKILL)
