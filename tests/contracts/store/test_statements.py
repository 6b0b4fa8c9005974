"""What the verbs of the store promise, on every store."""

import itertools
from operator import attrgetter

import pytest

from stdworker.engine.reconcile import neighbourhood, state
from stdworker.engine.reconcile.closing import Closing
from stdworker.engine.store import catalog, edges, events, lists, nodes, postgres_connection, revisions, tasks
from stdworker.engine.store.postgres_connection import PostgresConnection
from stdworker.engine.store.records import ResourceFilter
from stdworker.engine.store.rows import (
    DELETE,
    NODE_COLUMNS,
    NODE_STABLE,
    NODE_STATE,
    NODE_VOLATILE,
    RECONCILE,
    ConfigRow,
    EdgeRow,
    KindRow,
    Node,
    RevisionRow,
    TaskRow,
    task_id,
    task_ids,
)
from stdworker.engine.store.schema import FOREVER_MS
from stdworker.model.kind import KindVersion, Phase
from stdworker.model.resource import Ref

LEAF = KindVersion("leaf")


def add(db, *names, **members):
    fresh = []
    for name, number in zip(names, db.next_ids(len(names)), strict=True):
        node = Node(number, f"uid-{number}", "leaf", name, None, None, 1, 1, None, spec="{}")
        for member, value in members.items():
            setattr(node, member, value)
        fresh.append(node)
    nodes.add(db, fresh)
    return fresh


def queue(db, node, position=1, **members):
    row = TaskRow(task_id(node.id, RECONCILE), node.id, node.kind, node.kind_version, position, reasons=1, **members)
    tasks.save(db, [row])
    return row


def members(row, names=()):
    return {name: getattr(row, name) for name in names or type(row).__slots__}


def test_a_commit_says_whether_it_has_stored_anything(db):
    catalog.revision(db)
    assert not db.commit()
    db.begin()
    add(db, "a")
    assert db.commit()
    db.begin()
    assert not db.commit()


def test_a_resource_comes_back_as_it_was_stored(db):
    [node] = add(
        db,
        "a",
        owner_id=7,
        labels='{"a":"é"}',
        status='{"big":123456789012345678901234567890}',
        flowed="{}",
        frozen_until=FOREVER_MS,
        health_ok=False,
        failure_message='it\'s "bad" : % \\',
    )
    [found] = nodes.lock_named(db, [Ref("leaf", "a")])
    assert members(found, NODE_COLUMNS) == members(node, NODE_COLUMNS)


@pytest.mark.parametrize(
    "text", ["", "plain", 'it\'s "bad" : % \\', "two\nlines\t\x01", "é 漢 😀", "\u2028", "[1,2]", "null"]
)
def test_the_state_of_a_resource_comes_back_as_it_was_stored_without_its_documents(db, text):
    [node] = add(db, "a", owner_id=7, frozen_until=FOREVER_MS, health_ok=False, failure_message=text, gate_message=text)
    [found] = nodes.lock(db, [node.id, node.id + 1])
    assert members(found, NODE_STATE) == members(node, NODE_STATE)
    assert nodes.lock(db, [node.id + 1]) == []


@pytest.mark.parametrize("count", [1, 15, 16, 17, 63, 64, 65, 150])
def test_any_number_of_rows_is_written_each_with_its_own_values(db, count):
    added = add(db, *(f"n{i}" for i in range(count)), status="1")
    for i, node in enumerate(added):
        node.synced_gen, node.failure_message, node.status = i, f"m{i}", f"[{i}]" if i % 3 else None
    nodes.save_state(db, added)
    found = nodes.lock(db, [node.id for node in added], whole=True)
    assert [(node.synced_gen, node.failure_message, node.status) for node in found] == [
        (i, f"m{i}", f"[{i}]" if i % 3 else "1") for i in range(count)
    ]


