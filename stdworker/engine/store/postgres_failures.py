"""Why a Postgres failed: what to tell an operator, and which transactions are worth running again."""

from __future__ import annotations

import re

import psycopg
from psycopg import errors

from stdworker.engine.store.contract import Contended
from stdworker.engine.store.postgres_connection import STATEMENT_SECONDS, ConnectionLost
from stdworker.errors import StoreError, StoreUnavailable

_MISSING_DATABASE = re.compile('database "[^"]*" does not exist')
_OF_THE_STATEMENT = (errors.DeadlockDetected, errors.SerializationFailure, errors.ProgramLimitExceeded)
"""Errors of an operation that say nothing of the database itself."""
_RACES = (errors.SerializationFailure, errors.DeadlockDetected, errors.UniqueViolation, ConnectionLost, Contended)


def is_retryable(error: BaseException) -> bool:
    """Undone, and worth another try at once."""
    return isinstance(error, _RACES)


def explain(error: BaseException) -> StoreError:
    match error:
        case errors.LockNotAvailable():
            told = "the Postgres database is locked: another session holds what is needed and doesn't let go"
            hint = "look for it in pg_stat_activity: a migration, a backup, or someone's open transaction"
            return StoreUnavailable(told, hint=hint, code="store_locked")
        case errors.DiskFull():
            hint = "make room on the server; the engine goes on by itself"
            return StoreUnavailable("the disk of the Postgres server is full", hint=hint, code="store_full")
        case errors.ReadOnlySqlTransaction():
            hint = "let DATABASE_URL name the primary; of several hosts, ?target_session_attrs=read-write finds it"
            return StoreUnavailable("the Postgres database is read-only, as a replica is", hint=hint)
        case errors.QueryCanceled():
            return StoreError(f"a statement took longer than {STATEMENT_SECONDS} s and was ended")
        case errors.InsufficientPrivilege():
            hint = "let the role that DATABASE_URL names own its database"
            return StoreError(f"the Postgres role may not do what the engine needs: {_primary(error)}", hint=hint)
        case errors.DuplicateTable():
            hint = "give the engine an empty database of its own"
            return StoreError(f"the Postgres database is another program's: {_primary(error)}", hint=hint)
        case psycopg.OperationalError() if not isinstance(error, _OF_THE_STATEMENT):
            return StoreUnavailable(f"the Postgres database can't be used: {_one_line(error)}", hint=_hint(error))
    return StoreError(f"the Postgres database failed: {_one_line(error)}")


def _hint(error: BaseException) -> str:
    """What to do, where the reason alone doesn't say it. A refused connection has no SQLSTATE, only its text."""
    is_missing = _MISSING_DATABASE.search(str(error)) is not None
    return "create it empty, owned by the engine's role; the engine makes its tables" if is_missing else ""


def _primary(error: psycopg.Error) -> str:
    """What the server says, without the statement."""
    return error.diag.message_primary or _one_line(error)


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
