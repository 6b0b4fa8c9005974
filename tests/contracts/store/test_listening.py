"""Hearing on Postgres what other engines announce."""

import threading

import psycopg
import pytest

from stdworker.engine.store import postgres as store
from stdworker.engine.store.postgres_connection import CHANNEL

HANG_SECONDS = 30

pytestmark = pytest.mark.postgres


def test_who_listens_hears_what_is_announced_and_stops_when_it_is_told(postgres_url, monkeypatch):
    monkeypatch.setattr(store, "LISTEN_CHECK_SECONDS", 3600.0)
    heard, listening, arrived = [], threading.Event(), threading.Event()

    def hear(message):
        heard.append(message)
        (arrived if message else listening).set()

    stop = store.PostgresDatabase(postgres_url).listen(hear)
    assert listening.wait(HANG_SECONDS)
    with psycopg.connect(postgres_url, autocommit=True) as db:
        db.execute(f"NOTIFY {CHANNEL}, 'news'")
    assert arrived.wait(HANG_SECONDS)
    stopping = threading.Thread(target=stop, daemon=True)
    stopping.start()
    stopping.join(HANG_SECONDS)
    assert not stopping.is_alive()
    assert heard == [None, "news"]
    stop()  # as an engine that is closed twice does


def test_what_is_announced_while_it_looks_whether_the_server_is_there_is_heard(postgres_url, monkeypatch):
    monkeypatch.setattr(store, "LISTEN_CHECK_SECONDS", 0.0)
    heard, arrived = [], threading.Event()

    def hear(message):
        heard.append(message)
        if len(heard) == 101:
            arrived.set()

    stop = store.PostgresDatabase(postgres_url).listen(hear)
    with psycopg.connect(postgres_url, autocommit=True) as db:
        while not heard:
            db.execute("SELECT 1")
        for number in range(100):
            db.execute(f"NOTIFY {CHANNEL}, '{number}'")
    assert arrived.wait(HANG_SECONDS)
    stop()
    assert heard == [None, *map(str, range(100))]
