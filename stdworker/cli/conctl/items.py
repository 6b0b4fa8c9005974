"""What documents declare, each thing with the place where it is written."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from stdworker.errors import ConfigError, ConfigKeyError
from stdworker.model.documents import SUFFIXES, Document, parse_documents, read_source
from stdworker.model.json_text import RawJson, dumps, escape_token, join_members, loads, members
from stdworker.model.places import line_of

if TYPE_CHECKING:
    from stdworker.model.kind_file import KindFile

KIND, CONFIG, BINDING, RESOURCE = "manifest", "providerconfig", "reactorbinding", "resource"
ORDER = (KIND, CONFIG, BINDING, RESOURCE)
DOCUMENTS_MAX = 5_000  # of one request
BYTES_MAX = 32 << 20
SCOPE_FILE = "converge.yaml"  # says what the files beside and below it belong to; declares nothing itself
SKIPPED_FOLDERS = ("node_modules", "__pycache__")  # beside hidden ones
KIND_FILE_MEMBERS = ("default_config", "default_bundle")


@dataclass(frozen=True, slots=True)
class Source:
    """The text that a document stands in, and which of its documents it is, counted from 0."""

    text: bytes
    name: str
    number: int


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to apply. `name` is what it is called in messages, `where` the place of its document."""

    type: str
    name: str
    members: dict[str, RawJson]
    where: str
    source: Source | None = field(default=None, compare=False, repr=False)
    in_kind_file: bool = False
    """A default config that a kind file has; there its members have other names."""

    @property
    def body(self) -> bytes:
        return join_members(self.members)

    @property
    def typed(self) -> bytes:
        """The body of one that is sent among others."""
        return join_members({**self.members, "type": dumps(self.type)})

    @property
    def identity(self) -> tuple[str, str]:
        return self.type, self.name

    @property
    def title(self) -> str:
        return titled(self.type, self.name)


def titled(what: str, name: str) -> str:
    """What messages call a thing: a manifest by what it declares, a kind."""
    return f"{'kind' if what == KIND else what} {name}"


def load(sources: Sequence[str], forced_type: str | None = None) -> list[Item]:
    """Read files, folders (their files by name, recursively) and `-`; each after what it may need.

    Raises ConfigError naming file and line.
    """
    found = [item for source in sources for item in _of_source(source, forced_type)]
    return ordered(found)


def ordered(found: Iterable[Item]) -> list[Item]:
    """In the order in which one may need the other."""
    return sorted(found, key=lambda item: ORDER.index(item.type))


def batches(found: Iterable[Item]) -> Iterator[list[Item]]:
    """Items in groups that one request carries."""
    batch: list[Item] = []
    size = 0
    for item in found:
        batch.append(item)
        size += sum(map(len, item.members.values()))
        if len(batch) == DOCUMENTS_MAX or size >= BYTES_MAX:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _of_source(source: str, forced_type: str | None) -> Iterator[Item]:
    if source == "-":
        yield from _of_text(read_source("-"), "-", forced_type)
        return
    for path in _files(Path(source)):
        yield from _of_text(read(path), str(path), forced_type)


def read(path: Path) -> bytes:
    """The text of a file. Raises ConfigError."""
    try:
        return read_source(str(path))
    except OSError as error:
        raise ConfigError(f"{path} can't be read: {error.strerror}") from None


def _of_text(text: bytes, name: str, forced_type: str | None) -> Iterator[Item]:
    for number, document in enumerate(parse_documents(text, name)):
        yield from sourced(items(document, forced_type), Source(text, name, number))


def sourced(found: Iterable[Item], source: Source) -> Iterator[Item]:
    """Items that know the text which they come from.

    Raises ConfigError for a default config with which the program beside its kind file could not be run.
    """
    for item in found:
        if item.in_kind_file:
            _check_launch(item, source)
        yield replace(item, source=source)


def _check_launch(item: Item, source: Source) -> None:
    """The engine takes any config: what no worker can use would be found out by the resources that fail."""
    from stdworker.bridge.launch import NoCommand, parse_launch
    from stdworker.model.kind_file import KIND_FILE

    if not KIND_FILE.fullmatch(Path(source.name).name):
        return  # a kind of a plugin, which has configs of its own
    try:
        parse_launch(item.members.get("spec"), default_command=item.name)
    except NoCommand:
        return
    except ConfigError as error:
        key = f"/{escape_token(error.key)}" if isinstance(error, ConfigKeyError) else ""
        line = line_of(source.text, source.name, source.number, f"/default_config{error.path}{key}")
        place = f"{source.name}:{line}" if line else item.where
        told = f"{place} /default_config{'' if error.path else ': '}{error.message}"
        raise ConfigError(told, hint=error.hint, code=error.code) from None


