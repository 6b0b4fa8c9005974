"""What counts as asked for: the request itself, and nothing that the engine makes of it."""

from stdworker.engine.store.records import AuditFilter


def audit(world):
    page = world.do(world.engine.audit(AuditFilter()))
    return [(event.type, event.name) for event in reversed(page.items) if event.uid]


def test_children_come_change_and_go_without_an_entry_of_their_own(world):
    world.leaf()
    world.composite()
    for children in (["leaf/a", {"n": 1}], ["leaf/b", {}]), (["leaf/a", {"n": 2}],):
        world.apply("group", "g", {"children": children})
        world.work()
    assert "Deleted" in [event.type for event in world.events("leaf/b")]
    assert audit(world) == [("Created", "g"), ("SpecChanged", "g")]


def test_a_deletion_is_one_entry_whatever_goes_with_it(world):
    world.leaf()
    world.composite()
    world.apply("group", "g", {"children": [["leaf/a", {}], ["leaf/b", {}]]})
    world.work()
    world.delete("group/g")
    world.work()
    assert {str(event.ref) for event in world.events() if event.type == "Deleted"} == {"group/g", "leaf/a", "leaf/b"}
    assert audit(world) == [("Created", "g"), ("DeleteRequested", "g")]


def test_a_forced_deletion_is_one_entry_that_says_so(world):
    world.leaf()
    world.apply("leaf", "a")
    world.delete("leaf/a", force=True)
    assert audit(world) == [("Created", "a"), ("DeleteForced", "a")]
