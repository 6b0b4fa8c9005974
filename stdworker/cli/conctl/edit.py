"""`conctl edit`: change what something declares in an editor, without losing what anybody wrote."""

from __future__ import annotations

import difflib
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

import click

from stdworker.cli.conctl.apply import PATHS, done
from stdworker.cli.conctl.arguments import path_of, title_of
from stdworker.cli.conctl.client import Client, Failed
from stdworker.cli.conctl.items import BINDING, CONFIG, KIND, RESOURCE, Item, Source, items, sourced, titled
from stdworker.cli.conctl.output import pretty_yaml
from stdworker.cli.conctl.plan import explained
from stdworker.cli.terminal import plain
from stdworker.errors import ConfigError
from stdworker.model.documents import parse_documents
from stdworker.model.json_text import RawJson, dumps, join_members, loads, members

REFUSED = (400, 409, 422)  # what another text may mend
CHANGED_MEANWHILE = 412
OPENED_MAX = 50  # times that the editor opens: a program for an editor may write something else to refuse for ever
DECLARED = {
    RESOURCE: ("kind", "kind_version", "name", "labels", "provider_config_ref", "spec"),
    CONFIG: ("name", "kind", "kind_version", "is_default", "labels", "spec"),
    BINDING: (
        "name",
        "watch_kind",
        "watch_kind_version",
        "transition",
        "reactor",
        "reactor_version",
        "label_match",
        "enabled",
        "labels",
    ),
}
_NULL = RawJson(b"null")
_CLEARED: dict[str, dict[str, RawJson]] = {
    RESOURCE: dict.fromkeys(("labels", "provider_config_ref", "spec"), _NULL),
    CONFIG: {**dict.fromkeys(("labels", "spec"), _NULL), "is_default": RawJson(b"false")},
    BINDING: {
        **dict.fromkeys(("labels", "label_match", "watch_kind_version", "reactor_version"), _NULL),
        "enabled": RawJson(b"true"),
    },
    KIND: {"labels": _NULL},
}
"""What a text says that has it no more: what is left out stays as it is, as the bundle of a config does."""


class Seen(NamedTuple):
    """What there is: its declaration, and its tag."""

    document: RawJson
    tag: str

    @property
    def text(self) -> str:
        return pretty_yaml(self.document)


