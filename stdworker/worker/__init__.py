"""The session with a broker, from the first dial to the last result."""

from stdworker.worker.lanes import TaskObserver
from stdworker.worker.options import WorkerOptions
from stdworker.worker.service import run_worker, serve

__all__ = ["TaskObserver", "WorkerOptions", "run_worker", "serve"]