@pytest.mark.parametrize("name", [*NODE_VOLATILE, *NODE_STABLE])
def test_each_part_of_the_state_is_saved_when_it_changes_and_again_when_it_changes_back(db, name):
    [node] = add(db, "a")
    [loaded] = nodes.lock(db, [node.id])
    before = getattr(loaded, name)
    for value in (("x" if isinstance(before, str) else not before if isinstance(before, bool) else 7), before):
        setattr(loaded, name, value)
        nodes.save_state(db, [loaded])
        [found] = nodes.lock(db, [node.id])
        assert getattr(found, name) == value


def test_rows_that_carry_too_much_for_one_statement_are_written_by_several(db, monkeypatch):
    sent = []
    execute = PostgresConnection._execute

    def spied(self, statement, rows, parameters):
        sent.append(len(parameters.get("rows", "")))
        return execute(self, statement, rows, parameters)

    monkeypatch.setattr(postgres_connection, "ROWS_BYTES_MAX", 5_000)
    monkeypatch.setattr(PostgresConnection, "_execute", spied)
    added = add(db, *"abcdefg", status=f'"{"x" * 1_000}"')
    assert max(sent, default=0) <= 5_000
    assert len(nodes.lock(db, [node.id for node in added])) == 7


def test_saving_state_leaves_documents_alone_and_a_status_of_none_too(db):
    [node] = add(db, "a", status='{"x":1}', spec='{"s":1}')
    [lean] = nodes.lock(db, [node.id])
    lean.generation = 5
    nodes.save_state(db, [lean])
    [found] = nodes.lock(db, [node.id], whole=True)
    assert (found.generation, found.status, found.spec) == (5, '{"x":1}', '{"s":1}')


def test_the_derived_phase_is_the_phase_of_the_decisions(db):
    choices = {
        "deletion_requested_at": (None, 5),
        "frozen_until": (None, 5, FOREVER_MS),
        "failure_gen": (0, 1, 2),
        "synced_gen": (1, 2),
        "unsettled": (0, 1),
        "due": (0, 2),
        "health_ok": (True, False),
        "unready": (0, 3),
    }
    combinations = [dict(zip(choices, values, strict=True)) for values in itertools.product(*choices.values())]
    expected = {}
    for i, combination in enumerate(combinations):
        [node] = add(db, f"n{i}", generation=2, **combination)
        expected[node.id] = str(state.phase(node))
    stored = dict(db.fetch("SELECT id, phase FROM resources"))
    assert stored == expected
    assert set(expected.values()) == {str(phase) for phase in Phase}


def test_locks_are_taken_in_the_order_of_ids(db):
    a, b, c = add(db, "a", "b", "c")
    assert [n.id for n in nodes.lock(db, [c.id, a.id, b.id, 999])] == [a.id, b.id, c.id]


def test_labels_are_replaced_and_found(db):
    a, b = add(db, "a", "b")
    nodes.save_labels(db, [(a.id, {"x": "1", "y": "2"}), (b.id, {"x": "1"})])
    nodes.save_labels(db, [(a.id, {"x": "3"})])
    assert [s.node.name for s in lists.find(db, ResourceFilter(labels={"x": "1"}), 9, None)] == ["b"]
    assert lists.find(db, ResourceFilter(labels={"y": "2"}), 9, None) == []


@pytest.mark.parametrize(
    ("where", "names"),
    [
        ({"kinds": ["leaf"]}, "dcba"),
        ({"kinds": ["leaf", "none"]}, "dcba"),
        ({"kinds": ["none"]}, ""),
        ({"pairs": [LEAF]}, "cba"),
        ({"pairs": [KindVersion("leaf", 2), LEAF]}, "dcba"),
        ({"pairs": [LEAF], "kinds": ["leaf"]}, "cba"),
        ({"pairs": [LEAF], "kinds": ["none"]}, ""),
        ({"kinds": ["leaf"], "roots_only": True}, "da"),
        ({"phases": [Phase.DELETING]}, "ca"),
        ({"phases": [Phase.DELETING, Phase.FAILED]}, "dca"),
        ({"kinds": ["leaf"], "phases": [Phase.FAILED]}, "d"),
        ({"owners": [Ref("leaf", "a")]}, "cb"),
        ({"owners": [Ref("leaf", "a")], "phases": [Phase.DELETING]}, "c"),
    ],
)
def test_pages_of_what_is_looked_for_come_newest_first(db, where, names):
    for version in (1, 2):
        catalog.save_kind(db, KindRow("leaf", version, "{}", 1, "{}", 1))
    [a] = add(db, "a", deletion_requested_at=1)
    add(db, "b", owner_id=a.id)
    add(db, "c", owner_id=a.id, deletion_requested_at=1)
    add(db, "d", failure_gen=1, kind_version=2)

    found, before = [], None
    while page := lists.find(db, ResourceFilter(**where), 1, before):
        found += [seen.node.name for seen in page]
        before = page[-1].node.id

    assert "".join(found) == names


