"""Reactors on every store: the outbox, its snapshots, and deliveries of engines that share it."""

from __future__ import annotations

import asyncio
from collections import Counter

from stdworker.engine.reconcile import Engine
from stdworker.engine.store import nodes, reactors, tasks
from stdworker.engine.store.claims import Settlement, Want
from stdworker.engine.store.declarations import ApplyDocument, BindingDeclaration
from stdworker.engine.store.rows import REACT, BindingRow, DeliveryRow, Node, TaskRow, task_id
from stdworker.model.json_text import RawJson
from stdworker.model.kind import KindVersion, Stage
from stdworker.model.outcome import Outcome
from stdworker.model.resource import Ref

LEAF, PAGER = KindVersion("leaf"), KindVersion("pager")
MAKE = {"name": "make", "trigger": "specChange", "emits": ["status"]}
TELL = {"name": "tell", "trigger": "reactor", "emits": ["sideEffect"]}
LATE = 1 << 60
RESOURCES = 30
HANG_SECONDS = 60


def resource(db, name, **members):
    [number] = db.next_ids(1)
    node = Node(
        number, f"uid-{number}", "leaf", name, members.pop("owner_id", None), members.pop("root_id", None), 1, 1, None
    )
    for member, value in members.items():
        setattr(node, member, value)
    nodes.add(db, [node])
    return node


def send(db, node, *, position=1, version=None, pair=PAGER):
    [number] = db.next_ids(1)
    reactors.send(db, [(number, node.id, "b", "synced", pair.kind, version, f"token-{number}", 7)])
    tasks.save(db, [TaskRow(task_id(number, REACT), number, *pair, position)])
    return number


def test_a_delivery_holds_the_resource_as_it_was_word_for_word(db):
    root = resource(db, "root")
    owner = resource(db, "owner", owner_id=root.id, root_id=root.id)
    spec, status = '{"big":123456789012345678901234567890,"t":"é: %s"}', '{"x":1.0}'
    state = {"generation": 3, "synced_gen": 3, "worked_gen": 3, "labels": '{"a":"b"}'}
    node = resource(db, "it", owner_id=owner.id, root_id=root.id, spec=spec, status=status, **state)
    sent = send(db, node, version=2)
    nodes.remove(db, [node.id])
    expected = DeliveryRow(
        sent, "b", "synced", "pager", 2, f"token-{sent}", 7, node.uid, "leaf", "it", 1, 3, 3, "Ready", '{"a":"b"}',
        owner.uid, root.uid, spec, status,
    )  # fmt: skip
    assert reactors.get(db, sent) == expected
    [ready] = reactors.ready(db, PAGER, 10, LATE)
    assert (ready.id, ready.delivery) == (task_id(sent, REACT), expected)


def test_deliveries_are_ready_in_the_order_of_their_places_and_go_with_them(db):
    node = resource(db, "it")
    second, first, later = (send(db, node, position=position) for position in (2, 1, LATE + 1))
    assert [row.delivery.id for row in reactors.ready(db, PAGER, 10, LATE)] == [first, second]
    assert [row.delivery.id for row in reactors.ready(db, PAGER, 1, LATE)] == [first]
    reactors.mark(db, second, 9, 4, "Why", "because")
    reactors.forget(db, [first, second])
    assert db.fetch("SELECT id FROM deliveries ORDER BY id") == [(second,), (later,)]
    assert [(row.id, row.dead_at, row.attempts, row.reason) for row in reactors.dead(db, LATE, 10)] == [
        (second, 9, 4, "Why")
    ]
    reactors.mark(db, second, None, 0, "", "")
    assert (reactors.dead_letter(db, second, lock=True), reactors.dead(db, LATE, 10)) == (None, [])
    assert reactors.get(db, later).dead_at is None


def test_what_waits_is_counted_to_a_bound_and_what_is_dead_beside_it(db):
    sent = [send(db, resource(db, f"r{n}")) for n in range(4)]
    reactors.mark(db, sent[0], 5, 1, "", "")
    assert reactors.counts(db, 10) == {"waiting": 3, "dead": 1}
    assert reactors.counts(db, 2) == {"waiting": 2, "dead": 1}


