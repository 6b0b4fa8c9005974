"""Opening the engine on a database that can't give it what it needs."""

from __future__ import annotations

import asyncio
import threading

import psycopg
import pytest

from stdworker.engine.reconcile import Engine
from stdworker.errors import StoreUnavailable

END_SECONDS = 30.0


def _threads_that_stay() -> set[str]:
    """An end waits within a bound, beyond which the threads end by themselves."""
    found = [thread for thread in threading.enumerate() if thread.name.startswith("engine-")]
    for thread in found:
        thread.join(END_SECONDS)
    return {thread.name for thread in found if thread.is_alive()}


@pytest.mark.postgres
def test_an_engine_that_gets_too_few_connections_says_so_and_leaves_nothing_open(postgres):
    url = postgres.create_database()
    role = f"few_{url.rpartition('/')[2]}"
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(f"CREATE ROLE {role} LOGIN CONNECTION LIMIT 2")
        admin.execute(f"GRANT ALL ON SCHEMA public TO {role}")
        with pytest.raises(StoreUnavailable, match="too many connections"):
            asyncio.run(Engine.open(url.replace("postgres@", f"{role}@")))
    assert not _threads_that_stay()
