"""The config that a task gets, its pair's default and an override over it, judged before the task is handed out.

An override may leave out what the default brings, and a default may be edited under it: only the two together
can be held to the whole schema (decision 38).
"""

from __future__ import annotations

from stdworker.engine.reconcile.kinds import Kind
from stdworker.engine.reconcile.unit import UnitOfWork
from stdworker.engine.store import catalog
from stdworker.engine.store.rows import RECONCILE
from stdworker.engine.store.tasks import Ready
from stdworker.model.config import merge
from stdworker.model.json_text import loads

NAMED_MAX = 5


def problem(uow: UnitOfWork, kind: Kind, ready: Ready) -> str:
    """What is wrong with the config, "" if nothing. A teardown is tried with what there is."""
    if ready.config_spec is None or ready.task_type != RECONCILE or kind.config_schema.validator is None:
        return ""
    default = catalog.default_spec(uow.db, kind.pair)
    effective = merge(default.encode() if default is not None else None, ready.config_spec.encode())
    found = kind.config_schema.violations(loads(effective or b"null"))[:NAMED_MAX]
    told = "; ".join(f"{path or '/'}: {what}" for path, what in found)
    return f"the config, default and override together, breaks the config schema of {kind.pair}: {told}" if told else ""