def test_tasks_of_resources_are_told_from_deliveries(db):
    node = resource(db, "it")
    tasks.save(db, [TaskRow(task_id(node.id, 0), node.id, *PAGER, 1)])
    assert not reactors.is_awaited(db, PAGER)
    sent = send(db, node, position=2)
    assert reactors.is_awaited(db, PAGER)
    assert [reactors.others_first(db, PAGER, limit, LATE) for limit in (1, 5)] == [1, 1]
    leased = [(task_id(i, t), "broker", "w", f"t{i}", 1, "react", 1, 0, 5) for i, t in ((sent, REACT), (node.id, 0))]
    tasks.claim(db, leased)
    assert reactors.is_awaited(db, PAGER)
    assert tasks.inflight(db, PAGER) == 1


def test_only_what_is_for_the_newest_version_moves_to_it(db):
    node = resource(db, "it")
    pinned, moving, running = send(db, node, version=1), send(db, node), send(db, node)
    tasks.claim(db, [(task_id(running, REACT), "broker", "w", "t", 1, "react", 1, 0, 5)])
    reactors.move(db, KindVersion("pager", 2))
    versions = {
        row.resource_id: row.kind_version
        for row in tasks.lock(db, [task_id(i, REACT) for i in (pinned, moving, running)])
    }
    assert versions == {pinned: 1, moving: 2, running: 1}


def test_bindings_come_back_as_they_were_stored_in_the_order_of_their_names(db):
    rows = [
        BindingRow(name, "leaf", version, "synced", "pager", version, "{}", on, 1, 2)
        for name, version, on in (("b", None, True), ("a", 3, False))
    ]
    for row in rows:
        reactors.save_binding(db, row)
    assert reactors.bindings(db) == reactors.bindings(db, "", 5) == rows[::-1]
    assert (reactors.bindings(db, "a", 5), reactors.binding(db, "a")) == (rows[:1], rows[1])
    reactors.remove_binding(db, "a")
    assert reactors.bindings(db) == rows[:1]


def test_dead_letters_beyond_the_number_kept_and_too_old_ones_are_pruned(db):
    node = resource(db, "it")
    ids = [send(db, node) for _ in range(5)]
    for at, one in enumerate(ids[:4]):
        reactors.mark(db, one, 10 + at, 1, "", "")
    assert reactors.prune(db, 10, 11, 100) == 1
    assert reactors.prune(db, 2, 0, 100) == 1
    assert [row.id for row in reactors.dead(db, LATE, 10)] == [ids[3], ids[2]]
    assert reactors.get(db, ids[4]).dead_at is None


def test_every_crossing_is_taken_once_by_engines_that_share_a_store(database_url):
    async def scenario() -> None:
        engines = [await Engine.open(database_url) for _ in range(2)]
        one, two = engines
        await one.publish_kind({"kind": "leaf", "kind_version": 1, "reactions": [MAKE]}, "test")
        await one.publish_kind({"kind": "pager", "kind_version": 1, "reactions": [TELL]}, "test")
        for transition in ("created", "synced", "deleted"):
            await two.put_binding(BindingDeclaration(transition, "leaf", transition, "pager"), "test")
        names = [f"l{n}" for n in range(RESOURCES)]
        heard: Counter[str] = Counter()

        async def work(engine: Engine) -> int:
            claims = await engine.claim([Want(pair, 7, "worker") for pair in (LEAF, PAGER)], "broker")
            heard.update(f"{c.transition} {c.resource.name}" for c in claims if c.stage is Stage.REACT)
            landed = await engine.settle([Settlement(c.lease, c.stage, Outcome()) for c in claims])
            assert all(landed)
            return len(claims)

        async def rest() -> None:
            idle = 0
            while idle < 3:
                found = await asyncio.gather(*(work(engine) for engine in engines))
                await one.follow_up()
                idle = 0 if any(found) else idle + 1

        documents = [ApplyDocument("leaf", 1, name, RawJson(b'{"n":1}'), labels={"a": "b"}) for name in names]
        await asyncio.gather(rest(), *(engine.apply(documents[i::2], "t") for i, engine in enumerate(engines)))
        await rest()
        await asyncio.gather(*(engines[i % 2].delete(Ref("leaf", name), "t") for i, name in enumerate(names)))
        await rest()
        assert heard == Counter(f"{t} {name}" for t in ("created", "synced", "deleted") for name in names)
        for engine in engines:
            await engine.close()

    async def bounded() -> None:
        async with asyncio.timeout(HANG_SECONDS):
            await scenario()

    asyncio.run(bounded())