@dataclass(slots=True)
class Editing:
    """One thing that is edited until the engine takes it, or whoever edits gives up."""

    client: Client
    type: str
    name: str
    path: str
    notes: list[str] = field(default_factory=list)
    why: str = "the text is empty"
    """What keeps it from being stored."""
    is_refused: bool = False
    """The text as it is would be refused again."""
    unsaved: str = ""
    """What was written last and isn't stored."""

    @classmethod
    def of(cls, client: Client, what: str, name: str, version: int) -> Editing:
        return cls(client, what, title_of(what, name, version), path_of(what, name, version))

    @property
    def title(self) -> str:
        return titled(self.type, self.name)

    def run(self) -> str:
        """A sentence of what came of it. Raises Failed; then what was written is in a file that it names."""
        try:
            return self.edit()
        except Failed as error:
            raise Failed(f"{error.message}{self.kept()}", error.status) from None
        except KeyboardInterrupt:
            click.echo(self.kept(), err=True)
            raise

    def edit(self) -> str:
        seen = self.look()
        text = seen.text
        for _ in range(OPENED_MAX):
            edited = self.open(text)
            if edited == seen.text:
                self.unsaved = ""
                return f"{self.title} unchanged"
            if not edited or (self.is_refused and edited == text):
                raise self.given_up()
            text = self.unsaved = edited
            try:
                return self.send(seen, self.item(text))
            except ConfigError:
                self.refuse(text)
            except Failed as error:
                if error.status == CHANGED_MEANWHILE:
                    seen = self.look_again(seen)
                elif error.status in REFUSED:
                    self.refuse(text, error)
                else:
                    raise
        raise self.given_up()

    def given_up(self) -> Failed:
        return Failed(f"not stored: {self.why}")

    def kept(self) -> str:
        """Where what was written is kept, as the end of a sentence; nothing if there is nothing to lose."""
        if not self.unsaved:
            return ""
        with tempfile.NamedTemporaryFile("w", prefix="conctl-edit-", suffix=".yaml", delete=False) as file:
            file.write(self.unsaved)
        return f"\nwhat you wrote is in {file.name}"

    def refuse(self, text: str, error: Failed | None = None) -> None:
        """Say why above the text, by its lines as they are numbered below what is said."""
        self.why = self.refusal(text, error)
        above = len(self.why.splitlines()) + 1
        told = self.refusal("#\n" * above + text, error)
        self.notes, self.is_refused = [*told.splitlines(), "(leave the text as it is, or empty, to give up)"], True

    def refusal(self, text: str, error: Failed | None) -> str:
        try:
            item = self.item(text)
        except ConfigError as mistake:
            return str(mistake)
        assert error is not None
        return explained(item, error.problem) if error.problem else error.message

    def open(self, text: str) -> str:
        """What the editor makes of the text; notes stand above it as comments."""
        head = "".join(f"# {plain(note)}\n" for note in self.notes)
        try:
            edited = click.edit(head + text, extension=".yaml", require_save=False)
        except click.ClickException as error:
            raise Failed(error.message) from None
        lines = (edited or "").splitlines(keepends=True)
        while lines and lines[0].startswith("# "):
            del lines[0]
        return "".join(lines) if "".join(lines).strip() else ""

    # ---- the engine ----

    def look(self) -> Seen:
        query = {"reveal": "true"} if self.type == CONFIG else {}  # who stores a secret must have seen it
        response = self.client.call("GET", self.path, query=query)
        told = members(response.content) or {}
        owner = loads(told.get("owner", _NULL))
        if owner:
            raise Failed(f"{self.name} is owned by {owner['kind']}/{owner['name']}; edit that instead")
        return Seen(join_members(dict(_declared(self.type, told))), response.headers["etag"])

    def look_again(self, before: Seen) -> Seen:
        """Somebody changed it: say what, above the text that is to be stored on top of it."""
        now = self.look()
        changes = difflib.unified_diff(before.text.splitlines(), now.text.splitlines(), lineterm="", n=0)
        told = [line for line in changes if not line.startswith(("---", "+++", "@@"))]
        self.why = f"{self.name} was changed meanwhile"
        told = [
            f"{self.why}; what is stored from here replaces that (leave no text to give up):",
            *told,
        ]
        self.notes, self.is_refused = told, False
        return now

    def item(self, text: str) -> Item:
        """The one thing that the text declares. Raises ConfigError if it is another one than was opened."""
        source = Source(text.encode(), "edited.yaml", 0)
        documents = parse_documents(source.text, source.name)
        found = list(sourced(items(documents[0], self.type), source)) if len(documents) == 1 else []
        if len(found) != 1 or found[0].name != self.name:
            raise ConfigError(f"the text must declare {self.title}, and only that")
        return found[0]

    def send(self, seen: Seen, item: Item) -> str:
        body = join_members({**_CLEARED[self.type], **item.members})
        method, path = ("PUT", self.path_of_kind()) if self.type == KIND else ("POST", PATHS[self.type])
        response = self.client.call(method, path, body=body, headers={"if-match": seen.tag})
        return f"{self.title} {done(self.type, response.headers.get('x-apply-result', 'configured'))}"

    def path_of_kind(self) -> str:
        return f"{self.path.rsplit('/versions/', 1)[0]}/manifest"


def _declared(what: str, told: dict[str, RawJson]) -> Iterator[tuple[str, RawJson]]:
    if what == KIND:
        yield from ((key, raw) for key, raw in told.items() if key != "manifest_version")
        return
    config = loads(told.get("provider_config", _NULL))
    if config:
        told["provider_config_ref"] = dumps(config["name"])
    for key in DECLARED[what]:
        raw = told.get(key, _NULL)
        if raw not in (b"null", b"{}") or key == "spec":
            yield key, raw
