"""The programs of a folder that are kinds: by their name, by a kind file, or because they say so themselves."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from stdworker.bridge.describe import kind_named
from stdworker.cli.conctl.items import Item, declared_items, files
from stdworker.errors import ConfigError
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion
from stdworker.model.kind_file import KindFile
from stdworker.model.settings import WorkerSettings
from stdworker.plugins.described import Answer, ask, mentions, refusal, with_descriptions
from stdworker.plugins.program_kinds import ProgramKind, find_program_kinds, is_kind, kind_file_beside

WORDS = (b"describe", b"reactions")  # in the text of a program that is asked although its name doesn't tell


class Served(NamedTuple):
    """What a worker knows of a program when it starts: another one takes another worker."""

    pair: KindVersion
    program: Path
    default_config: RawJson | None


@dataclass(slots=True)
class Programs:
    """What a worker finds in `folders` on its path, and the `described` kinds that their config alone makes known.

    `items` declare to an engine what no file declares; `mistakes` are sentences.
    """

    folders: list[Path] = field(default_factory=list)
    on_path: dict[KindVersion, ProgramKind] = field(default_factory=dict)
    described: dict[KindVersion, ProgramKind] = field(default_factory=dict)
    items: list[Item] = field(default_factory=list)
    mistakes: set[str] = field(default_factory=set)

    @classmethod
    def of(cls, folder: Path) -> Programs:
        """Asks the programs that may describe themselves, if they are new or changed; that may take seconds."""
        programs = cls(kind_folders(folder))
        found = with_descriptions(find_program_kinds(programs.folders))  # the worker tells what is wrong with them
        programs.on_path = {kind.pair: kind for kind in found if isinstance(kind, ProgramKind)}
        for kind in programs.on_path.values():
            if kind.declared_by == "describe":
                programs.declare(kind)
        for program, answer in ask(_candidates(folder)).items():
            programs.add(program, answer)
        return programs

    def add(self, program: Path, answer: Answer) -> None:
        if not isinstance(answer, KindFile):
            self.mistakes.add(str(refusal(program, answer)))
            return
        other = self.on_path.get(answer.pair) or self.described.get(answer.pair)
        if other is not None:
            self.mistakes.add(f"{program} describes {answer.pair}, which {other.program} is already")
            return
        kind = self.described[answer.pair] = ProgramKind(answer.pair, program, answer, "describe")
        self.declare(kind)

    def declare(self, kind: ProgramKind) -> None:
        assert kind.kind_file is not None
        try:
            self.items += declared_items(kind.kind_file, kind.program)
        except ConfigError as error:
            self.mistakes.add(str(error))

    @property
    def served(self) -> frozenset[Served]:
        return frozenset(
            [
                *(Served(pair, kind.program, _default_config(kind)) for pair, kind in self.on_path.items()),
                *(Served(pair, kind.program, None) for pair, kind in self.described.items()),
            ]
        )

    def variables(self, settings: WorkerSettings) -> dict[str, str]:
        """What a worker with these settings is told beside them."""
        folders = [*self.folders, *settings.kinds_path]
        variables = {"STDWORKER_KINDS_PATH": os.pathsep.join(map(str, folders))} if folders else {}
        if self.described:
            variables["STDIO_KINDS"] = ",".join(map(str, [*settings.stdio_kinds, *self.described]))
            if settings.stdio_composer_kinds:
                variables["STDIO_COMPOSER_KINDS"] = ",".join(map(str, settings.stdio_composer_kinds))
        return variables


def kind_folders(folder: Path) -> list[Path]:
    """The folders that hold kind files, or programs that are kinds by their name."""
    return sorted({path.parent for path in files(folder) if is_kind(path.name)})


def _default_config(kind: ProgramKind) -> RawJson | None:
    return kind.kind_file.default_config if kind.kind_file else None


def _candidates(folder: Path) -> dict[Path, KindVersion]:
    """Programs that nothing declares and that may describe themselves, as their text suggests."""
    return {
        path: kind_named(path.name)
        for path in files(folder)
        if not is_kind(path.name) and os.access(path, os.X_OK) and mentions(path, *WORDS) and not _is_declared(path)
    }


def _is_declared(program: Path) -> bool:
    try:
        return kind_file_beside(program) is not None
    except ConfigError:  # told by who reads the kind file
        return True