def test_a_subtree_is_read_level_by_level_however_wide_it_is(db):
    (top,) = add(db, "top")
    wide = add(db, *(f"wide-{number}" for number in range(1_100)), owner_id=top.id, root_id=top.id)
    (deep,) = add(db, "deep", owner_id=wide[-1].id, root_id=top.id)
    whole = neighbourhood.beneath(db, Ref("leaf", "top"), 2_000, attrgetter("ref.name"))
    assert (whole.nodes, whole.is_cut) == ([node.name for node in (top, *wide, deep)], False)
    cut = neighbourhood.beneath(db, Ref("leaf", "top"), 3, attrgetter("ref.name"))
    assert (cut.nodes, cut.is_cut) == (["top", "wide-0", "wide-1"], True)


def test_a_queue_row_comes_back_as_it_was_stored(db):
    [node] = add(db, "a")
    row = queue(db, node, position=2**60, progress=0.5, progress_message="half", emitted='[["A"]]', heartbeat_at=3)
    [found] = tasks.lock(db, [row.id])
    assert members(found) == members(row)


def test_what_is_ready_is_neither_claimed_nor_held_nor_in_the_future_and_comes_in_order(db):
    made = add(db, "late", "first", "held", "claimed", "second", "future")
    for node, position in zip(made, (30, 10, 11, 12, 20, 99), strict=True):
        queue(db, node, position, held=node.name == "held", claimed_by="b" if node.name == "claimed" else None)
    ready = tasks.ready(db, [(LEAF, 10), (KindVersion("none"), 1)], 50)
    assert [row.name for row in ready] == ["first", "second", "late"]
    assert len(tasks.ready(db, [(LEAF, 2)], 50)) == 2
    assert tasks.have_ready(db, [LEAF, KindVersion("none")], 50) == [LEAF]
    assert tasks.have_ready(db, [LEAF], 5) == []


def test_a_claim_is_counted_attested_and_told_when_it_is_void(db):
    [node] = add(db, "a")
    row = queue(db, node)
    assert tasks.inflight(db, LEAF) == 0
    tasks.claim(db, [(row.id, "b", "w", "token", 1, "work", 1, 0, 5)])
    assert tasks.inflight(db, LEAF) == 1
    tasks.beat(db, [row.id], broker="c", worker="v", now=9)
    [found] = tasks.lock(db, [row.id])
    assert (found.claimed_by, found.worker, found.void_told) == ("c", "v", False)
    assert (found.claimed_at, found.heartbeat_at) == (5, 9)
    assert tasks.leases(db) == [(row.id, "token", 1, 9)]
    found.superseded = "newer"
    tasks.save(db, [found])
    assert tasks.take_void(db, "b") == []
    assert tasks.take_void(db, "c") == [("token", 1, "newer")]
    assert tasks.take_void(db, "c") == []


def test_removing_a_resource_removes_all_that_is_about_it(db):
    a, b = add(db, "a", "b")
    queue(db, a)
    nodes.save_labels(db, [(a.id, {"x": "1"})])
    edges.save(db, [EdgeRow(a.id, b.id, 9), EdgeRow(b.id, a.id, 9)])
    nodes.wait_for(db, [("kind:x@1", a.id)])
    revisions.save(db, [RevisionRow(a.id, 1, 1, "{}", "ada", 5), RevisionRow(b.id, 1, 1, "{}", "ada", 5)])
    nodes.remove(db, [a.id])
    assert nodes.lock(db, [a.id, b.id])[0].id == b.id
    assert tasks.lock(db, task_ids(a.id)) == nodes.stop_waiting(db, ["kind:x@1"]) == []
    assert edges.owned(db, 9) == [EdgeRow(b.id, a.id, 9)]  # b waits for it to be made again
    assert revisions.before(db, a.id, 9, 5) == []
    assert len(revisions.before(db, b.id, 9, 5)) == 1


