"""Provider configs: edited by people, or emitted by composers and owned by their composites."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from operator import attrgetter

from stdworker.engine.reconcile import documents, preconditions
from stdworker.engine.reconcile import labels as labels_of
from stdworker.engine.reconcile.kinds import Kind, Violations
from stdworker.engine.reconcile.rejected import Rejected
from stdworker.engine.reconcile.unit import Named, UnitOfWork
from stdworker.engine.store import catalog, lists, nodes
from stdworker.engine.store.claims import DefaultConfig
from stdworker.engine.store.contract import Connection
from stdworker.engine.store.declarations import ConfigDeclaration, Unset, given
from stdworker.engine.store.documents import from_text, to_text
from stdworker.engine.store.records import ConfigRecord, revision
from stdworker.engine.store.rows import ConfigRow, Node
from stdworker.errors import Conflict, Invalid, JsonError, NotFound
from stdworker.model.config import ProviderConfig, ProviderConfigSpec
from stdworker.model.json_text import RawJson, equal, loads
from stdworker.model.kind import KIND, RESOURCE_NAME, RESOURCE_NAME_RULE, KindVersion


def put(uow: UnitOfWork, document: ConfigDeclaration, requeue: bool = True) -> tuple[str, ConfigRecord]:
    """Create or edit a config; says which, or that nothing changed. `requeue`: what has it runs again.

    Raises Invalid, and Conflict for one that is another's, of another kind, a second default, or not the one seen.
    """
    name, pair = document.name, document.pair
    if not RESOURCE_NAME.fullmatch(name):
        raise Invalid(f"{name!r} is not a name", [("/name", RESOURCE_NAME_RULE)])
    known = catalog.config(uow.db, name)
    is_default = given(document.is_default, known.is_default if known else False)
    bundle = given(document.bundle, known.bundle if known else None)
    text = _text(document.spec, known)
    _check(_published(uow, pair), text, whole=is_default)
    preconditions.check(f"provider config {name}", _revision(known), document.only_if, only_new=document.only_new)
    labels = labels_of.kept(document.labels, known.labels if known else "{}")
    if known is not None:
        _check_editable(uow, known, pair)
        if known.wanted and _same(known, is_default, text, bundle):
            return _relabel(uow, known, labels), record(uow.db, known)
    if is_default:
        _check_only_default(uow, name, pair)
    row = ConfigRow(name, *pair, is_default, text, bundle or None, None, *_marks(uow, known), labels)
    catalog.save_config(uow.db, row)
    uow.audit(Named(pair.kind, name), "ConfigChanged" if known else "ConfigCreated", f"{name} for {pair}")
    spread(uow, row, was_default=known is not None and known.is_default, requeue=requeue)
    return "configured" if known else "created", record(uow.db, row)


def _text(spec: RawJson | Unset | None, known: ConfigRow | None) -> str | None:
    if isinstance(spec, Unset):
        return known.spec if known else None
    return to_text(spec)


def _relabel(uow: UnitOfWork, row: ConfigRow, labels: str) -> str:
    """Labels concern nobody's work."""
    if labels == row.labels:
        return "unchanged"
    row.labels, row.updated_at = labels, _changed_at(uow, row)
    catalog.save_config(uow.db, row)
    uow.audit(Named(row.kind, row.name), "ConfigLabelsChanged", f"{row.name} for {row.pair}")
    return "configured"


def _revision(row: ConfigRow | None) -> str | None:
    return revision(row.name, row.updated_at) if row is not None else None


def _marks(uow: UnitOfWork, known: ConfigRow | None) -> tuple[int, int, int]:
    """How often it was changed, when it was made and when it was changed last."""
    return (known.revision + 1, known.created_at, _changed_at(uow, known)) if known else (1, uow.now_ms, uow.now_ms)


def _changed_at(uow: UnitOfWork, row: ConfigRow) -> int:
    return max(uow.now_ms, row.updated_at + 1)  # tells any two states apart


