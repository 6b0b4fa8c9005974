"""`stdworker replay`: run the requests of a record again, and compare what comes of them."""

from __future__ import annotations

import asyncio
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from stdworker.bridge import BridgeResult, BridgeRuntime, ProgramProvider
from stdworker.bridge.recorded import Recorded, read_record
from stdworker.bridge.redact import Redactor, redact_json
from stdworker.bridge.result_json import result_members
from stdworker.cli.logs import log_as_asked
from stdworker.cli.program_arguments import GivenProgram, ProgramCommand, read_config
from stdworker.cli.signals import until_interrupted
from stdworker.cli.terminal import plain
from stdworker.errors import ConfigError
from stdworker.model.difference import Difference, differences
from stdworker.model.json_text import RawJson, ascii_line, dumps, join_elements, join_members, members
from stdworker.model.kind import KindVersion

SAME, DIFFERENT, SKIPPED = "same", "different", "skipped"
SHOWN_CHARACTERS_MAX = 200  # of one side of a difference


@dataclass(frozen=True, slots=True)
class Replayed:
    """A request that was run again, or why it wasn't."""

    recorded: Recorded
    verdict: str
    result: BridgeResult | None = None
    differences: Sequence[Difference] = ()
    hidden: Sequence[str] = ()
    why: str = ""


