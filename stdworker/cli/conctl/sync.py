"""`conctl sync`: make what the engine holds of an app what a folder says, and take away what it no longer says.

What belongs to an app is marked with the label `converge.sh/app`, on things of every type. Nothing else is ever
pruned, and nothing before everything was applied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import click

from stdworker.cli.conctl.apply import Applying, Results
from stdworker.cli.conctl.apps import APP_LABEL, labelled, labels_of
from stdworker.cli.conctl.arguments import path_of
from stdworker.cli.conctl.client import Client, Failed, Listing
from stdworker.cli.conctl.items import BINDING, CONFIG, KIND, RESOURCE, Item, titled
from stdworker.cli.conctl.output import doomed
from stdworker.cli.conctl.plan import Plan, Would
from stdworker.cli.conctl.scopes import Tree
from stdworker.cli.conctl.wait import wait_for
from stdworker.errors import ConfigError
from stdworker.model.json_text import loads

PRUNE_LABEL = "converge.sh/prune"
PRUNED_IN_ORDER = (RESOURCE, BINDING, CONFIG, KIND)  # what uses another goes first
PRECONDITION = 412
GONE = 404
RACES_MAX = 8  # of a thing that changes between being looked at and being deleted


class Left(NamedTuple):
    """What an app has in the engine and no file declares."""

    type: str
    name: str
    app: str
    seen: Mapping[str, Any]

    @property
    def path(self) -> str:
        return path_of(self.type, self.name)

    @property
    def labels(self) -> Mapping[str, str]:
        return self.seen.get("labels") or {}

    @property
    def is_kept(self) -> bool:
        return bool(self.labels.get(PRUNE_LABEL) == "false")

    @property
    def is_going(self) -> bool:
        return bool(self.seen.get("phase") == "Deleting")

    @property
    def title(self) -> str:
        return titled(self.type, self.name)


@dataclass(slots=True)
class Sync:
    """One run. `failures` counts what could not be applied or pruned."""

    client: Client
    tree: Tree
    results: Results
    dry_run: bool = False
    failures: int = 0
    taken_over: dict[tuple[str, str], str] = field(default_factory=dict)
    forgotten: set[str] = field(default_factory=set)
    """Apps that something declared here belongs to, though no converge.yaml above its file says so any more."""

    def apply(self) -> None:
        applying = Applying(self.client, self.dry_run, on_result=self._told)
        applying.send(self._labelled())
        self.failures = applying.failures

    def _labelled(self) -> list[Item]:
        """The items with the label of their app, beside those labels that they have or keep."""
        plan = {item.identity: would for item, would in Plan(self.client).ask([item for item, _ in self.tree.items])}
        self.forgotten = {
            named
            for item, app in self.tree.items
            if app is None and (named := labels_of(plan[item.identity].before).get(APP_LABEL))
        }
        return [self._with_label(item, app, plan[item.identity]) if app else item for item, app in self.tree.items]

    def _with_label(self, item: Item, app: str, would: Would) -> Item:
        if would.after is None:
            return item  # what is wrong with it is told when it is applied
        if labels_of(item.body).get(APP_LABEL, app) != app:
            raise ConfigError(f"{item.where}: its label {APP_LABEL} is not that of its folder, {app}")
        before = labels_of(would.before).get(APP_LABEL, app)
        if before != app:
            self.taken_over[item.identity] = before
        return labelled(item, {**labels_of(would.after), APP_LABEL: app})

    def _told(self, item: Item, result: str, more: Mapping[str, Any], sentence: str) -> None:
        if item.identity in self.taken_over:
            sentence = f"{sentence}\n  taken over from app {self.taken_over[item.identity]}"
        self.results.tell(item.type, item.name, result, more, sentence)

    # ---- what is no longer declared ----

    def left(self) -> list[Left]:
        """What the apps of the tree have in the engine although nothing in the tree declares it."""
        declared = {item.identity for item, _ in self.tree.items}
        found = [left for app in self.tree.apps for left in _belongings(self.client, app)]
        return [left for left in found if (left.type, left.name) not in declared]

    def prune(self, found: Sequence[Left]) -> None:
        """Take away what is left, what uses another first; a kind goes when its resources are gone."""
        for left in found:
            if left.is_kept and not left.is_going:
                self.results.tell(left.type, left.name, "kept", {}, f"{left.title} kept: {PRUNE_LABEL} is false")
        going = [left for left in found if not left.is_kept or left.is_going]
        resources = [left for left in going if left.type == RESOURCE]
        for sort in PRUNED_IN_ORDER:
            chosen = [left for left in going if left.type == sort]
            if sort != RESOURCE and chosen and (self.failures or not self._are_gone(resources)):
                self._put_off(chosen)
                continue
            for left in chosen:
                if not left.is_going:
                    self._prune_one(left, going)

    def _prune_one(self, left: Left, going: Sequence[Left]) -> None:
        try:
            also = _would_delete(self.client, left, going) if self.dry_run else _delete(self.client, left)
        except Failed as error:
            if not error.status:
                raise
            self.failures += 1
            click.echo(f"{left.title}: not pruned: {error.message}", err=True)
        else:
            self.results.tell(left.type, left.name, "pruned", {}, f"{left.title} {self._would('pruned')}{also}")

    def _would(self, done: str) -> str:
        return f"would be {done}" if self.dry_run else done

    def _are_gone(self, resources: Sequence[Left]) -> bool:
        """Wait for the end of what needs its config and its kind until then, and whose end reactors may be told."""
        names = [left.name for left in resources]
        if self.dry_run or not names:
            return True
        limit = self.client.connection.timeout_seconds
        complaints = wait_for(self.client, names, "deleted", limit, quietly=True)
        for complaint in complaints:
            click.echo(complaint, err=True)
        return not complaints

    def _put_off(self, kept: Sequence[Left]) -> None:
        self.failures += len(kept)
        for left in kept:
            click.echo(f"{left.title}: not pruned before what is told above is gone; sync again then", err=True)


def _belongings(client: Client, app: str) -> Iterator[Left]:
    """All that carries the app's label and that nobody owns who would bring it back."""
    for item in Listing(client, "/resources", "resources", {"label": f"{APP_LABEL}:{app}"}).all():
        resource = loads(item)
        if resource["owner"] is None:
            yield Left(RESOURCE, f"{resource['kind']}/{resource['name']}", app, resource)
    for item in Listing(client, "/providerconfigs", "providerconfigs", {}).all():
        config = loads(item)
        if config["owner"] is None and config["labels"].get(APP_LABEL) == app:
            yield Left(CONFIG, config["name"], app, config)
    for item in Listing(client, "/reactor-bindings", "reactor_bindings", {}).all():
        binding = loads(item)
        if binding["labels"].get(APP_LABEL) == app:
            yield Left(BINDING, binding["name"], app, binding)
    for item in Listing(client, "/kinds/manifests", "manifests", {}).all():
        manifest = loads(item)
        if manifest.get("labels", {}).get(APP_LABEL) == app:
            yield Left(KIND, f"{manifest['kind']}@{manifest['kind_version']}", app, manifest)


