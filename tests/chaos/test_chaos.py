"""Everything that can break breaks, in an order that a seed chooses, under 5,000 resources that are edited meanwhile.

Each accident happens once in an order that CHAOS_SEED chooses, and so on for CHAOS_SECONDS; then a connection may also
be lost without either side hearing of it, which takes a while to notice. What happens is printed as it does.
"""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from stdworker.testing.postgres import PostgresServer
from tests.chaos.cluster import LEAVES, SHELF, Cluster
from tests.chaos.inspector import Inspector
from tests.chaos.proxy import Proxy
from tests.conftest import Disk

SEED = int(os.environ.get("CHAOS_SEED", "1"))
SECONDS = float(os.environ.get("CHAOS_SECONDS", "0"))
STACKS = int(os.environ.get("CHAOS_STACKS", "100"))
STACK_RESOURCES = 1 + LEAVES + 1 + 1 + SHELF
CONVERGE_SECONDS_MAX = 240
PAUSE_SECONDS = 0.2, 0.8
STANDSTILL_SECONDS = 0.5, 5.5  # some longer than leases live
SLOW_SECONDS = 0.05
HOUR_SECONDS = 3_600
DISK_MIB = 384
EDITED, DELETED = 8, 2

pytestmark = pytest.mark.slow


class Chaos:
    """Breaks a cluster, and plays the people who use it meanwhile."""

    def __init__(
        self, cluster: Cluster, dice: random.Random, database: PostgresServer | None, disk: Disk | None
    ) -> None:
        self.cluster = cluster
        self.dice = dice
        self.database = database
        self.disk = disk
        self.wanted = {f"s{number}": 0 for number in range(STACKS)}
        self.edits = 0
        self._began = time.monotonic()

    # ---- people ----

    def apply(self, *names: str) -> None:
        for name in names:
            spec = {"n": self.wanted[name]}
            document = {"kind": "stack", "kind_version": 1, "name": name, "spec": spec}
            self.cluster.until(lambda document=document: self._is_applied(document), f"stack/{name} is applied")

    def _is_applied(self, document: dict) -> bool:
        """One that is being deleted is applied once it is gone."""
        answer = self.cluster.ask("POST", "/resources", json=document)
        assert answer.status_code in (200, 201, 409), answer.text
        return answer.status_code != 409

    def edit(self) -> None:
        names = self.dice.sample(sorted(self.wanted), EDITED)
        self.tell(f"edits {', '.join(names)}")
        self.edits += 1
        for name in names:
            self.wanted[name] = self.edits
        self.apply(*names)

    def delete(self) -> None:
        names = self.dice.sample(sorted(self.wanted), DELETED)
        self.tell(f"deletes {', '.join(names)}")
        for name in names:
            del self.wanted[name]
            answer = self.cluster.ask("DELETE", f"/resources/stack/{name}")
            assert answer.status_code in (200, 404), answer.text

    # ---- accidents ----

    def kill(self) -> None:
        member = self.dice.choice([*self.cluster.engines, *self.cluster.workers])
        self.tell(f"kill -9 {member.name}")
        member.end(signal.SIGKILL)
        self.pause()
        member.start()

    def kill_a_program(self) -> None:
        programs = self.cluster.running_programs()
        if programs:
            self.tell("kill -9 a program")
            os.kill(self.dice.choice(programs), signal.SIGKILL)

    def stand_still(self) -> None:
        member = self.dice.choice([*self.cluster.engines, *self.cluster.workers])
        self.tell(f"SIGSTOP {member.name}")
        member.signal(signal.SIGSTOP)
        self.pause(*STANDSTILL_SECONDS)
        self.tell(f"SIGCONT {member.name}")
        member.signal(signal.SIGCONT)

    def restart(self) -> None:
        """Every process in order, one after the other."""
        for member in (*self.cluster.engines, *self.cluster.workers):
            self.tell(f"restart {member.name}")
            status = member.end(signal.SIGTERM)
            assert status == 0, f"{member.name} ended with {status}\n{member.tail()}"
            member.start()
            self.pause()

    def cut_a_network(self) -> None:
        self._network("cut").cut()

    def half_open_a_network(self) -> None:
        self._spoil("half open", Proxy.freeze)

    def slow_a_network(self) -> None:
        self._spoil("slow", lambda proxy: proxy.slow(SLOW_SECONDS))

    def strand_a_network(self) -> None:
        self._network("stranded").strand()

    def _spoil(self, how: str, spoil: Callable[[Proxy], None]) -> None:
        proxy = self._network(how)
        spoil(proxy)
        self.pause(*STANDSTILL_SECONDS)
        proxy.heal()

    def _network(self, how: str) -> Proxy:
        places = [("to a broker", proxy) for proxy in self.cluster.to_brokers]
        places += [("to the database", proxy) for proxy in self.cluster.to_database]
        where, proxy = self.dice.choice(places)
        self.tell(f"the network {where} is {how}")
        return proxy

    def set_a_clock(self) -> None:
        """An hour forward or back, and right again."""
        engine, ahead_seconds = self.dice.choice(self.cluster.engines), self.dice.choice((HOUR_SECONDS, -HOUR_SECONDS))
        self.tell(f"the clock of {engine.name} is set {ahead_seconds:+} s")
        self.cluster.set_clock(engine, ahead_seconds)
        self.pause(*STANDSTILL_SECONDS)
        self.tell(f"the clock of {engine.name} is set right")
        self.cluster.set_clock(engine, 0)

    def fill_the_disk(self) -> None:
        self.tell("the disk is full")
        self.disk.fill()
        self.pause(*STANDSTILL_SECONDS)
        self.tell("the disk has room again")
        self.disk.free()

    def crash_the_database(self) -> None:
        self.tell("the database crashes")
        self.database.restart()

    def freeze_the_database(self) -> None:
        self.tell("the database stands still")
        with self.database.frozen():
            self.pause(*STANDSTILL_SECONDS)

    def go_on(self, seconds: float) -> None:
        """Each accident once, and again and again until the time is over; people edit before each."""
        accidents: list[Callable[[], None]] = [
            *(self.delete, self.kill, self.kill, self.kill_a_program, self.stand_still, self.restart),
            *(self.cut_a_network, self.half_open_a_network, self.slow_a_network, self.set_a_clock),
        ]
        if self.disk is not None:
            accidents.append(self.fill_the_disk)
        if self.database is not None:
            accidents += [self.crash_the_database, self.freeze_the_database]
        if seconds:
            accidents.append(self.strand_a_network)
        end = time.monotonic() + seconds
        self._once_each(accidents)
        while time.monotonic() < end:
            self._once_each(accidents)

    def _once_each(self, accidents: list[Callable[[], None]]) -> None:
        for accident in self.dice.sample(accidents, len(accidents)):
            self.edit()
            self.pause()
            accident()

    def pause(self, least: float = PAUSE_SECONDS[0], most: float = PAUSE_SECONDS[1]) -> None:
        time.sleep(self.dice.uniform(least, most))

    def tell(self, what: str) -> None:
        print(f"{time.monotonic() - self._began:6.1f}s {what}", flush=True)


