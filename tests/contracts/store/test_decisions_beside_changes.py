"""On Postgres: what is decided by a kind, a config or a name holds also where somebody changes it at that moment."""

from __future__ import annotations

import pytest

from stdworker.engine.reconcile import verbs
from stdworker.engine.reconcile.flush import flush
from stdworker.engine.reconcile.kinds import Kinds
from stdworker.engine.reconcile.positions import Positions
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.settings import EngineOptions
from stdworker.engine.store import catalog
from stdworker.engine.store.claims import Settlement, Want
from stdworker.engine.store.declarations import ApplyDocument, BindingDeclaration, ConfigDeclaration, KindDeclaration
from stdworker.engine.store.postgres import PostgresDatabase
from stdworker.engine.store.rows import ConfigRow
from stdworker.errors import Conflict, Invalid
from stdworker.model.config import ProviderConfigSpec
from stdworker.model.kind import KindVersion, Stage
from stdworker.model.outcome import ChildSpec, Outcome
from stdworker.model.resource import Ref

pytestmark = pytest.mark.postgres

MAKE = {"name": "make", "trigger": "specChange", "emits": ["status"]}
PLAN = {"name": "plan", "trigger": "specChange", "emits": ["children", "configs", "status"]}
HEAR = {"name": "hear", "trigger": "reactor", "emits": ["sideEffect"]}
LEAF, GROUP, EAR = KindVersion("leaf"), KindVersion("group"), KindVersion("ear")
REACTIONS = {LEAF: MAKE, GROUP: PLAN, EAR: HEAR}
BOUND = BindingDeclaration("tell", "leaf", "created", "ear")


def manifest(pair):
    return {"kind": pair.kind, "kind_version": pair.version, "reactions": [REACTIONS[pair]]}


def publishing(pair):
    return ("ada", KindDeclaration(manifest(pair)), None, True)


@pytest.fixture
def database(postgres_url):
    return PostgresDatabase(postgres_url)


@pytest.fixture
def engine(transact):
    """Verbs on a database with the kind group."""
    transact(verbs.PUBLISH_KIND, publishing(GROUP))
    return transact


def hold(connection, verb, *arguments):
    """Do it in a transaction that stays open."""
    connection.begin()
    uow = UnitOfWork(connection, Kinds.read(connection), 0, Positions(), EngineOptions())
    answers = verb.run(uow, arguments)
    flush(uow)
    uow.closing.write(connection)
    return answers


def document(kind="leaf", **more):
    return ("ada", [ApplyDocument(kind, 1, "a", **more)])


def composed(engine, outcome):
    """The result of a composer that runs."""
    engine(verbs.APPLY, document("group"))
    [[claim]] = engine(verbs.CLAIM, ("broker", [Want(GROUP, 1, "worker")]))
    return [Settlement(claim.lease, Stage.COMPOSE, outcome)]


@pytest.fixture
def connection(database):
    opened = database.connect()
    yield opened
    opened.close()


def test_a_composer_that_misses_a_kind_is_run_again_when_that_is_published_while_it_is_rejected(
    engine, connection, beside
):
    result = composed(engine, Outcome(children=[ChildSpec("leaf", 1, "b", {})]))
    assert hold(connection, verbs.SETTLE, result) == [[True]]
    published = beside(lambda db: engine(verbs.PUBLISH_KIND, publishing(LEAF), on=db))
    connection.commit()
    assert published.ended()[0][0] == "created"
    [[claim]] = engine(verbs.CLAIM, ("broker", [Want(GROUP, 1, "worker")]))
    assert engine(verbs.SETTLE, [Settlement(claim.lease, Stage.COMPOSE, result[0].outcome)]) == [[True]]
    assert connection.fetch("SELECT name FROM resources WHERE kind = 'leaf'") == [("b",)]


CONFIG = ("ada", ConfigDeclaration("c", LEAF, bundle=b"1"))


