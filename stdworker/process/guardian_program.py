"""The guardian: a small process that outlives its worker only to kill what the worker left behind.

Reads `+PGID` and `-PGID` lines; `=` says that nothing is left and ends it at once. At the end of its input, which is
the worker's end however it came, every group still on the list gets SIGTERM, and with it every process whose
environment has the mark of the worker, and all of their sessions: these are the ones that left their group, or that the
worker had no time to report. A second later it is SIGKILL, until nobody is left. Runs by itself (`python -I -S`),
standard library only; the worker starts it with the signals blocked that are sent to end a worker.
"""

import os
import signal
import sys
import time
from collections.abc import Callable

GRACE_SECONDS = 1.0
INSIST_SECONDS = 3.0
POLL_SECONDS = 0.02
SEARCH_SECONDS = 0.1  # between searches through all processes


def main() -> None:
    mark = b"\0" + sys.argv[1].encode()
    groups = read_groups()
    deadline = time.monotonic() + GRACE_SECONDS
    sessions = groups | {found for pid in left_behind(mark, groups) if (found := session(str(pid)))}
    left = kill(groups, os.killpg, signal.SIGTERM)
    others = kill(left_behind(mark, sessions), os.kill, signal.SIGTERM)
    while (left or others) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
        left = kill(left, os.killpg, 0)
        others = kill(others, os.kill, 0)
    kill(left, os.killpg, signal.SIGKILL)
    insist(mark, sessions)


def insist(mark: bytes, sessions: set[int]) -> None:
    """Twice nobody is the end: a process that was just being forked is seen the second time."""
    deadline = time.monotonic() + INSIST_SECONDS
    clean = 0
    while clean < 2 and time.monotonic() < deadline:
        found = left_behind(mark, sessions)
        kill(found, os.kill, signal.SIGKILL)
        clean = 0 if found else clean + 1
        time.sleep(SEARCH_SECONDS)


def read_groups() -> set[int]:
    groups: set[int] = set()
    rest = b""
    while chunk := os.read(0, 65_536):
        *lines, rest = (rest + chunk).split(b"\n")
        for line in lines:
            if line == b"=":
                sys.exit()
            (groups.add if line[:1] == b"+" else groups.discard)(int(line[1:]))
    return groups


def left_behind(mark: bytes, sessions: set[int]) -> set[int]:
    """All processes of the system that have the mark, or belong to a session; none where there is no /proc."""
    try:
        names = os.listdir("/proc")  # noqa: PTH208 (pathlib would double what this process loads)
    except OSError:
        return set()
    pids = [name for name in names if name.isdigit()]
    return {int(pid) for pid in pids if mark in b"\0" + read(pid, "environ") or session(pid) in sessions}


def session(pid: str) -> int | None:
    fields = read(pid, "stat").rpartition(b")")[2].split()
    return int(fields[3]) if len(fields) > 3 and fields[0] != b"Z" else None


def read(pid: str, file: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{file}", "rb") as opened:  # noqa: PTH123
            return opened.read()
    except OSError:  # gone, or somebody else's
        return b""


def kill(numbers: set[int], send: Callable[[int, int], None], number: int) -> set[int]:
    """Signal each; those that exist."""
    found = set()
    for target in numbers:
        try:
            send(target, number)
        except OSError:
            continue
        found.add(target)
    return found


if __name__ == "__main__":
    main()