def remove(uow: UnitOfWork, name: str, only_if: Sequence[str] | None = None) -> KindVersion | None:
    """The kind version that it was the default of, if there are resources of that, which have none now.

    Raises NotFound, and Conflict for one that is owned, used, or another than `only_if` asks for.
    """
    known = existing(uow.db, name)
    preconditions.check(f"provider config {name}", _revision(known), only_if)
    _check_editable(uow, known, known.pair)
    users = nodes.on_config(uow.db, name, 0, 1)
    if users:
        user = lists.refs(uow.db, users)[users[0]]
        raise Conflict(f"the provider config {name} is used by {user}", hint="detach it there first")
    catalog.remove_config(uow.db, name)
    uow.audit(Named(known.pair.kind, name), "ConfigDeleted", f"{name} for {known.pair}")
    if not known.is_default:
        return None
    spread(uow, known, was_default=True)
    return known.pair if nodes.of_pair(uow.db, *known.pair, 0, 1) else None


def reveal(uow: UnitOfWork, name: str) -> ConfigRecord:
    """The config for someone who is shown its secrets, which is recorded."""
    known = existing(uow.db, name)
    uow.audit(Named(known.pair.kind, name), "ConfigRevealed", f"{name} for {known.pair}")
    return record(uow.db, known)


def spread(uow: UnitOfWork, row: ConfigRow, *, was_default: bool, requeue: bool = True) -> None:
    """Push a default to its workers, and have everything that a config concerns run again, bit by bit."""
    subjects = [f"config:{row.name}"]
    if row.is_default or was_default:
        catalog.bump_default(uow.db, row.pair)
        uow.hint("config", row.pair)
        subjects.append(f"pair:{row.pair}")
    for subject in subjects if requeue else ():
        uow.sweep(subject)


def existing(db: Connection, name: str) -> ConfigRow:
    """Raises NotFound."""
    row = catalog.config(db, name)
    if row is None:
        raise NotFound(f"there is no provider config {name}")
    return row


def record(db: Connection, row: ConfigRow) -> ConfigRecord:
    """A config as it is shown, with its secrets."""
    owner = lists.refs(db, [row.owner_id]).get(row.owner_id) if row.owner_id is not None else None
    spec = from_text(row.spec)
    labels = loads(row.labels.encode())
    return ConfigRecord(
        row.name,
        row.pair,
        row.is_default,
        spec,
        row.bundle,
        owner,
        row.created_at,
        row.updated_at,
        labels,
    )


def default(db: Connection, pair: KindVersion, revision: int) -> DefaultConfig:
    """The default of a pair, an empty one where there is none."""
    row = catalog.default_config(db, pair)
    if row is None:
        return DefaultConfig(pair, ProviderConfig(), revision)
    spec = from_text(row.spec)
    return DefaultConfig(pair, ProviderConfig(spec, row.bundle), revision)


# ---- what composers emit ----


def check_emitted(uow: UnitOfWork, owner: Node, emitted: Sequence[ProviderConfigSpec]) -> dict[str, KindVersion]:
    """The emitted configs by name. Raises Rejected."""
    pairs: dict[str, KindVersion] = {}
    problems: list[str] = []
    for config in emitted:
        pair = KindVersion(config.kind, config.kind_version)
        kind = uow.kinds.get(pair)
        if not KIND.fullmatch(config.kind) or not RESOURCE_NAME.fullmatch(config.name):
            raise Rejected("InvalidConfigs", [f"the config {config.name!r} for {config.kind!r} has no legal name"])
        if kind is None:
            raise Rejected("UnknownKind", [f"{pair} is not published"], [f"kind:{pair}"])
        if config.name in pairs:
            problems.append(f"the config {config.name} is emitted twice")
        try:
            found = _violations(kind, emitted_text(config), whole=False)
            problems += [f"the config {config.name}: {path or '/'}: {what}" for path, what in found]
        except JsonError as error:
            problems.append(str(error))
        pairs[config.name] = pair
    others = [row for row in catalog.configs_named(uow.db, pairs) if row.owner_id != owner.id]
    problems += [f"the config {row.name} exists and is not owned by {owner.ref}" for row in others if row.wanted]
    if problems:
        raise Rejected("InvalidConfigs", problems)
    if going := [row.name for row in others if row.owner_id is not None]:
        told = "another composite emits it no more, but something still refers to it"
        raise Rejected("ConfigInUse", [f"the config {name} can't be taken yet: {told}" for name in going], passes=True)
    return pairs