def small_disk(make_disk: Callable[[int], Disk]) -> Disk | None:
    """None, and that loudly, where it can't be made: all the rest can be broken all the same."""
    try:
        return make_disk(DISK_MIB)
    except pytest.skip.Exception as refused:
        print(refused)
        return None


@contextmanager
def inspected(database_url: str) -> Iterator[Inspector]:
    inspector = Inspector(database_url)
    inspector.start()
    try:
        yield inspector
    finally:
        inspector.stop()


@contextmanager
def closing(cluster: Cluster) -> Iterator[Cluster]:
    try:
        yield cluster
    finally:
        cluster.close()


@pytest.mark.timeout(SECONDS + CONVERGE_SECONDS_MAX + 120)
@pytest.mark.parametrize("store", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def test_whatever_breaks_everything_is_applied_once_and_comes_to_rest(store, tmp_path, request):
    print(f"\nCHAOS_SEED={SEED} CHAOS_SECONDS={SECONDS:g} CHAOS_STACKS={STACKS} on {store}")
    database = request.getfixturevalue("own_postgres") if store == "postgres" else None
    disk = None if database else small_disk(request.getfixturevalue("make_disk"))
    folder = disk.folder if disk else tmp_path
    url = database.create_database() if database else f"sqlite:///{folder}/converge.db"
    cluster = Cluster(tmp_path, url, engines=2 if database else 1)
    with closing(cluster):
        cluster.start()
        chaos = Chaos(cluster, random.Random(SEED), database, disk)
        with inspected(url) as inspector:
            chaos.apply(*chaos.wanted)
            chaos.go_on(SECONDS)
            chaos.tell("peace")
            resources = len(chaos.wanted) * STACK_RESOURCES
            cluster.until(lambda: cluster.phases() == {"Ready": resources}, f"{resources} Ready", CONVERGE_SECONDS_MAX)
            chaos.tell(f"{resources} resources are Ready")
        check(inspector, cluster, chaos)


def check(inspector: Inspector, cluster: Cluster, chaos: Chaos) -> None:
    """Nothing was wrong at any moment, nothing is left over, and what is stored is what was applied."""
    assert inspector.faults[:5] == []
    books = inspector.look()
    inspector.stop()
    assert inspector.faults[:5] == []
    assert (books.tasks, books.rechecks, books.opened) == ({}, set(), [])
    told = cluster.applications()
    ran = Counter((line["uid"], line["generation"]) for line in told if line["reaction"] == "make")
    again = sum(count - 1 for count in ran.values())
    chaos.tell(f"{len(told)} runs, {again} of them again, {inspector.looks} looks at the store")
    applied = {(line["uid"], line["nonce"]) for line in told}
    for node in books.nodes.values():
        check_resource(node, chaos.wanted, applied)


def check_resource(node, wanted, applied) -> None:
    status = json.loads(node.status)
    stack = node.name.partition("-")[0]
    assert status["n"] == wanted[stack], f"{node.ref} is at {status}, its stack at {wanted[stack]}"
    if node.kind in ("leaf", "disk"):
        assert (node.uid, status["nonce"]) in applied, f"{node.ref} has a status that nobody reported"
    if node.name in (f"{stack}-1", f"{stack}-2", f"{stack}-3", f"{stack}-d"):
        assert status["from"] == wanted[stack], f"{node.ref} ran with {status['from']}"