@click.command(cls=ProgramCommand)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--only", metavar="N|id:ID|NAME", help="The request in line N, of that id, or those for a resource.")
@click.option("--config", metavar="FILE", help="Merged over the recorded config: gives redacted values back.")
@click.option("-o", "--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.argument("command", nargs=-1, metavar="[--] [PROGRAM [ARGS]...]", type=click.UNPROCESSED)
def replay(file: Path, only: str | None, config: str | None, output: str, command: tuple[str, ...]) -> None:
    """Run the requests of a record again, by the recorded program or by PROGRAM, and compare the outcomes.

    The program really runs: what it does to the world, it does again. `record: true` in a launch config and
    `stdworker call --record FILE` make records. Exit status: 0 all the same, 1 something differs, 2 nothing to run.
    """
    log_as_asked(os.environ)
    over = read_config("--config", config)
    program = GivenProgram.of(command) if command else None
    if program and program.arguments:
        over["args"] = dumps(list(program.arguments))
    chosen = list(_chosen(file, only))
    if not chosen:
        told, hint = ("no such request", "--only") if only else ("no request", "FILE")
        raise click.BadParameter(f"{file} holds {told}", param_hint=hint)
    replayer = Replayer(join_members(over), program.command if program else None)
    sys.exit(asyncio.run(until_interrupted(_run(replayer, chosen, output))))


def _chosen(file: Path, only: str | None) -> Iterator[Recorded]:
    for found in read_record(file):
        if isinstance(found, ConfigError):
            click.echo(plain(f"Warning: {found}"), err=True)
        elif only is None or _is_meant(found, only):
            yield found


def _is_meant(found: Recorded, only: str) -> bool:
    if only.isdecimal():
        return found.number == int(only)
    if only.startswith("id:"):
        return found.sent.get("id") == dumps(only.removeprefix("id:"))
    return only in (found.name, f"{found.entry.kind}/{found.name}")


async def _run(replayer: Replayer, chosen: Sequence[Recorded], output: str) -> int:
    verdicts: Counter[str] = Counter()
    try:
        for recorded in chosen:
            replayed = await replayer.replay(recorded)
            verdicts[replayed.verdict] += 1
            click.echo(_as_json(replayed) if output == "json" else plain("\n".join(_lines(replayed))))
    finally:
        await replayer.close()
    if output == "text":
        counts = ", ".join(f"{verdicts[word]} {word}" for word in (SAME, DIFFERENT, SKIPPED) if verdicts[word])
        click.echo(f"{len(chosen)} {'request' if len(chosen) == 1 else 'requests'}: {counts}")
    return 1 if verdicts[DIFFERENT] else 0 if verdicts[SAME] else 2


class Replayer:
    """Runs recorded requests, each kind by a provider of its own."""

    def __init__(self, over: RawJson, command: str | None) -> None:
        self._over = over
        self._command = command
        self._runtime = BridgeRuntime()
        self._providers: dict[KindVersion, ProgramProvider] = {}

    async def replay(self, recorded: Recorded) -> Replayed:
        why = recorded.unrepeatable
        if why:
            return Replayed(recorded, SKIPPED, why=why)
        default = recorded.default(self._over, command=self._command)
        result = await self._provider(recorded.pair).run(recorded.reaction_request(default))
        found = list(differences(_recorded_outcome(recorded, result), _outcome(result, Redactor(default.spec))))
        return Replayed(recorded, DIFFERENT if found else SAME, result, found, recorded.hidden(default))

    async def close(self) -> None:
        for provider in self._providers.values():
            await provider.close()

    def _provider(self, pair: KindVersion) -> ProgramProvider:
        if pair not in self._providers:
            self._providers[pair] = ProgramProvider(pair, run=self._runtime)
        return self._providers[pair]


def _outcome(result: BridgeResult, redact: Redactor) -> dict[str, RawJson]:
    told = result_members(result)
    return {
        "result": told["result"],
        "error": _compared(told["error"], result),
        "outcome": redact_json(told["outcome"], redact),
    }


def _recorded_outcome(recorded: Recorded, result: BridgeResult) -> dict[str, RawJson]:
    entry = recorded.entry
    return {
        "result": dumps(entry.result),
        "error": _compared(dumps(entry.error), result),
        "outcome": RawJson(entry.outcome),
    }


def _compared(error: RawJson, result: BridgeResult) -> RawJson:
    """A message counts if the program wrote it; ours quote stderr, where times and numbers differ each time."""
    fields = members(error)
    if fields is not None and not (result.failure and result.failure.code == "program_failed"):
        fields.pop("message", None)
    return error if fields is None else join_members(fields)


# ---- for machines and for people ----


def _as_json(replayed: Replayed) -> str:
    recorded = replayed.recorded
    changes = [
        join_members({"path": dumps(path), "recorded": before or _NULL, "replayed": after or _NULL})
        for path, before, after in replayed.differences
    ]
    told = {
        "line": dumps(recorded.number),
        "id": recorded.sent.get("id", _NULL),
        "kind": dumps(recorded.entry.kind),
        "kind_version": dumps(recorded.entry.kind_version),
        "name": dumps(recorded.name),
        "verdict": dumps(replayed.verdict),
        "why": dumps(replayed.why),
        "differences": join_elements(changes),
        "redacted": dumps(list(replayed.hidden)),
        "replayed": join_members(result_members(replayed.result)) if replayed.result else _NULL,
    }
    return ascii_line(join_members(told)).decode()


def _lines(replayed: Replayed) -> Iterator[str]:
    recorded, result = replayed.recorded, replayed.result
    reaction = recorded.sent["reaction"].value() if recorded.sent else recorded.entry.stage.value
    who = f"{recorded.number}  {reaction} {recorded.entry.kind}/{recorded.name}"
    if result is None:
        yield f"{who}: {replayed.verdict}: {replayed.why}"
        return
    took = f"{result.duration_seconds * 1_000:.0f} ms, recorded {recorded.entry.duration_ms} ms"
    yield f"{who}: {replayed.verdict} ({took})"
    for path, before, after in replayed.differences:
        yield f"   {path}: {_shown(before)} → {_shown(after)}"
    if replayed.differences and result.failure is not None:
        yield f"   error: {result.failure}"
    if replayed.hidden:
        yield f"   redacted, so the program got ***: {', '.join(replayed.hidden)} (--config FILE gives settings back)"


def _shown(document: RawJson | None) -> str:
    if document is None:
        return "nothing"
    text = document.decode()
    return text if len(text) <= SHOWN_CHARACTERS_MAX else f"{text[:SHOWN_CHARACTERS_MAX]}…"


_NULL = RawJson(b"null")
