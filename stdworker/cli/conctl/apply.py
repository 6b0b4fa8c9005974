"""Applying documents: what each one is, in which order they go, and what became of them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import click

from stdworker.cli.conctl.client import Client, Failed, explain
from stdworker.cli.conctl.output import print_document
from stdworker.errors import ConfigError
from stdworker.model.documents import SUFFIXES, Document, parse_documents, read_source
from stdworker.model.json_text import RawJson, ascii_line, dumps, elements, join_elements, join_members, loads, members

if TYPE_CHECKING:
    from stdworker.model.kind_file import KindFile

BATCH_DOCUMENTS_MAX = 5_000
BATCH_BYTES_MAX = 32 << 20

CONFLICT = 409

KIND, CONFIG, RESOURCE = "manifest", "providerconfig", "resource"
ORDER = (KIND, CONFIG, RESOURCE)
SKIPPED_FOLDERS = ("node_modules", "__pycache__")  # beside hidden ones
KIND_FILE_MEMBERS = ("default_config", "default_bundle")

OnResult = Callable[["Item", str, Mapping[str, RawJson], str], None]


@dataclass(frozen=True, slots=True)
class Item:
    """One thing to apply. `name` is what it is called in messages."""

    type: str
    name: str
    members: dict[str, RawJson]
    where: str

    @property
    def body(self) -> bytes:
        return join_members(self.members)


def load(sources: Sequence[str], forced_type: str | None = None) -> list[Item]:
    """Read files, folders (their files by name, recursively) and `-`; kinds first, then configs, then resources.

    Raises ConfigError naming file and line.
    """
    found = [item for document in _documents(sources) for item in items(document, forced_type)]
    return ordered(found)


def ordered(found: Iterable[Item]) -> list[Item]:
    """In the order in which one may need the other."""
    return sorted(found, key=lambda item: ORDER.index(item.type))


def _documents(sources: Sequence[str]) -> Iterator[Document]:
    for source in sources:
        if source == "-":
            yield from parse_documents(read_source("-"), "-")
            continue
        for path in _files(Path(source)):
            try:
                text = read_source(str(path))
            except OSError as error:
                raise ConfigError(f"{path} can't be read: {error.strerror}") from None
            yield from parse_documents(text, str(path))


def _files(path: Path) -> Iterator[Path]:
    if not os.path.isdir(path):
        yield path
        return
    found = [file for file in files(path) if file.suffix.lower() in SUFFIXES]
    if not found:
        raise ConfigError(f"{path} holds no file that ends in {', '.join(SUFFIXES)}")
    yield from found


def files(folder: Path) -> list[Path]:
    """All files below a folder by name; hidden ones and what package managers keep are passed over."""
    found: list[Path] = []
    for root, folders, names in os.walk(folder):
        folders[:] = [name for name in folders if not _skipped(name)]
        found += [Path(root, name) for name in names if not _skipped(name)]
    return sorted(path for path in found if os.path.isfile(path))


def _skipped(name: str) -> bool:
    return name.startswith(".") or name in SKIPPED_FOLDERS


def items(document: Document, forced_type: str | None = None) -> Iterator[Item]:
    """What a document declares; a kind file is a manifest and a default provider config."""
    told = members(document.raw)
    if told is None:
        raise ConfigError(f"{document.where}: expected an object, got {bytes(document.raw[:40]).decode()}")
    found = forced_type or _text(told, "type") or _shape(told)
    if found not in ORDER:
        known = ", ".join(ORDER)
        raise ConfigError(
            f"{document.where}: {f'the type {found!r} is not known' if found else 'no type'}; it is one of {known}"
        )
    if found != KIND:
        label = _text(told, "name") if found == CONFIG else f"{_text(told, 'kind')}/{_text(told, 'name')}"
        yield Item(found, label, told, document.where)
        return
    manifest = {key: raw for key, raw in told.items() if key not in KIND_FILE_MEMBERS}
    yield Item(KIND, f"{_text(told, 'kind')}@{_number(told, 'kind_version')}", manifest, document.where)
    if any(key in told for key in KIND_FILE_MEMBERS):
        yield _default_config(told, document.where)


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
    config: dict[str, RawJson] = {key: told[key] for key in ("kind", "kind_version") if key in told}
    kind, version = _text(told, "kind"), _number(told, "kind_version")
    name = kind if version == "1" else f"{kind}.v{version}"  # versions live beside each other
    config |= {"name": dumps(name), "is_default": dumps(True)}
    if "default_config" in told:
        config["spec"] = told["default_config"]
    if "default_bundle" in told:
        config["data"] = told["default_bundle"]
    return Item(CONFIG, name, config, where)


def _shape(told: dict[str, RawJson]) -> str:
    if "reactions" in told or "spec_schema" in told:
        return KIND
    if "is_default" in told or "data" in told:
        return CONFIG
    return RESOURCE if "kind" in told and "name" in told else ""


def _text(told: dict[str, RawJson], key: str) -> str:
    value = loads(told[key]) if key in told else ""
    return value if isinstance(value, str) else ""


def _number(told: dict[str, RawJson], key: str) -> str:
    return bytes(told[key]).decode() if key in told else "1"


@dataclass(slots=True)
class Applying:
    """Sends items one after the other, resources in batches; a failure doesn't stop the rest.

    `force` publishes kinds although they break what was published, and tells what they break.
    `on_result` is told what became of each: the item, the result in a word, more members, and the sentence for people.
    """

    client: Client
    dry_run: bool = False
    force: bool = False
    failures: int = 0
    on_result: OnResult = lambda item, result, more, sentence: click.echo(sentence)

    def send(self, found: Sequence[Item]) -> None:
        resources = [item for item in found if item.type == RESOURCE]
        for item in found:
            if item.type != RESOURCE or self.dry_run:
                self.attempt(item)
        if not self.dry_run:
            for batch in _batches(resources):
                self.send_batch(batch)

    def attempt(self, item: Item) -> None:
        try:
            if item.type == KIND:
                self.publish(item)
            elif item.type == CONFIG:
                self.put_config(item)
            else:
                self.try_resource(item)
        except Failed as error:
            if not error.status:
                raise
            self.fail(item, error.message)

    def publish(self, item: Item) -> None:
        if self.dry_run:
            self.on_result(item, "published", {}, f"kind {item.name} would be published")
            return
        path = f"/kinds/{_text(item.members, 'kind')}/manifest"
        try:
            self.client.call("PUT", path, body=item.body)
            sentence = f"kind {item.name} published"
        except Failed as error:
            if not self.force or error.status != CONFLICT:
                raise
            self.client.call("PUT", path, query={"force": "true"}, body=item.body)
            sentence = f"kind {item.name} published by force: {error.message}"
        self.on_result(item, "published", {}, sentence)

    def put_config(self, item: Item) -> None:
        if self.dry_run:
            self.on_result(item, "applied", {}, f"providerconfig {item.name} would be applied")
            return
        response = self.client.call("POST", "/providerconfigs", body=item.body)
        result = response.headers["x-apply-result"]
        self.on_result(item, result, {}, f"providerconfig {item.name} {result}")

    def try_resource(self, item: Item) -> None:
        answer = self.client.call("POST", "/resources", query={"dryRun": "true"}, body=item.body).content
        would = members(answer) or {}
        result = loads(would["result"])
        lines = [f"resource {item.name} {'is unchanged' if result == 'unchanged' else f'would be {result}'}"]
        for change in map(members, elements(would["changes"]) or []):
            if change:
                sides = [bytes(change.get(side, b"(absent)")).decode() for side in ("before", "after")]
                lines.append(f"  {loads(change['path'])}: {' → '.join(sides)}")
        self.on_result(item, result, {"changes": would["changes"]}, "\n".join(lines))

    def send_batch(self, batch: Sequence[Item]) -> None:
        body = b"\n".join(ascii_line(item.body) for item in batch)
        response = self.client.call("POST", "/resources/batch", body=body, media_type="application/x-ndjson")
        for line in response.content.splitlines():
            told = loads(line)
            item = batch[told["line"] - 1]
            if told["result"] == "failed":
                self.fail(item, explain(told["problem"]["detail"], told["problem"]["errors"]))
            else:
                sentence = f"resource {item.name} {told['result']} (generation {told['generation']})"
                self.on_result(item, told["result"], {"generation": dumps(told["generation"])}, sentence)

    def fail(self, item: Item, message: str) -> None:
        self.failures += 1
        click.echo(f"{item.where}: {item.type} {item.name}: {message}", err=True)


@dataclass(slots=True)
class Results:
    """What became of what was applied: told at once to people, in one document to machines."""

    form: str
    documents: list[RawJson] = field(default_factory=list)

    def add(self, item: Item, result: str, more: Mapping[str, RawJson], sentence: str) -> None:
        if self.form == "table":
            click.echo(sentence)
        elif self.form == "name":
            click.echo(item.name)
        told = {"type": dumps(item.type), "name": dumps(item.name), "result": dumps(result)}
        self.documents.append(join_members({**told, **more}))

    def show(self) -> None:
        if self.form in ("json", "yaml"):
            print_document(join_members({"applied": join_elements(self.documents)}), self.form)


def _batches(found: Sequence[Item]) -> Iterator[list[Item]]:
    batch: list[Item] = []
    size = 0
    for item in found:
        batch.append(item)
        size += sum(map(len, item.members.values()))
        if len(batch) == BATCH_DOCUMENTS_MAX or size >= BATCH_BYTES_MAX:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch
