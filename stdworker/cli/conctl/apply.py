"""Applying what documents declare, and telling what became of each."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

import click

from stdworker.cli.conctl.client import NDJSON, Client, Failed
from stdworker.cli.conctl.items import BINDING, CONFIG, KIND, RESOURCE, Item, batches
from stdworker.cli.conctl.output import print_document
from stdworker.cli.conctl.plan import Plan, changes_of, explained
from stdworker.model.json_text import RawJson, ascii_line, dumps, join_elements, join_members, loads

CONFLICT = 409

PATHS = {RESOURCE: "/resources", CONFIG: "/providerconfigs", BINDING: "/reactor-bindings"}
"""Where each is declared, but for kinds, which have a path of their own."""

OnResult = Callable[["Item", str, Mapping[str, RawJson], str], None]


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
        if self.dry_run:
            self.plan(found)
            return
        for item in found:
            if item.type != RESOURCE:
                self.attempt(item)
        for batch in batches([item for item in found if item.type == RESOURCE]):
            self.send_batch(batch)

    def plan(self, found: Sequence[Item]) -> None:
        """Have the engine say what it would do, and change nothing."""
        for item, would in Plan(self.client, self.force).ask(found):
            if would.problem is not None:
                self.fail(item, explained(item, would.problem))
                continue
            changes = changes_of(would)
            told = "is unchanged" if would.result == "unchanged" else f"would be {done(item.type, would.result)}"
            lines = [f"{item.title} {told}", *(f"  {change.sentence}" for change in changes)]
            more = {"changes": join_elements([change.document for change in changes])}
            self.on_result(item, would.result, more, "\n".join(lines))

    def attempt(self, item: Item) -> None:
        try:
            if item.type == KIND:
                self.publish(item)
            else:
                self.put(item, PATHS[item.type])
        except Failed as error:
            if not error.status:
                raise
            self.fail(item, explained(item, error.problem) if error.problem else error.message)

    def publish(self, item: Item) -> None:
        path = f"/kinds/{quote(str(loads(item.members.get('kind', b'null'))), safe='')}/manifest"
        forced = ""
        try:
            response = self.client.call("PUT", path, body=item.body)
        except Failed as error:
            if not self.force or error.status != CONFLICT:
                raise
            response = self.client.call("PUT", path, query={"force": "true"}, body=item.body)
            forced = f" by force: {explained(item, error.problem) if error.problem else error.message}"
        result = response.headers.get("x-apply-result", "configured")
        self.on_result(item, result, {}, f"{item.title} {done(item.type, result)}{forced}")

    def put(self, item: Item, path: str) -> None:
        response = self.client.call("POST", path, body=item.body)
        result = response.headers.get("x-apply-result", "configured")
        self.on_result(item, result, {}, f"{item.title} {result}")

    def send_batch(self, batch: Sequence[Item]) -> None:
        body = b"\n".join(ascii_line(item.body) for item in batch)
        response = self.client.call("POST", "/resources/batch", body=body, media_type=NDJSON)
        for line in response.content.splitlines():
            told = loads(line)
            item = batch[told["line"] - 1]
            if told["result"] == "failed":
                self.fail(item, explained(item, told["problem"]))
            else:
                sentence = f"resource {item.name} {told['result']} (generation {told['generation']})"
                self.on_result(item, told["result"], {"generation": dumps(told["generation"])}, sentence)

    def fail(self, item: Item, message: str) -> None:
        self.failures += 1
        click.echo(f"{item.where}: {item.title}: {message}", err=True)


def done(what: str, result: str) -> str:
    """A kind is published, as new or again."""
    return "published" if what == KIND and result != "unchanged" else result


@dataclass(slots=True)
class Results:
    """What became of what was applied: told at once to people, in one document to machines."""

    form: str
    member: str = "applied"
    documents: list[RawJson] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)

    def add(self, item: Item, result: str, more: Mapping[str, RawJson], sentence: str) -> None:
        self.tell(item.type, item.name, result, more, sentence)

    def tell(self, what: str, name: str, result: str, more: Mapping[str, RawJson], sentence: str) -> None:
        if self.form == "table":
            click.echo(sentence)
        elif self.form == "name":
            click.echo(name)
        self.counts[result] = self.counts.get(result, 0) + 1
        told = {"type": dumps(what), "name": dumps(name), "result": dumps(result)}
        self.documents.append(join_members({**told, **more}))

    def show(self) -> None:
        if self.form in ("json", "yaml"):
            print_document(join_members({self.member: join_elements(self.documents)}), self.form)
