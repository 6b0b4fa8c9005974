"""What an error of Postgres means: an outage, or no more than a statement that failed."""

import psycopg
import pytest
from psycopg import errors

from stdworker.engine.store import postgres_failures
from stdworker.errors import StoreError, StoreUnavailable


@pytest.mark.parametrize("error", [errors.ProgramLimitExceeded, errors.DeadlockDetected])
def test_a_statement_that_was_too_large_or_lost_a_race_is_no_outage(error):
    assert type(postgres_failures.explain(error("it exceeds the maximum"))) is StoreError


def test_a_connection_that_is_refused_is_one():
    assert type(postgres_failures.explain(psycopg.OperationalError("connection refused"))) is StoreUnavailable