def _delete(client: Client, left: Left) -> str:
    """Delete it if it is the app's at that very moment; says what goes with it."""
    for _ in range(RACES_MAX):
        try:
            response = client.call("GET", left.path)
            now = left._replace(seen=loads(response.content))
            if now.is_kept or now.labels.get(APP_LABEL) != left.app or now.seen.get("owner"):
                raise Failed(f"it is no longer a thing of app {left.app} to prune", PRECONDITION)
            answer = client.call("DELETE", left.path, headers={"if-match": response.headers["etag"]})
        except Failed as error:
            if error.status == GONE:
                return ""
            if error.status != PRECONDITION or error.problem is None:
                raise
        else:
            return doomed(loads(answer.content))
    raise Failed("it changes all the time", PRECONDITION)


def _would_delete(client: Client, left: Left, going: Sequence[Left]) -> str:
    """Says what would go with it, or without it. Raises Failed for what stands against it."""
    if left.type != RESOURCE:
        others_stay = _refuse_used(client, left, going)
        is_missed = others_stay and left.seen.get("is_default")
        return doomed({"without_default": f"{left.seen['kind']}@{left.seen['kind_version']}"} if is_missed else {})
    try:
        return doomed(loads(client.call("DELETE", left.path, query={"dryRun": "true"}).content))
    except Failed as error:
        if error.status == GONE:
            return ""
        raise


def _refuse_used(client: Client, left: Left, going: Sequence[Left]) -> bool:
    """What the engine would say of a kind or a config that something which stays uses. Raises Failed.

    Are there resources of the kind of a config that stay and don't name it?
    """
    others_stay = False
    if left.type == BINDING:
        return others_stay
    pruned = {other.name for other in going if other.type == RESOURCE}
    pair = {"kv": f"{left.seen['kind']}/v{left.seen['kind_version']}"}
    for item in Listing(client, "/resources", "resources", pair).all():
        resource = loads(item)
        if _goes(resource, pruned):
            continue
        if left.type == KIND or _config_of(resource) == left.name:
            raise Failed(f"{resource['kind']}/{resource['name']} uses it", 409)
        others_stay = True
    return others_stay


def _goes(resource: Mapping[str, Any], pruned: set[str]) -> bool:
    """Is it pruned, or below something that is?"""
    names = [resource, resource["root"] or resource]
    return any(f"{ref['kind']}/{ref['name']}" in pruned for ref in names)


def _config_of(resource: Mapping[str, Any]) -> str | None:
    config = resource["provider_config"]
    return config["name"] if config else None