def test_the_deletion_set_holds_what_is_owned_and_what_depends_circles_included(db):
    root, child, dependent, other = add(db, "root", "child", "dependent", "other")
    child.owner_id = root.id
    db.run("UPDATE resources SET owner_id = :owner WHERE id = :id", owner=root.id, id=child.id)
    edges.save(db, [EdgeRow(dependent.id, child.id, 9), EdgeRow(child.id, dependent.id, 9)])
    assert nodes.deletion_set(db, root.id) == [root.id, child.id, dependent.id]
    assert nodes.deletion_set(db, other.id) == [other.id]


def test_what_blocks_a_removal_is_a_child_or_a_dependent_that_is_deleted_too(db):
    a, b, c = add(db, "a", "b", "c", deletion_requested_at=5)
    edges.save(db, [EdgeRow(b.id, a.id, 9)])
    db.run("UPDATE resources SET owner_id = :owner WHERE id = :id", owner=b.id, id=c.id)
    assert nodes.unblocked(db, [a.id, b.id, c.id]) == [c.id]


def test_rechecks_come_gates_first_and_bounded_until_they_are_done(db):
    edges.recheck(db, [(edges.GATE, 5), (edges.REMOVAL, 2)])
    edges.save(db, [EdgeRow(7, 1, 9), EdgeRow(8, 1, 9)])
    edges.recheck(db, [(edges.SOURCE, 1)], dependents_of=[1])
    first = [(edges.GATE, 5), (edges.GATE, 7), (edges.GATE, 8)]
    assert edges.take_rechecks(db, 3) == edges.take_rechecks(db, 3) == first
    edges.end_rechecks(db, first)
    assert edges.take_rechecks(db, 9) == [(edges.SOURCE, 1), (edges.REMOVAL, 2)]


def test_a_recheck_that_is_asked_for_again_while_it_is_done_stays(db):
    edges.save(db, [EdgeRow(7, 1, 9), EdgeRow(8, 2, 9)])
    asked = [(edges.GATE, 7), (edges.GATE, 8), (edges.SOURCE, 1)]
    edges.recheck(db, asked)
    Closing(rechecks={(edges.SOURCE, 1)}, rechecked={*asked}).write(db)
    assert edges.take_rechecks(db, 9) == [(edges.GATE, 7), (edges.SOURCE, 1)]


def test_events_have_a_sequence_without_gaps_and_the_oldest_are_pruned(db):
    row = events.EventRow("leaf", "a", "u", "Created", "", "", "me", "{}", 10)
    other = row._replace(name=None, kind=None, uid=None)
    events.add(db, [row, other])
    events.add(db, [row._replace(created_at=20)])
    assert [seq for seq, _ in events.read(db, None, 0, 9)] == [1, 2, 3]
    assert [seq for seq, _ in events.read(db, Ref("leaf", "a"), 1, 9)] == [3]
    assert events.prune(db, 2, 0, 10) == 1
    assert events.prune(db, 2, 15, 10) == 1
    assert [seq for seq, _ in events.read(db, None, 0, 9)] == [3]


def test_a_catalog_has_a_revision_that_rises_with_kinds_and_defaults(db):
    before = catalog.revision(db)
    catalog.save_kind(db, KindRow("leaf", 1, "{}", 2**62, "{}", 5))
    catalog.bump_default(db, LEAF)
    catalog.bump_default(db, LEAF)
    assert catalog.revision(db) == before + 3
    assert catalog.default_revisions(db) == {LEAF: 2}
    assert catalog.kinds(db) == [KindRow("leaf", 1, "{}", 2**62, "{}", 5)]
    assert catalog.pairs(db) == [LEAF]


