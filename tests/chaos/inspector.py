"""Looks at the store again and again while everything is broken around it, and remembers what it saw."""

from __future__ import annotations

import json
import threading
from contextlib import suppress

import psycopg

from stdworker.engine.store.contract import Connection
from stdworker.engine.store.opening import open_database
from stdworker.engine.store.rows import Node
from stdworker.errors import StoreError
from stdworker.testing import invariants
from stdworker.testing.invariants import Books

LOOK_SECONDS = 1.0
HANG_SECONDS = 60


class Inspector:
    """What it found wrong is in `faults`; the first ones say most."""

    def __init__(self, database_url: str) -> None:
        self._database = open_database(database_url)
        self._is_postgres = database_url.startswith("postgres")
        self._connection: Connection | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._nodes: dict[str, Node] = {}
        self._applied: dict[tuple[str, int], str] = {}
        self._last_event = 0
        self.looks = 0
        self.faults: list[str] = []

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(HANG_SECONDS)
        self._disconnect()

    def look(self) -> Books:
        """One look, with what is wrong added to the faults."""
        if self._connection is None:
            self._connection = self._database.connect(read_only=True)
        books = invariants.snapshot(self._connection, is_postgres=self._is_postgres)
        self.looks += 1
        self.faults += invariants.violations(books)
        self._compare(books)
        return books

    def _watch(self) -> None:
        while not self._stop.wait(LOOK_SECONDS):
            try:
                self.look()
            except (psycopg.OperationalError, StoreError):  # the database is the victim just now
                self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            with suppress(psycopg.Error):
                self._connection.close()
            self._connection = None

    def _compare(self, books: Books) -> None:
        """Nothing goes back, and what was applied once is not applied again."""
        if books.event_counter < self._last_event:
            self.faults.append(f"the events went back from {self._last_event} to {books.event_counter}")
        self._last_event = books.event_counter
        for node in books.nodes.values():
            before = self._nodes.get(node.uid)
            if before is not None and (node.generation, node.synced_gen) < (before.generation, before.synced_gen):
                self.faults.append(f"{node.ref} went back from generation {before.generation} to {node.generation}")
            if node.status is not None and node.worked_gen == node.generation:
                self._compare_application(node, json.loads(node.status).get("nonce"))
        self._nodes = {node.uid: node for node in books.nodes.values()}

    def _compare_application(self, node: Node, nonce: str | None) -> None:
        """Each run has a nonce of its own: a generation that succeeded keeps the one that was applied."""
        known = self._applied.setdefault((node.uid, node.generation), nonce or "")
        if nonce and known != nonce:
            self.faults.append(f"{node.ref} was applied twice at generation {node.generation}")