def emitted_text(config: ProviderConfigSpec) -> str | None:
    """The spec of an emitted config as it is stored. Raises JsonError."""
    return None if config.spec is None else documents.storable(config.spec, f"the config {config.name}")


def pairs_of(uow: UnitOfWork, names: Collection[str], *, going: int | None = None) -> dict[str, KindVersion]:
    """What the configs of these names are for; those that the composite `going` owns are about to be pruned."""
    found = catalog.configs_named(uow.db, names)
    return {row.name: row.pair for row in found if row.owner_id is None or row.owner_id != going}


def replace_owned(uow: UnitOfWork, owner: Node, emitted: Sequence[ProviderConfigSpec]) -> None:
    """Make the composite's configs what its composer emitted; the others stay while something refers to them.

    What a composite left behind that is gone is nobody's: it belongs to whoever emits it. Written in the order of
    names: composers that emit the same new ones at the same time wait there.
    """
    names = {config.name for config in emitted}
    known = {row.name: row for row in catalog.configs_named(uow.db, names)}
    for config in sorted(emitted, key=attrgetter("name")):
        old = known.get(config.name)
        text, pair = emitted_text(config), KindVersion(config.kind, config.kind_version)
        row = ConfigRow(config.name, *pair, False, text, None, owner.id, *_marks(uow, old))
        if old is None:
            catalog.add_config(uow.db, row)
        elif old.pair == pair and _same(old, False, text, old.bundle):
            _take_back(uow, owner, old)
        else:
            catalog.save_config(uow.db, row)
            spread(uow, row, was_default=False)
    gone = [row.name for row in catalog.configs_owned(uow.db, owner.id) if row.wanted and row.name not in names]
    if gone:
        catalog.unwant_configs(uow.db, gone)
        uow.closing.configs.update(gone)


def _take_back(uow: UnitOfWork, owner: Node, row: ConfigRow) -> None:
    if not row.wanted:
        row.wanted, row.owner_id = True, owner.id
        catalog.save_config(uow.db, row)


# ---- checks ----


def _published(uow: UnitOfWork, pair: KindVersion) -> Kind:
    kind = uow.kinds.get(pair)
    if kind is None:
        raise Invalid(f"the kind {pair} is not published", [("/kind", f"{pair} is not published")], code="unknown_kind")
    return kind


def _check(kind: Kind, text: str | None, *, whole: bool) -> None:
    found = _violations(kind, text, whole=whole)
    if found:
        raise Invalid(f"the config breaks the config schema of {kind.pair}", [("/spec" + at, why) for at, why in found])


def _violations(kind: Kind, text: str | None, *, whole: bool) -> Violations:
    """Overrides may leave out what the default brings: what is required is judged for a default alone."""
    if text is None:
        return []
    return kind.config_schema.violations(loads(text.encode()), ignore_required=not whole)


def _same(row: ConfigRow, is_default: bool, text: str | None, bundle: bytes | None) -> bool:
    old = row.spec.encode() if row.spec is not None else None
    new = text.encode() if text is not None else None
    return row.is_default == is_default and equal(old, new) and (row.bundle or None) == (bundle or None)


def _check_editable(uow: UnitOfWork, row: ConfigRow, pair: KindVersion) -> None:
    if row.owner_id is not None:
        owner = lists.refs(uow.db, [row.owner_id]).get(row.owner_id)
        raise Conflict(f"the provider config {row.name} is owned by {owner}", hint="change it there")
    if row.pair != pair:
        raise Conflict(f"the provider config {row.name} is for {row.pair}, not {pair}", hint="choose another name")


def _check_only_default(uow: UnitOfWork, name: str, pair: KindVersion) -> None:
    other = catalog.default_config(uow.db, pair)
    if other is not None and other.name != name:
        raise Conflict(f"{pair} has a default config already: {other.name}", hint="edit or delete that one")