def test_a_config_comes_back_as_it_was_stored_bytes_too(db):
    row = ConfigRow("c", "leaf", 1, True, '{"a":1.0}', b"\x00\xff", None, 1, 2, 3)
    catalog.save_config(db, row)
    assert catalog.config(db, "c") == catalog.default_config(db, LEAF) == row
    assert [c.name for c in catalog.list_configs(db, LEAF, "", 9)] == ["c"]
    assert catalog.list_configs(db, None, "c", 9) == []
    [node] = add(db, "a", provider_config=None)
    node.provider_config = "c"
    nodes.save_documents(db, [node])
    queue(db, node)
    [ready] = tasks.ready(db, [(LEAF, 1)], 9)
    assert (ready.config_spec, bytes(ready.config_bundle)) == ('{"a":1.0}', b"\x00\xff")
    assert nodes.on_config(db, "c", 0, 9) == [node.id]


def test_a_pair_has_one_default(db):
    catalog.save_config(db, ConfigRow("c", "leaf", 1, True, None, None, None, 1, 2, 3))
    with pytest.raises(Exception, match=r"(?i)unique"):
        catalog.save_config(db, ConfigRow("d", "leaf", 1, True, None, None, None, 1, 2, 3))


def test_counts_of_phases_add_up(db):
    catalog.count_phases(db, [("leaf", "Ready", 2), ("leaf", "Failed", 1)])
    catalog.count_phases(db, [("leaf", "Ready", -1), ("leaf", "Failed", -1)])
    assert list(catalog.phase_counts(db)) == [("leaf", "Ready", 1)]


def test_a_sweep_moves_on_and_ends(db):
    catalog.start_sweep(db, "pair:leaf@1")
    assert catalog.next_sweep(db) == ("pair:leaf@1", 0)
    catalog.move_sweep(db, "pair:leaf@1", 0, 500)
    assert catalog.next_sweep(db) == ("pair:leaf@1", 500)
    catalog.start_sweep(db, "pair:leaf@1")
    assert catalog.next_sweep(db) == ("pair:leaf@1", 0)
    catalog.move_sweep(db, "pair:leaf@1", 0, None)
    assert catalog.next_sweep(db) is None


@pytest.mark.parametrize("end", [1_000, None])
def test_a_sweep_that_is_asked_for_anew_begins_again_however_far_it_had_come(db, end):
    catalog.start_sweep(db, "pair:leaf@1")
    catalog.move_sweep(db, "pair:leaf@1", 0, 500)
    catalog.start_sweep(db, "pair:leaf@1")
    catalog.move_sweep(db, "pair:leaf@1", 500, end)
    assert catalog.next_sweep(db) == ("pair:leaf@1", 0)


def test_a_reader_sees_the_task_of_a_resource_that_counts_now(db):
    [node] = add(db, "a")
    queue(db, node)
    seen = lists.get(db, Ref("leaf", "a"))
    assert seen is not None
    assert seen.task is not None
    assert seen.task.task_type == RECONCILE
    node.deletion_requested_at = 5
    nodes.save_state(db, [node])
    tasks.save(db, [TaskRow(task_id(node.id, DELETE), node.id, "leaf", 1, 1)])
    seen = lists.get(db, Ref("leaf", "a"))
    assert seen is not None
    assert seen.task is not None
    assert seen.task.task_type == DELETE


def test_observed_children_and_descendants_come_as_handlers_see_them(db):
    root, child, grandchild = add(db, "root", "child", "grandchild")
    for node, owner in ((child, root), (grandchild, child)):
        db.run("UPDATE resources SET owner_id = :o, root_id = :r WHERE id = :i", o=owner.id, r=root.id, i=node.id)
    assert [row.name for row in lists.observed(db, root.id, deep=False)] == ["child"]
    deep = lists.observed(db, root.id, deep=True)
    assert [(row.name, row.owner_uid, row.root_uid) for row in deep] == [
        ("child", root.uid, root.uid),
        ("grandchild", child.uid, root.uid),
    ]
