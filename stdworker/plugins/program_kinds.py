"""Programs that become kinds by where they lie: `stdworker-kind-NAME[@VERSION]`, and kind files.

Folders are searched in order and the first program of a kind wins. In a folder, `NAME.kind.yaml` (or .json,
.yml, .toml) describes `stdworker-kind-NAME`, or else the executable NAME or NAME.EXTENSION beside it.
"""

from __future__ import annotations

import logging
import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import islice
from pathlib import Path

from stdworker.errors import ConfigError
from stdworker.model.kind import KindVersion
from stdworker.model.kind_file import KIND_FILE, PREFIX, KindFile

__all__ = [
    "PREFIX",
    "Found",
    "ProgramKind",
    "find_program_kinds",
    "folders_of",
    "is_kind",
    "kind_file_beside",
    "kind_file_of",
    "missing_folders",
]

KIND_FILE_BYTES_MAX = 4 << 20
FOLDER_FILES_MAX = 100_000
WARNINGS_MAX = 1_000

log = logging.getLogger("stdworker.kinds")

Named = dict[KindVersion, list[str]]


@dataclass(frozen=True, slots=True)
class ProgramKind:
    """A kind and the executable that serves it.

    `kind_file` is what declares it, `declared_by` the place of that, "" if nothing does. `shadows` are the
    programs further back that would serve it too.
    """

    pair: KindVersion
    program: Path
    kind_file: KindFile | None = None
    declared_by: str = ""
    shadows: tuple[str, ...] = ()


Found = ProgramKind | ConfigError


def find_program_kinds(folders: Iterable[Path]) -> list[Found]:
    """Every kind of these folders; an error stands for each one that can't be served.

    What a later folder has for a kind that was found before, even a broken one, is passed over with a warning.
    """
    nameless: list[Found] = []
    found: dict[KindVersion, tuple[Found, Path]] = {}
    for folder in _distinct(folders):
        for pair, item in _kinds_of(folder):
            if pair is None:
                nameless.append(item)
            elif pair in found:
                found[pair] = _shadowing(pair, *found[pair], _place(item, folder))
            else:
                found[pair] = item, folder
    return [*nameless, *(item for item, _ in found.values())]


def _distinct(folders: Iterable[Path]) -> list[Path]:
    """One folder may be there under several names, as /bin and /usr/bin often are."""
    names: dict[str, Path] = {}
    for folder in folders:
        names.setdefault(os.path.realpath(folder), folder.absolute())
    return list(names.values())


def _shadowing(pair: KindVersion, first: Found, folder: Path, loser: str) -> tuple[Found, Path]:
    _warn(f"{pair}: {loser} is not used, {_place(first, folder)} comes first")
    return (replace(first, shadows=(*first.shadows, loser)) if isinstance(first, ProgramKind) else first), folder


@lru_cache(maxsize=WARNINGS_MAX)
def _warn(text: str) -> None:
    """Once, however often the folders are searched."""
    log.warning("%s", text)


def _place(item: Found, folder: Path) -> str:
    return str(item.program if isinstance(item, ProgramKind) else folder)


def is_kind(name: str) -> bool:
    """Whether a file of this name is a kind file, or a program that is a kind by its name."""
    return _told_by(name) != ("", "")


def kind_file_beside(program: Path) -> KindFile | None:
    """The kind file that describes an executable, if there is one. Raises ConfigError if it is malformed."""
    told = (program.name, program.name.removeprefix(PREFIX), program.stem)
    names = [name for name in _names(program.parent) if (match := KIND_FILE.fullmatch(name)) and match["pair"] in told]
    if not names:
        return None
    if len(names) > 1:
        raise ConfigError(f"{program.parent} has {len(names)} kind files for {program.name}: {', '.join(names)}")
    path = program.parent / names[0]
    return _kind_file(path, _pair(path, _told_by(path.name)[1]))


def kind_file_of(command: str) -> KindFile | None:
    """The same for a program as it is named on a command line: by its path, or by a name on PATH."""
    located = shutil.which(command) or command
    return kind_file_beside(Path(located)) if os.sep in located else None


def missing_folders(kinds_path: Iterable[Path]) -> Iterator[ConfigError]:
    """Folders of STDWORKER_KINDS_PATH that are not there. On PATH such a folder is nothing unusual."""
    for folder in kinds_path:
        if not os.path.isdir(folder):
            text = f"STDWORKER_KINDS_PATH names {folder.absolute()}, which is not a folder"
            yield ConfigError(text, hint="create it, or take it out", code="no_folder")


