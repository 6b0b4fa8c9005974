"""The tree that `conctl sync` reads: which files declare something, and which app each of them belongs to."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from stdworker.cli.conctl.items import SCOPE_FILE, Item, Source, items, ordered, read, skipped, sourced, type_of
from stdworker.errors import ConfigError
from stdworker.model.documents import SUFFIXES, Document, parse_documents
from stdworker.model.json_text import loads, members

APP = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_LIKE_OURS = ("kind_version", "spec", "default_config")  # a document with one of these is meant for us
_BEGINNINGS = {"type", "kind", "name", "labels", "description"}  # and one with nothing else may have been cut off


@dataclass(slots=True)
class Tree:
    """What a folder declares. `apps` has the folder of each app, `foreign` the documents that aren't ours."""

    items: list[tuple[Item, str | None]] = field(default_factory=list)
    apps: dict[str, Path] = field(default_factory=dict)
    foreign: list[str] = field(default_factory=list)


def read_tree(top: Path) -> Tree:
    """Raises ConfigError when a file can't be read as what it seems to be, or two declare the same thing."""
    if not top.is_dir():
        raise ConfigError(f"{top} is not a folder")
    _refuse_part_of_a_scope(top)
    tree = Tree()
    scopes: dict[Path, str] = {}
    for folder, names in _folders(top):
        if SCOPE_FILE in names:
            scopes[folder] = _app(folder / SCOPE_FILE)
            _add_app(tree, scopes[folder], folder)
        app = next((scopes[parent] for parent in (folder, *folder.parents) if parent in scopes), None)
        for path in (folder / name for name in names if name != SCOPE_FILE):
            _read_file(tree, path, app)
    _refuse_twice(tree)
    apps = {item.identity: app for item, app in tree.items}
    tree.items = [(item, apps[item.identity]) for item in ordered(item for item, _ in tree.items)]
    return tree


def _refuse_part_of_a_scope(top: Path) -> None:
    """A part of an app must not look like all of it: pruning would take the rest away."""
    for parent in top.resolve().parents:
        if not (top / SCOPE_FILE).exists() and (parent / SCOPE_FILE).is_file():
            raise ConfigError(f"{top} is a part of the app of {parent / SCOPE_FILE}", hint=f"sync {parent} instead")


def _folders(top: Path) -> Iterator[tuple[Path, list[str]]]:
    """Each folder with the names of its files that may be ours, parents first; links are followed.

    Raises ConfigError for a folder that is reached twice, and for a link that leads nowhere.
    """
    seen: dict[str, str] = {}
    for root, folders, names in os.walk(top, followlinks=True, onerror=_unreadable):
        real = os.path.realpath(root)
        if real in seen:
            raise ConfigError(f"{root} and {seen[real]} are the same folder", hint="remove the link")
        seen[real] = root
        folders[:] = sorted(name for name in folders if not skipped(name))
        yield Path(root), sorted(name for name in names if _may_be_ours(name))


def _unreadable(error: OSError) -> None:
    raise ConfigError(f"{error.filename} can't be read: {error.strerror}")


def _may_be_ours(name: str) -> bool:
    return not skipped(name) and Path(name).suffix.lower() in SUFFIXES


def _app(path: Path) -> str:
    documents = parse_documents(read(path), str(path))
    told = members(documents[0].raw) if len(documents) == 1 else None
    name = loads(told["app"]) if told is not None and list(told) == ["app"] else None
    if not isinstance(name, str) or not APP.fullmatch(name):
        raise ConfigError(f"{path}: expected one member, `app: NAME`, the name of 1-63 of A-Z a-z 0-9 . _ -")
    return name


def _add_app(tree: Tree, app: str, folder: Path) -> None:
    if app in tree.apps:
        places = " and ".join(str(place / SCOPE_FILE) for place in (tree.apps[app], folder))
        raise ConfigError(f"{places} both say app {app!r}; an app has one folder")
    tree.apps[app] = folder


def _read_file(tree: Tree, path: Path, app: str | None) -> None:
    if path.exists() and not path.is_file():  # a pipe would be waited for
        raise ConfigError(f"{path} is not a file")
    text = read(path)
    if not text.strip():
        raise ConfigError(f"{path} is empty", hint="remove it, if what it declared is to go")
    for number, document in enumerate(parse_documents(text, str(path))):
        _refuse_cut_off(document)
        if _is_foreign(document):
            tree.foreign.append(document.where)
        else:
            tree.items += [(item, app) for item in sourced(items(document), Source(text, str(path), number))]


def _refuse_cut_off(document: Document) -> None:
    """What a file declared whose end is missing must not look as if it were gone."""
    told = members(document.raw)
    if told is None:
        raise ConfigError(f"{document.where}: expected an object, got {bytes(document.raw[:40]).decode()}")
    if not type_of(told) and told.keys() <= _BEGINNINGS:
        found = f"has only {' and '.join(told)}" if told else "has no members"
        hint = "a resource has kind, kind_version, name and spec; move what isn't ours out of the folder"
        raise ConfigError(f"{document.where} {found}: is its end missing?", hint=hint)


def _is_foreign(document: Document) -> bool:
    """Neither one of ours nor one that was meant to be: what is only misspelt must not look as if it were gone."""
    told = members(document.raw) or {}
    if "apiVersion" in told:
        return True
    return not type_of(told) and not any(name in told for name in _LIKE_OURS)


def _refuse_twice(tree: Tree) -> None:
    seen: dict[tuple[str, str], str] = {}
    for item, _ in tree.items:
        if item.identity in seen:
            raise ConfigError(f"{seen[item.identity]} and {item.where} both declare the {item.title}")
        seen[item.identity] = item.where
