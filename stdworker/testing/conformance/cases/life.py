"""How a program ends: at the end of input, at a signal, when nobody listens. And whether all of it ends."""

from __future__ import annotations

import asyncio

from stdworker.testing.conformance.descendants import descendants, is_idle
from stdworker.testing.conformance.lab import POLL_SECONDS, Lab
from stdworker.testing.conformance.verdict import PROCESS, Finding, case, failed, passed, warned

IDLE_SECONDS = 2.0  # at most, until a program that was just started waits for its input
SETTLE_SECONDS = 0.5  # descendants that end by themselves have this long


@case(
    "end-of-input",
    "it ends when its input ends",
    why="The end of input is how the host says goodbye; what stays costs the grace period and then gets SIGTERM.",
    advice="Leave the loop at the end of stdin; end threads, timers and connections that keep the process alive.",
    needs_success=False,
)
async def end_of_input(lab: Lab) -> Finding:
    async with lab.running() as peer:
        found = await lab.ask_in(peer, lab.request("end-of-input")) if lab.persistent else lab.seen(peer)
        peer.close_input()
        if not await peer.ended(lab.grace_seconds):
            return failed(f"{lab.grace_seconds:g} s after the end of its input it was still there", found)
        ended = peer.exit
    if lab.persistent and ended is not None and ended.code != 0:
        return warned(f"at the end of its input it ended with {ended}, not 0", found)
    return passed()


@case(
    "sigterm",
    "SIGTERM ends it within the grace period",
    why="A worker that drains, and a request that is cancelled, send SIGTERM; what is still there then is killed.",
    advice="Don't ignore SIGTERM; a handler should clean up and exit. In a shell script, exec the last program.",
    modes=PROCESS,
    needs_success=False,
)
async def sigterm(lab: Lab) -> Finding:
    async with lab.process() as peer:
        found = await lab.ask_in(peer, lab.request("sigterm")) if lab.persistent else lab.seen(peer)
        await _idle(peer.pid, lab)
        peer.terminate()
        if await peer.ended(lab.grace_seconds):
            return passed()
    return failed(f"{lab.grace_seconds:g} s after SIGTERM it was still there", found)


@case(
    "broken-pipe",
    "it ends when nobody reads its output",
    why="When the host dies the pipes break; a program that ignores SIGPIPE and write errors lives on as an orphan.",
    advice="Let SIGPIPE or the write error end the program.",
    modes=PROCESS,
    needs_success=False,
)
async def broken_pipe(lab: Lab) -> Finding:
    async with lab.process() as peer:
        peer.close_output()
        _, line = lab.line_unjudged(lab.request("broken-pipe"))
        peer.write(line)
        peer.close_input()
        if await peer.ended(lab.grace_seconds):
            return passed()
        found = lab.seen(peer, line)
    return failed(f"{lab.grace_seconds:g} s after its pipes broke it was still there", found)


@case(
    "descendants",
    "it leaves no process behind",
    why="What a program leaves running is killed with the task; a daemon started that way never lives long.",
    advice="Wait for what you start, or hand long-lived work to a service manager.",
    modes=PROCESS,
    needs_success=False,
)
async def leaves_nothing(lab: Lab) -> Finding:
    async with lab.process() as peer:
        if lab.persistent:
            found = await lab.ask_in(peer, lab.request("descendants"))
        else:
            _, line = lab.line_unjudged(lab.request("descendants"))
            peer.write(line)
            found = lab.seen(peer, line)
        peer.close_input()
        await peer.ended(lab.seconds)
        left = await _left(peer.pid, lab)
    return failed(f"left running: {', '.join(left)}", found) if left else passed()


async def _left(pid: int, lab: Lab) -> list[str]:
    for _ in range(int(SETTLE_SECONDS / POLL_SECONDS)):
        left = descendants(pid, lab.mark)
        if not left:
            return []
        await asyncio.sleep(POLL_SECONDS)
    return left


async def _idle(pid: int, lab: Lab) -> None:
    """Wait until everything in the group sleeps, so that a handler is installed that ever will be."""
    quiet = 0
    for _ in range(int(IDLE_SECONDS / POLL_SECONDS)):
        quiet = quiet + 1 if is_idle(pid) else 0
        if quiet * POLL_SECONDS >= max(0.1, lab.answered.seconds):
            return
        await asyncio.sleep(POLL_SECONDS)


CASES = (end_of_input, sigterm, broken_pipe, leaves_nothing)
