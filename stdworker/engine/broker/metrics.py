"""What the broker counts."""

from __future__ import annotations

from prometheus_client import Counter, Gauge

STREAMS = Gauge("converge_worker_streams", "Worker streams that are open.")
TASKS = Counter("converge_tasks_sent", "Tasks handed to workers.")
RESULTS = Counter(
    "converge_results", "Results from workers; a stale one came too late and changed nothing.", ["landed"]
)
LANDED = RESULTS.labels("yes")
STALE = RESULTS.labels("stale")
LOST = Counter("converge_worker_streams_lost", "Worker streams that ended without a goodbye.")
