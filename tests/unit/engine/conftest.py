"""A small world around a real engine: a clock that stands still, and workers that answer at once."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pytest

from stdworker.engine.reconcile import Engine, EngineOptions
from stdworker.engine.store.claims import Claim, Settlement, Want
from stdworker.engine.store.declarations import ApplyDocument
from stdworker.engine.store.records import EventRecord, ResourceFilter, ResourceRecord
from stdworker.errors import RequestError, Retry, TaskFailure
from stdworker.model.json_text import dumps
from stdworker.model.kind import KindVersion, Stage
from stdworker.model.outcome import ChildSpec, DepEdge, Outcome, ValueFlow
from stdworker.model.resource import Ref
from stdworker.testing.postgres import PostgresServer

BROKER = "broker"
ROUNDS_MAX = 2_000
EVENTS_KEEP = 20
WORK = ["status", "conditions"]
COMPOSE = ["children", "edges", "configs", "status", "conditions"]

Handler = Callable[[Claim], Any]


class FakeClock:
    """Time moves when the test says so."""

    def __init__(self) -> None:
        self.ms = 1_700_000_000_000

    def now_ms(self) -> int:
        return self.ms

    def monotonic(self) -> float:
        return self.ms / 1000

    def advance(self, seconds: float) -> None:
        self.ms += int(seconds * 1000)


def reaction(name: str, trigger: str, emits: list[str], **more: Any) -> dict[str, Any]:
    return {"name": name, "trigger": trigger, "emits": emits, **more}


class World:
    """Calls of the engine made synchronous, with the words that the rules are told in."""

    def __init__(self, runner: asyncio.Runner, url: str, clock: FakeClock, **options: Any) -> None:
        self._runner = runner
        self._url = url
        self._options = EngineOptions(**{"events_keep": EVENTS_KEEP, **options})
        self.clock = clock
        self.handlers: dict[tuple[str, str], Handler] = {}
        self.pairs: list[KindVersion] = []
        self.open()

    def do(self, call: Any) -> Any:
        return self._runner.run(call) if asyncio.iscoroutine(call) else call

    def write(self, statement: str, **parameters: Any) -> None:
        """Change the store behind the engine's back."""
        connection = self.engine._database.connect()
        connection.begin()
        connection.run(statement, **parameters)
        connection.commit()
        connection.close()

    def open(self) -> None:
        """Open an engine on the store."""
        self.engine = self.do(Engine.open(self._url, self._options, clock=self.clock))

    def close(self) -> None:
        self.do(self.engine.close())

    # ---- kinds ----

    def kind(self, name: str, *reactions: dict[str, Any], version: int = 1, **more: Any) -> None:
        document = {"kind": name, "kind_version": version, "reactions": list(reactions), **more}
        self.do(self.engine.publish_kind(document, "test", force=True))
        if KindVersion(name, version) not in self.pairs:
            self.pairs.append(KindVersion(name, version))

    def leaf(self, name: str = "leaf", **more: Any) -> None:
        self.kind(name, reaction("make", "specChange", WORK), **more)

    def composite(self, name: str = "group", *more: dict[str, Any], **policy: Any) -> None:
        """A kind whose resources own what their spec lists: children [name, spec], edges [from, to, flows]."""
        self.kind(name, reaction("plan", "specChange", COMPOSE), *more, **policy)
        self.handlers[name, Stage.COMPOSE] = compose_from_spec

    def on(self, kind: str, handler: Handler, stage: Stage = Stage.WORK) -> None:
        self.handlers[kind, stage] = handler

    # ---- resources ----

    def apply(self, kind: str, name: str, spec: Any = None, *, version: int = 1, **more: Any) -> ResourceRecord:
        document = ApplyDocument(kind, version, name, dumps(spec) if spec is not None else None, **more)
        [done] = self.do(self.engine.apply([document], "test"))
        if isinstance(done, RequestError):
            raise done
        self.result = done.result
        return done.resource

    def group(self, name: str, *children: Any, edges: Any = (), kind: str = "group") -> ResourceRecord:
        return self.apply(kind, name, {"children": list(children), "edges": list(edges)})

    def get(self, ref: str) -> ResourceRecord:
        return self.do(self.engine.get(self.ref(ref)))

    def phase(self, ref: str) -> str:
        return str(self.get(ref).phase)

    def condition(self, ref: str, name: str) -> Any:
        return next(c for c in self.get(ref).conditions if c.type == name)

    def exists(self, ref: str) -> bool:
        kind, name = ref.split("/")
        return any(record.name == name for record in self.find(kinds=[kind], name=name))

    def find(self, **where: Any) -> list[ResourceRecord]:
        return list(self.do(self.engine.find(ResourceFilter(**where), limit=1000)).items)

    def again(self, ref: str) -> None:
        self.do(self.engine.reconcile(self.ref(ref), "test"))

    def operate(self, ref: str, verb: str, value: Any = None) -> str:
        """Ask for an operation; its uid."""
        given = dumps(value) if value is not None else None
        uid: str = self.do(self.engine.operate(self.ref(ref), verb, given, "someone")).uid
        return uid

    def operation(self, ref: str, uid: str) -> Any:
        return self.do(self.engine.operation(self.ref(ref), uid))

    def delete(self, ref: str, **more: Any) -> None:
        self.do(self.engine.delete(self.ref(ref), "test", **more))
        self.rest()

    def events(self, ref: str | None = None) -> list[EventRecord]:
        return self.do(self.engine.events(self.ref(ref) if ref else None, limit=1000))

    @staticmethod
    def ref(text: str) -> Ref:
        return Ref(*text.split("/", 1))

    # ---- work ----

    def claim(self, credit: int = 100, *, broker: str = BROKER, pairs: list[KindVersion] | None = None) -> list[Claim]:
        wants = [Want(pair, credit, "worker") for pair in pairs or self.pairs]
        return self.do(self.engine.claim(wants, broker))

    def claim_one(self) -> Claim:
        [claim] = self.claim()
        return claim

    def settle(self, claim: Claim, outcome: Outcome | None = None, **failure: Any) -> bool:
        settlement = Settlement(claim.lease, claim.stage, outcome or Outcome(), **failure)
        [landed] = self.do(self.engine.settle([settlement]))
        self.rest()
        return landed

    def answer(self, claim: Claim) -> bool:
        """Settle a claim as its kind's handler says; without one it succeeds."""
        handler = self.handlers.get((claim.pair.kind, claim.stage), lambda _: Outcome())
        try:
            return self.settle(claim, handler(claim))
        except TaskFailure as failure:
            after = failure.after if isinstance(failure, Retry) else None
            return self.settle(
                claim,
                Outcome(status=failure.status),
                error=str(failure),
                reason=failure.reason,
                terminal=failure.terminal,
                released=failure.released,
                retry_after_ms=int((after or 0) * 1000),
            )

    def rest(self) -> None:
        """Wait until the engine has looked at all that its commits left to be looked at.

        On Postgres another of its writers may be at a sweep, which `follow_up` then passes over.
        """
        for _ in range(ROUNDS_MAX):
            self.do(self.engine.follow_up())
            if not self.do(self.engine.read(lambda db: db.fetch("SELECT 1 FROM sweeps"))):
                return
        raise AssertionError("sweeps are never through")

    def work(self) -> list[str]:
        """Answer everything that can run now, until nothing can; says what ran: `stage kind/name`."""
        ran: list[str] = []
        self.rest()
        for _ in range(ROUNDS_MAX):
            claims = self.claim()
            if not claims:
                return ran
            for claim in claims:
                ran.append(f"{claim.stage} {claim.resource.ref}")
                self.answer(claim)
        raise AssertionError(f"the engine doesn't come to rest: {ran[-10:]}")