def _kinds_of(folder: Path) -> Iterator[tuple[KindVersion | None, Found]]:
    names = _names(folder)
    programs: Named = {}
    kind_files: Named = {}
    for name in names:
        group, text = _told_by(name)
        if group:
            try:
                pair = _pair(folder / name, text)
                (programs if group == PREFIX else kind_files).setdefault(pair, []).append(name)
            except ConfigError as error:
                yield None, error
    for pair in sorted(programs.keys() | kind_files.keys()):
        try:
            yield pair, _program_kind(folder, pair, programs.get(pair, []), kind_files.get(pair, []), names)
        except ConfigError as error:
            yield pair, error


def _pair(path: Path, text: str) -> KindVersion:
    try:
        return KindVersion.parse(text)
    except ValueError as error:
        raise ConfigError(f"{path}: {error}", code="bad_kind_name") from None


def _names(folder: Path) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, FOLDER_FILES_MAX + 1)]
    except OSError as error:
        log.debug("%s is not searched for kinds: %s", folder, error.strerror)
        return []
    if len(names) > FOLDER_FILES_MAX:
        _warn(f"{folder} is not searched for kinds: it holds more than {FOLDER_FILES_MAX} files")
        return []
    return sorted(names)


def _told_by(name: str) -> tuple[str, str]:
    """What a file name says: ("", "") when it is neither a kind's program nor a kind file."""
    if match := KIND_FILE.fullmatch(name):
        return "kind file", match["pair"].removeprefix(PREFIX)
    return (PREFIX, name.removeprefix(PREFIX)) if name.startswith(PREFIX) else ("", "")


def _program_kind(
    folder: Path, pair: KindVersion, programs: list[str], kind_files: list[str], names: list[str]
) -> ProgramKind:
    for several, what in ((programs, "programs"), (kind_files, "kind files")):
        if len(several) > 1:
            raise ConfigError(f"{folder} has {len(several)} {what} for {pair}: {', '.join(several)}")
    program = folder / (programs[0] if programs else _program_beside(folder, kind_files[0], names))
    if not _is_executable(program):
        raise ConfigError(f"{program} is not an executable file", hint="chmod +x", code="not_executable")
    if not kind_files:
        return ProgramKind(pair, program)
    place = folder / kind_files[0]
    return ProgramKind(pair, program, _kind_file(place, pair), str(place))


def _program_beside(folder: Path, kind_file: str, names: list[str]) -> str:
    match = KIND_FILE.fullmatch(kind_file)
    assert match is not None
    stem = match["pair"]
    if stem in names:
        return stem
    beside = [name for name in names if Path(name).stem == stem and _is_executable(folder / name)]
    if len(beside) == 1:
        return beside[0]
    place = folder / kind_file
    if beside:
        raise ConfigError(f"{place} describes one program, beside it are {', '.join(beside)}")
    raise ConfigError(
        f"{place} describes no program: beside it is no executable {PREFIX}{stem}, {stem} or {stem}.EXTENSION",
        hint="is it there, and executable (chmod +x)?",
        code="no_program",
    )


def _is_executable(path: Path) -> bool:
    return os.path.isfile(path) and os.access(path, os.X_OK)


def _kind_file(path: Path, pair: KindVersion) -> KindFile:
    try:
        if not path.is_file():  # a pipe would have us wait for ever
            raise ConfigError(f"{path} is not a file")
        if path.stat().st_size > KIND_FILE_BYTES_MAX:
            raise ConfigError(f"{path} is larger than {KIND_FILE_BYTES_MAX} bytes")
        found = KindFile.parse(path.read_bytes(), str(path))
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}") from None
    if found.pair != pair:
        raise ConfigError(f"{path} describes {found.pair}, its name says {pair}", code="kind_file_disagrees")
    return found


def folders_of(kinds_path: Iterable[Path], environment: Mapping[str, str]) -> list[Path]:
    """Where kinds are searched: STDWORKER_KINDS_PATH, then PATH without its empty entries."""
    path = environment.get("PATH", os.defpath)
    return [*kinds_path, *(Path(part) for part in path.split(os.pathsep) if part)]
