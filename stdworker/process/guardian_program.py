"""The guardian: a small process that outlives its worker only to kill what the worker left behind.

Reads `+PGID` and `-PGID` lines. At the end of its input, which is the worker's end however it came, every group
still on the list gets SIGTERM and, a second later, SIGKILL. Runs by itself (`python -I -S`), standard library only;
the worker starts it with the signals blocked that are sent to end a worker.
"""

import os
import signal
import time

GRACE_SECONDS = 1.0
POLL_SECONDS = 0.02


def main() -> None:
    groups = read_groups()
    deadline = time.monotonic() + GRACE_SECONDS
    left = kill(groups, signal.SIGTERM)
    while left and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        left = kill(left, 0)
    kill(left, signal.SIGKILL)


def read_groups() -> set[int]:
    groups: set[int] = set()
    rest = b""
    while chunk := os.read(0, 65_536):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
    return groups


def kill(groups: set[int], number: int) -> set[int]:
    """Signal each group; those that exist."""
    found = set()
    for group in groups:
        try:
            os.killpg(group, number)
        except OSError:
            continue
        found.add(group)
    return found


if __name__ == "__main__":
    main()