def compose_from_spec(claim: Claim) -> Outcome:
    spec = claim.resource.spec or {}
    children = []
    for name, *rest in spec.get("children", []):
        kind, _, short = name.partition("/")
        children.append(ChildSpec(kind, 1, short, rest[0] if rest else {}))
    edges = [
        DepEdge(World.ref(dependent), World.ref(dependency), [ValueFlow(*flow) for flow in (flows[0] if flows else [])])
        for dependent, dependency, *flows in spec.get("edges", [])
    ]
    return Outcome(children=children, edges=edges)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The tests of a module that says `STORES = "both"` run on SQLite and on Postgres."""
    if "world" in metafunc.fixturenames and getattr(metafunc.module, "STORES", "") == "both":
        stores = ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)]
        metafunc.parametrize("store", stores, indirect=True)


@pytest.fixture
def store(request: pytest.FixtureRequest) -> str:
    """The URL of the database of `world`."""
    url: str = request.getfixturevalue(f"{getattr(request, 'param', 'sqlite')}_url")
    return url


@contextmanager
def open_world(url: str, clock: FakeClock, **options: Any) -> Iterator[World]:
    with asyncio.Runner() as runner:
        world = World(runner, url, clock, **options)
        yield world
        world.close()


@pytest.fixture
def world(store: str, clock: FakeClock) -> Iterator[World]:
    with open_world(store, clock) as world:
        yield world


@pytest.fixture
def new_world(request: pytest.FixtureRequest, migrated_file: Path) -> Callable[..., AbstractContextManager[World]]:
    """Makes worlds, each on a database of its own, on `sqlite` or `postgres`, for tests that need many."""

    @contextmanager
    def sqlite() -> Iterator[str]:
        with tempfile.TemporaryDirectory() as folder:
            yield f"sqlite:///{shutil.copy(migrated_file, folder)}"

    def postgres() -> AbstractContextManager[str]:
        server: PostgresServer = request.getfixturevalue("postgres")
        return server.database(request.getfixturevalue("migrated_database"))

    @contextmanager
    def make(store: str = "sqlite", **options: Any) -> Iterator[World]:
        with (
            postgres() if store == "postgres" else sqlite() as url,
            open_world(url, FakeClock(), **options) as world,
        ):
            yield world

    return make
