"""Programs that say themselves which kind they are. All are asked at once, and again only after they changed."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from stdworker.bridge import BridgeRuntime
from stdworker.bridge.describe import DESCRIBE_SECONDS, NotDescribed, describe, kind_named
from stdworker.errors import ConfigError
from stdworker.model.kind import KindVersion
from stdworker.model.kind_file import KindFile
from stdworker.plugins.program_kinds import PREFIX, Found, ProgramKind, kind_file_beside, log
from stdworker.process.command import Command, Signature, signature

AT_ONCE_MAX = 16
TEXT_BYTES_MAX = 64 << 20  # of a program, searched for words
PROGRAMS_MAX = 10_000  # whose words and answers are remembered

Answer = KindFile | NotDescribed | ConfigError


_answers: dict[tuple[Path, Signature, KindVersion], Answer] = {}


def with_descriptions(found: Iterable[Found]) -> list[Found]:
    """The same kinds; those without a kind file whose program has the word `describe` are asked for one."""
    found = list(found)
    asked = {kind.program: kind.pair for kind in found if isinstance(kind, ProgramKind) and _may_describe(kind)}
    answers = ask(asked)
    return [_with(kind, answers.get(kind.program)) if isinstance(kind, ProgramKind) else kind for kind in found]


def declaration(program: Path) -> KindFile:
    """What declares this executable: the kind file beside it, else its own answer. Its `where` says which.

    Raises ConfigError: it can't be run, what it declares is not legal, or (code `not_described`, with a hint what
    to write) nothing declares it.
    """
    program = program.absolute()
    if not os.path.isfile(program):
        raise ConfigError(
            f"there is no file {program}", hint="give the path of an executable", code="program_not_found"
        )
    if not os.access(program, os.X_OK):
        raise ConfigError(f"{program} is not executable", hint="chmod +x", code="not_executable")
    beside = kind_file_beside(program)
    if beside is not None:
        return beside
    answer = ask({program: kind_named(program.name)})[program]
    if not isinstance(answer, KindFile):
        raise refusal(program, answer)
    if program.name.startswith(PREFIX):
        _check_agreement(program, kind_named(program.name), answer.pair)
    return answer


def ask(programs: Mapping[Path, KindVersion]) -> dict[Path, Answer]:
    """What each program answers, asked under this kind. All together have little more than DESCRIBE_SECONDS.

    Blocks; in a thread of its own, because the caller may run in an event loop.
    """
    keys = {path: (path, _signature(path), pair) for path, pair in programs.items()}
    answers = {path: _answers[key] for path, key in keys.items() if key in _answers}
    fresh = {path: pair for path, pair in programs.items() if path not in answers}
    if fresh:
        with ThreadPoolExecutor(1) as thread:
            answers |= thread.submit(asyncio.run, _ask(fresh)).result()
        for path in fresh:
            _answers[keys[path]] = answers[path]
        while len(_answers) > PROGRAMS_MAX:
            del _answers[next(iter(_answers))]
    return answers


def refusal(program: Path, answer: NotDescribed | ConfigError) -> ConfigError:
    """The error of a program that nothing declares, or only an illegal description. Says what to write."""
    if isinstance(answer, ConfigError):
        return answer
    pair = kind_named(program.name)
    name = pair.kind if pair.version == 1 else str(pair)
    text = f"nothing declares the kind of {program}: there is no kind file beside it, and asked to describe itself"
    hint = (
        f"write {name}.kind.yaml beside it, with kind, kind_version and reactions; or have it answer"
        ' {"describe": {…the same…}} when the reaction is "describe"'
    )
    return ConfigError(f"{text}: {answer.reason}", hint=hint, code="not_described")


def mentions(program: Path, *words: bytes) -> bool:
    """Whether the text of this file has all of these words."""
    return _has_words(program, _signature(program), words)


@lru_cache(maxsize=PROGRAMS_MAX)
def _has_words(program: Path, _: Signature, words: tuple[bytes, ...]) -> bool:
    try:
        with program.open("rb") as file:
            text = file.read(TEXT_BYTES_MAX)
    except OSError:
        return False
    return all(word in text for word in words)


async def _ask(programs: Mapping[Path, KindVersion]) -> dict[Path, Answer]:
    runtime, room, loop = BridgeRuntime(), asyncio.Semaphore(AT_ONCE_MAX), asyncio.get_running_loop()
    deadline = loop.time() + DESCRIBE_SECONDS

    async def answer(program: Path, pair: KindVersion) -> Answer:
        async with room:
            seconds = deadline - loop.time()
            if seconds <= 0:
                return NotDescribed(f"the programs that were asked before it took all of {DESCRIBE_SECONDS:g} s")
            try:
                return await describe(str(program), kind=pair, run=runtime, seconds=seconds)
            except ConfigError as error:
                return error

    try:
        answers = await asyncio.gather(*(answer(program, pair) for program, pair in programs.items()))
    finally:
        await runtime.close()
    return dict(zip(programs, answers, strict=True))


def _may_describe(kind: ProgramKind) -> bool:
    return kind.kind_file is None and mentions(kind.program, b"describe")


def _with(kind: ProgramKind, answer: Answer | None) -> Found:
    if answer is None or isinstance(answer, ConfigError):
        return answer or kind
    if isinstance(answer, NotDescribed):
        log.info("%s doesn't describe itself: %s", kind.program, answer.reason)
        return kind
    try:
        _check_agreement(kind.program, kind.pair, answer.pair)
    except ConfigError as error:
        return error
    return replace(kind, kind_file=answer, declared_by="describe")


def _check_agreement(program: Path, named: KindVersion, described: KindVersion) -> None:
    if described != named:
        text = f"{program} describes {described}, its name says {named}"
        raise ConfigError(text, code="kind_file_disagrees")


def _signature(program: Path) -> Signature:
    """Another one means a program that has to be read and asked anew."""
    return signature(Command(str(program), (), None, {}))
