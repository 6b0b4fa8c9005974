"""Workers as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import wrap
from typing import Any

from stdworker.cli.terminal import aligned, columns, fitted, left_out, plain

Row = Sequence[str]
Seen = Mapping[str, Any]


def one_worker(worker: Seen) -> Iterable[str]:
    """All that is known of a worker, its lines cut to the terminal's width."""
    yield from _fitted(_lines(worker))


def several_workers(workers: Sequence[Seen]) -> Iterable[str]:
    """A line for each."""
    headings = ("PID", "VERSION", "UP", "BROKER", "STATE", "READY", "IN FLIGHT")
    yield from _fitted(_table(headings, map(_short, workers)))
    yield "(--pid PID shows one of them)"


def _short(worker: Seen) -> Row:
    kinds = worker["kinds"]
    ready = f"{sum(kind['ready'] for kind in kinds)} of {len(kinds)} kinds"
    in_flight = str(sum(kind["in_flight"] for kind in kinds))
    up = duration(worker["uptime_seconds"])
    return str(worker["pid"]), worker["version"], up, worker["broker"]["address"], _state(worker), ready, in_flight


def _lines(worker: Seen) -> Iterator[str]:
    up = duration(worker["uptime_seconds"])
    yield f"worker {worker['pid']} on {worker['hostname']}, version {worker['version']}, up {up}: {_state(worker)}"
    if worker["loop"]["stuck_seconds"]:
        seconds = duration(worker["loop"]["stuck_seconds"])
        yield from _wrapped(f"its event loop stands still for {seconds}, because of {worker['loop']['held_by']}")
    yield from _broker(worker["broker"])
    for sentence in worker["missing"]:
        yield from _wrapped(f"missing: {sentence}")
    results = worker["results"]
    if results["buffered"] or results["dropped"]:
        yield f"results: {results['buffered']} not settled by the broker yet, {results['dropped']} given up"
    yield from _kinds(worker["kinds"])
    yield from _processes(worker["kinds"])
    yield from _tasks(worker["slowest_tasks"])


def _state(worker: Seen) -> str:
    if worker["draining"]:
        return "draining"
    if worker["loop"]["stuck_seconds"]:
        return "stuck"
    return "not connected" if not worker["broker"]["connected"] else "not ready" if worker["missing"] else "ready"


def _broker(broker: Seen) -> Iterator[str]:
    state = "connected" if broker["connected"] else "not connected"
    extensions = f" ({', '.join(broker['extensions'])})" if broker["extensions"] else ""
    yield f"broker {broker['address']}: {state} for {duration(broker['since_seconds'])}{extensions}"
    if broker["error"]:
        yield from _wrapped(f"  last trouble, {duration(broker['error_seconds_ago'])} ago: {broker['error']}")


def _kinds(kinds: Sequence[Seen]) -> Iterator[str]:
    headings = ("KIND", "STATE", "RUN", "WAIT", "CREDIT", "OK", "RETRY", "FAILED", "RELEASED", "MODE", "CONFIG")
    yield ""
    yield from _table(headings, map(_kind, kinds))
    for kind in kinds:
        if kind["reason"]:
            yield from _wrapped(f"  {_name(kind)}: {kind['reason']}")


def _kind(kind: Seen) -> Row:
    outcomes = kind["outcomes"]
    counts = [kind["in_flight"], kind["waiting"], kind["credit"]]
    counts += [outcomes[name] for name in ("success", "transient", "terminal", "released")]
    program = _program(kind)
    state = "breaker open" if program.get("breaker_open") else "ready" if kind["ready"] else "not ready"
    return _name(kind), state, *map(str, counts), program.get("mode") or "-", kind["config"]["hash"] or "none"


def _program(kind: Seen) -> Seen:
    """What a program's provider shows; a plugin's provider may show anything, or nothing."""
    shown = kind["provider"]
    return shown if isinstance(shown, dict) and "pools" in shown else {}


def _processes(kinds: Sequence[Seen]) -> Iterator[str]:
    rows = [row for kind in kinds for pool in _program(kind).get("pools", ()) for row in _pool(kind, pool)]
    if rows:
        yield ""
        yield from _table(("PROGRAM", "CONFIG", "PROCESS", "UP", "RUN", "ANSWERED", "RESTARTS"), rows)


def _pool(kind: Seen, pool: Seen) -> Iterator[Row]:
    config = "default" if pool["default"] else "override"
    restarts = str(pool["restarts"])
    for peer in pool["processes"]:
        place = str(peer["pid"] or peer["address"])
        up = duration(peer["uptime_seconds"])
        yield _name(kind), config, place, up, str(peer["in_flight"]), str(peer["answered"]), restarts
    if not pool["processes"]:
        yield _name(kind), config, "none", "-", "0", "-", restarts


def _tasks(tasks: Sequence[Seen]) -> Iterator[str]:
    if tasks:
        yield ""
        yield from _table(("SLOWEST TASKS", "STAGE", "FOR", "PROGRESS"), map(_task, tasks))


def _task(task: Seen) -> Row:
    fraction, message = task["progress"]["fraction"], task["progress"]["message"]
    told = [f"{fraction:.0%}" if fraction is not None else "", message, "(cancelled)" if task["cancelled"] else ""]
    return f"{_name(task)}/{task['name']}", task["stage"], duration(task["seconds"]), " ".join(filter(None, told))


def _name(kind: Seen) -> str:
    return f"{kind['kind']}@{kind['kind_version']}"


def duration(seconds: float) -> str:
    """In the two largest units that say something: `4.2s`, `3m12s`, `5h3m`, `2d7h`."""
    if seconds < 60:
        return f"{seconds:.1f}s" if seconds < 10 else f"{seconds:.0f}s"
    minutes, hours, days = int(seconds // 60), int(seconds // 3600), int(seconds // 86_400)
    if minutes < 60:
        return f"{minutes}m{int(seconds % 60)}s"
    return f"{hours}h{minutes % 60}m" if hours < 24 else f"{days}d{hours % 24}h"


def _table(headings: Row, rows: Iterable[Row]) -> Iterator[str]:
    """Rows under headings, cut to the terminal's width; columns without room are named below."""
    lines = [headings, *([plain(cell).replace("\n", "?") for cell in row] for row in rows)]
    shown = fitted(headings, [max(map(len, column)) for column in zip(*lines, strict=True)], columns())
    yield from aligned(
        [
            [_cut(cell, shown[name]) for name, cell in zip(headings, line, strict=True) if name in shown]
            for line in lines
        ]
    )
    yield from _wrapped(left_out(headings, shown))


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else f"{text[: width - 1]}…"


def _wrapped(sentence: str) -> Iterable[str]:
    """What must be read to its end."""
    return wrap(sentence, columns(), subsequent_indent="    ", drop_whitespace=True)


def _fitted(lines: Iterable[str]) -> Iterator[str]:
    """No line longer than the terminal, and nothing in it that a terminal would obey: programs wrote parts of it."""
    width = columns()
    for line in (plain(line).replace("\n", "?") for line in lines):
        yield _cut(line, width)
