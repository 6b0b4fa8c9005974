"""Programs that say themselves which kind they are, asked at once and only when they or their name changed."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from stdworker.bridge import BridgeRuntime
from stdworker.bridge.describe import DESCRIBE_SECONDS, NotDescribed, describe
from stdworker.errors import ConfigError
from stdworker.model.kind import KindVersion
from stdworker.model.kind_file import KindFile
from stdworker.plugins.program_kinds import Found, ProgramKind, log

AT_ONCE_MAX = 16
TEXT_BYTES_MAX = 64 << 20  # of a program, searched for words

Answer = KindFile | NotDescribed | ConfigError
_Asked = tuple[Path, KindVersion, int, int, int]

_answers: dict[_Asked, Answer] = {}  # of the programs that were asked last


def with_descriptions(found: Iterable[Found]) -> list[Found]:
    """The same kinds; those without a kind file whose program has the word `describe` are asked for one."""
    found = list(found)
    asked = {kind.program: kind.pair for kind in found if isinstance(kind, ProgramKind) and _may_describe(kind)}
    answers = ask(asked)
    return [_with(kind, answers.get(kind.program)) if isinstance(kind, ProgramKind) else kind for kind in found]


def ask(programs: Mapping[Path, KindVersion]) -> dict[Path, Answer]:
    """What each program answers, asked under this kind. All together have little more than DESCRIBE_SECONDS.

    Blocks; in a thread of its own, because the caller may run in an event loop.
    """
    keys = {path: _key(path, pair) for path, pair in programs.items()}
    fresh = {path: pair for path, pair in programs.items() if keys[path] not in _answers}
    answers = {path: _answers[key] for path, key in keys.items() if key in _answers}
    if fresh:
        with ThreadPoolExecutor(1) as thread:
            answers |= thread.submit(asyncio.run, _ask(fresh)).result()
    _answers.clear()
    _answers.update((keys[path], answer) for path, answer in answers.items())
    return answers


def mentions(program: Path, *words: bytes) -> bool:
    """Whether the text of this file has all of these words."""
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
            try:
                return await describe(str(program), kind=pair, run=runtime, seconds=max(0.0, deadline - loop.time()))
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
    if answer.pair != kind.pair:
        text = f"{kind.program} describes {answer.pair}, its name says {kind.pair}"
        return ConfigError(text, code="kind_file_disagrees")
    return replace(kind, kind_file=answer, declared_by="describe")


def _key(program: Path, pair: KindVersion) -> _Asked:
    try:
        found = program.stat()
    except OSError:
        return program, pair, 0, 0, 0
    return program, pair, found.st_ino, found.st_size, found.st_mtime_ns