@pytest.mark.parametrize(
    ("before", "held", "change", "refused"),
    [
        ((verbs.PUT_CONFIG, CONFIG), document(provider_config_ref="c"), (verbs.DELETE_CONFIG, "c"), "is used by"),
        (None, document(), (verbs.DELETE_KIND, LEAF), "has resources"),
        ((verbs.PUT_BINDING, ("ada", BOUND)), document(), (verbs.DELETE_KIND, EAR), "has not taken yet"),
    ],
    ids=["config", "kind", "reactor"],
)
def test_what_is_taken_away_waits_for_who_is_about_to_refer_to_it(
    engine, connection, beside, before, held, change, refused
):
    for pair in (LEAF, EAR):
        engine(verbs.PUBLISH_KIND, publishing(pair))
    if before:
        engine(*before)
    hold(connection, verbs.APPLY, held)
    if before and before[0] is verbs.PUT_BINDING:
        connection.run("DELETE FROM reactor_bindings")
        catalog.changed(connection)
    verb, name = change
    taken = beside(lambda db: engine(verb, ("ada", name), on=db))
    connection.commit()
    with pytest.raises(Conflict, match=refused):
        taken.ended()


def test_who_would_refer_to_what_is_being_taken_away_waits_and_is_refused(engine, connection, beside):
    engine(verbs.PUBLISH_KIND, publishing(LEAF))
    engine(verbs.PUT_CONFIG, CONFIG)
    connection.begin(exclusive=True)
    catalog.remove_config(connection, "c")
    applied = beside(lambda db: engine(verbs.APPLY, document(provider_config_ref="c"), on=db))
    connection.commit()
    [[refused]] = applied.ended()
    assert isinstance(refused, Invalid)
    assert "does not exist" in str(refused)


@pytest.fixture
def left(connection):
    """A config that its composer emits no more."""
    connection.begin()
    catalog.add_config(connection, ConfigRow("x", "leaf", 1, False, None, None, 99, 1, 0, 0, wanted=False))
    connection.commit()


def drop(db):
    db.begin()
    catalog.drop_configs(db, ["x"])
    db.commit()


REFERRING = Outcome(children=[ChildSpec("leaf", 1, "b", {}, provider_config_ref="x")])


def refer(engine, how):
    """The verb, and with what, that has a resource refer to the config."""
    engine(verbs.PUBLISH_KIND, publishing(LEAF))
    if how == "apply":
        return verbs.APPLY, document(provider_config_ref="x")
    return verbs.SETTLE, composed(engine, REFERRING)


@pytest.mark.parametrize("how", ["apply", "compose"])
@pytest.mark.usefixtures("left")
def test_what_a_composer_left_behind_stays_when_somebody_refers_to_it_as_it_is_dropped(engine, connection, beside, how):
    hold(connection, *refer(engine, how))
    dropped = beside(drop)
    connection.commit()
    dropped.ended()
    assert connection.fetch("SELECT name FROM provider_configs") == [("x",)]
    assert connection.fetch("SELECT name FROM resources WHERE provider_config = 'x'")


@pytest.mark.parametrize("how", ["apply", "compose"])
@pytest.mark.usefixtures("left")
def test_nobody_refers_to_what_a_composer_left_behind_once_it_is_dropped(engine, connection, beside, how):
    verb, argument = refer(engine, how)
    connection.begin()
    catalog.drop_configs(connection, ["x"])
    referring = beside(lambda db: engine(verb, argument, on=db))
    connection.commit()
    [answer] = referring.ended()
    assert how == "compose" or "does not exist" in str(answer[0])
    assert connection.fetch("SELECT name FROM resources WHERE provider_config = 'x'") == []


def referring_elsewhere(engine, how):
    """The verb, and with what, that has a resource refer to y instead of to x."""
    verb, argument = refer(engine, how)
    assert engine(verb, argument)
    if how == "apply":
        return verb, document(provider_config_ref="y")
    engine(verbs.RECONCILE, ("ada", Ref("group", "a")))
    [[claim]] = engine(verbs.CLAIM, ("broker", [Want(GROUP, 1, "worker")]))
    children = [ChildSpec("leaf", 1, "b", {}, provider_config_ref="y")]
    return verb, [Settlement(claim.lease, Stage.COMPOSE, Outcome(children=children))]