def _files(path: Path) -> Iterator[Path]:
    if not os.path.isdir(path):
        yield path
        return
    found = [file for file in files(path) if file.suffix.lower() in SUFFIXES and file.name != SCOPE_FILE]
    if not found:
        raise ConfigError(f"{path} holds no file that ends in {', '.join(SUFFIXES)}")
    yield from found


def files(folder: Path) -> list[Path]:
    """All files below a folder by name; hidden ones and what package managers keep are passed over."""
    found: list[Path] = []
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not skipped(name)]
        found += [Path(root, name) for name in names if not skipped(name)]
    return sorted(path for path in found if os.path.isfile(path))


def skipped(name: str) -> bool:
    """Is a file or a folder of this name passed over?"""
    return name.startswith(".") or name in SKIPPED_FOLDERS


def items(document: Document, forced_type: str | None = None) -> Iterator[Item]:
    """What a document declares; a kind file is a manifest and a default provider config."""
    told = members(document.raw)
    if told is None:
        raise ConfigError(f"{document.where}: expected an object, got {bytes(document.raw[:40]).decode()}")
    found = forced_type or type_of(told)
    if found not in ORDER:
        known = ", ".join(ORDER)
        raise ConfigError(
            f"{document.where}: {f'the type {found!r} is not known' if found else 'no type'}; it is one of {known}"
        )
    told.pop("type", None)
    if found != KIND:
        label = _text(told, "name") if found in (CONFIG, BINDING) else f"{_text(told, 'kind')}/{_text(told, 'name')}"
        yield Item(found, label, told, document.where)
        return
    manifest = {key: raw for key, raw in told.items() if key not in KIND_FILE_MEMBERS}
    yield Item(KIND, f"{_text(told, 'kind')}@{_number(told, 'kind_version')}", manifest, document.where)
    if any(key in told for key in KIND_FILE_MEMBERS):
        yield _default_config(told, document.where)


def type_of(told: dict[str, RawJson]) -> str:
    """What the document says that it is, or else what it looks like; "" for nothing of ours."""
    return _text(told, "type") or _shape(told)


def program_items(program: Path) -> list[Item]:
    """What declares a program (see `declaration`) as items. Raises ConfigError."""
    from stdworker.plugins.described import declaration

    return declared_items(declaration(program), program.absolute())


def declared_items(kind_file: KindFile, program: Path) -> list[Item]:
    """The kind, and a default config whose command is the program.

    No resource may name another one, as if the program were on a worker's path. Raises ConfigError.
    """
    from stdworker.bridge.launch import SEALED_BY_DEFAULT, check_kind_file

    check_kind_file(kind_file, str(program))
    told = members(kind_file.document) or {}
    launch = members(told.get("default_config", b"{}")) or {}
    launch["command"] = dumps(str(program))
    sealed = loads(launch.get("sealed", b"null"))
    launch["sealed"] = dumps(SEALED_BY_DEFAULT if sealed is None else sorted({*sealed, "command"}))
    told["default_config"] = join_members(launch)
    return list(items(Document(join_members(told), kind_file.where), KIND))


def _default_config(told: dict[str, RawJson], where: str) -> Item:
    config: dict[str, RawJson] = {key: told[key] for key in ("kind", "kind_version", "labels") if key in told}
    kind, version = _text(told, "kind"), _number(told, "kind_version")
    name = kind if version == "1" else f"{kind}.v{version}"  # versions live beside each other
    config |= {"name": dumps(name), "is_default": dumps(True)}
    if "default_config" in told:
        config["spec"] = told["default_config"]
    if "default_bundle" in told:
        config["data"] = told["default_bundle"]
    return Item(CONFIG, name, config, where, in_kind_file=True)


def _shape(told: dict[str, RawJson]) -> str:
    if "watch_kind" in told:
        return BINDING
    if "reactions" in told or "spec_schema" in told:
        return KIND
    if "is_default" in told or "data" in told:
        return CONFIG
    return RESOURCE if "kind" in told and "name" in told else ""


def _text(told: dict[str, RawJson], key: str) -> str:
    value = loads(told[key]) if key in told else ""
    return value if isinstance(value, str) else ""


def _number(told: dict[str, RawJson], key: str) -> str:
    """A whole number by its value: the engine reads 1.0 as 1."""
    value = loads(told[key]) if key in told else 1
    return f"{value:.0f}" if isinstance(value, float) and value.is_integer() else bytes(told.get(key, b"1")).decode()