@pytest.mark.parametrize("how", ["apply", "compose"])
@pytest.mark.usefixtures("left")
def test_the_config_that_loses_a_reference_and_the_one_that_gets_it_are_held_in_one_order(
    engine, connection, beside, how
):
    connection.begin()
    catalog.add_config(connection, ConfigRow("y", "leaf", 1, False, None, None, 99, 1, 0, 0))
    connection.commit()
    verb, argument = referring_elsewhere(engine, how)
    connection.begin()
    catalog.hold_configs(connection, ["x"], ())
    referring = beside(lambda db: engine(verb, argument, on=db))
    catalog.hold_configs(connection, ["y"], ())
    connection.commit()
    referring.ended()
    assert connection.fetch("SELECT name FROM resources WHERE provider_config = 'y'")


def test_of_two_that_emit_the_same_configs_at_once_one_has_them_and_the_other_is_told(engine, connection, beside):
    engine(verbs.PUBLISH_KIND, publishing(LEAF))
    result = composed(engine, Outcome(configs=[ProviderConfigSpec(name, "leaf", 1, {"v": 1}) for name in ("y", "x")]))
    connection.begin()
    for name in ("x", "y"):
        catalog.add_config(connection, ConfigRow(name, "leaf", 1, False, None, None, 99, 1, 0, 0))
        if name == "x":
            settled = beside(lambda db: engine(verbs.SETTLE, result, on=db))
    connection.commit()
    assert settled.ended() == [[True]]
    assert connection.fetch("SELECT name, owner_id FROM provider_configs ORDER BY name") == [("x", 99), ("y", 99)]
    assert connection.fetch("SELECT failure_reason FROM resources") == [("InvalidConfigs",)]


def test_of_two_that_take_what_a_composite_left_behind_at_once_one_has_it(engine, connection, beside):
    engine(verbs.PUBLISH_KIND, publishing(LEAF))
    result = composed(engine, Outcome(configs=[ProviderConfigSpec("x", "leaf", 1, {"v": 1})]))
    left = ConfigRow("x", "leaf", 1, False, None, None, None, 1, 0, 0, wanted=False)
    connection.begin()
    catalog.add_config(connection, left)
    connection.commit()
    connection.begin()
    left.owner_id, left.wanted = 99, True
    catalog.save_config(connection, left)
    settled = beside(lambda db: engine(verbs.SETTLE, result, on=db))
    connection.commit()
    assert settled.ended() == [[True]]
    assert connection.fetch("SELECT owner_id FROM provider_configs") == [(99,)]


def test_configs_of_all_composers_of_a_batch_are_held_in_one_order(engine, connection, beside):
    """The first of two in a batch emits what comes last, and both emit what is another's."""
    engine(verbs.PUBLISH_KIND, publishing(LEAF))
    engine(verbs.APPLY, ("ada", [ApplyDocument("group", 1, name) for name in "ab"]))
    [claims] = engine(verbs.CLAIM, ("broker", [Want(GROUP, 2, "worker")]))
    emitted = [Outcome(configs=[ProviderConfigSpec(name, "leaf", 1)]) for name in ("y", "x")]
    results = [Settlement(c.lease, Stage.COMPOSE, outcome) for c, outcome in zip(claims, emitted, strict=True)]
    connection.begin()
    for name in "xy":
        catalog.add_config(connection, ConfigRow(name, "leaf", 1, False, None, None, 99, 1, 0, 0))
    connection.commit()
    connection.begin()
    catalog.hold_configs(connection, ["x"], [])
    settled = beside(lambda db: engine(verbs.SETTLE, results, on=db))
    catalog.hold_configs(connection, ["y"], [])
    connection.commit()
    assert settled.ended() == [[True, True]]
