"""What a worker counts, as plain numbers; Prometheus reads them when it asks."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields
from typing import Any, NamedTuple

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector, CollectorRegistry

from stdworker.model.kind import KindVersion
from stdworker.model.task import Result

BUCKETS_SECONDS = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0, 120.0, 600.0)
OUTCOMES = ("success", "transient", "terminal", "released")

_LABELS = ("kind", "version")


class Histogram:
    """Counts by bucket of BUCKETS_SECONDS, the last for what is longer."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts = [0] * (len(BUCKETS_SECONDS) + 1)
        self.total = 0.0

    def observe(self, seconds: float) -> None:
        self.counts[bisect_left(BUCKETS_SECONDS, seconds)] += 1
        self.total += seconds

    def cumulative(self) -> list[tuple[str, float]]:
        bounds = [*map(str, BUCKETS_SECONDS), "+Inf"]
        sums = [sum(self.counts[: index + 1]) for index in range(len(bounds))]
        return [(bound, float(count)) for bound, count in zip(bounds, sums, strict=True)]


class PairMetrics:
    """The counters of one pair."""

    __slots__ = ("in_flight", "outcomes", "seconds", "waits")

    def __init__(self) -> None:
        self.outcomes = dict.fromkeys(OUTCOMES, 0)
        self.seconds = Histogram()
        self.waits = Histogram()
        self.in_flight = 0

    def started(self, waited_seconds: float) -> None:
        self.in_flight += 1
        self.waits.observe(waited_seconds)

    def ended(self, result: Result, seconds: float) -> None:
        self.in_flight -= 1
        self.seconds.observe(seconds)
        self.outcomes[_outcome(result)] += 1


class KindReading(NamedTuple):
    """How a pair is now. `processes` and `breaker_open` are None for a provider that shows no programs."""

    pair: KindVersion
    ready: bool
    waiting: int
    processes: int | None = None
    breaker_open: bool | None = None


class Metrics(Collector):
    """All counters of a worker. `kinds`, `totals` and `gauges` are read when asked, `counters` are dataclasses of
    numbers that providers keep (`stdworker_program_…`), `extra` adds collectors of the caller.
    """

    def __init__(self, extra: Iterable[Collector] = (), counters: Iterable[Any] = ()) -> None:
        self.sessions = 0
        self.loop_lag_seconds = 0.0
        self.loop_blocked = 0
        self.kinds: Callable[[], Iterable[KindReading]] = tuple
        self.totals: dict[str, tuple[str, Callable[[], float]]] = {}
        self.gauges: dict[str, tuple[str, Callable[[], float]]] = {}
        self.registry = CollectorRegistry(auto_describe=False)
        self._counters = list({id(counted): counted for counted in counters}.values())
        self._pairs: dict[KindVersion, PairMetrics] = {}
        for collector in (self, *extra):
            self.registry.register(collector)

    def of(self, pair: KindVersion) -> PairMetrics:
        return self._pairs.setdefault(pair, PairMetrics())

    def collect(self) -> Iterator[Metric]:
        tasks = CounterMetricFamily("stdworker_tasks", "Tasks that ended", labels=(*_LABELS, "outcome"))
        running = GaugeMetricFamily("stdworker_tasks_in_flight", "Tasks that run now", labels=_LABELS)
        seconds = HistogramMetricFamily("stdworker_task_seconds", "How long tasks ran", labels=_LABELS)
        waits = HistogramMetricFamily("stdworker_queue_wait_seconds", "From receipt to start", labels=_LABELS)
        for pair, counted in self._pairs.items():
            labels = (pair.kind, str(pair.version))
            for outcome, count in counted.outcomes.items():
                tasks.add_metric((*labels, outcome), count)
            running.add_metric(labels, counted.in_flight)
            seconds.add_metric(labels, counted.seconds.cumulative(), counted.seconds.total)
            waits.add_metric(labels, counted.waits.cumulative(), counted.waits.total)
        yield from (tasks, running, seconds, waits)
        reconnects = max(0, self.sessions - 1)
        yield CounterMetricFamily("stdworker_reconnects", "Sessions after the first", value=reconnects)
        yield CounterMetricFamily("stdworker_loop_blocked", "Times that the loop stood still", value=self.loop_blocked)
        yield GaugeMetricFamily(
            "stdworker_loop_lag_seconds", "The loop's lag at its last turn", value=self.loop_lag_seconds
        )
        for name, (about, read) in self.totals.items():
            yield CounterMetricFamily(name, about, value=read())
        for name, (about, read) in self.gauges.items():
            yield GaugeMetricFamily(name, about, value=read())
        yield from self._collect_kinds()
        yield from self._collect_counters()

    def _collect_kinds(self) -> Iterator[Metric]:
        ready = GaugeMetricFamily("stdworker_kind_ready", "1 while the kind takes tasks", labels=_LABELS)
        waiting = GaugeMetricFamily("stdworker_tasks_waiting", "Tasks that wait for their turn", labels=_LABELS)
        processes = GaugeMetricFamily("stdworker_program_processes", "Processes that run now", labels=_LABELS)
        breakers = GaugeMetricFamily("stdworker_program_breaker_open", "1 while the breaker is open", labels=_LABELS)
        for kind in self.kinds():
            labels = (kind.pair.kind, str(kind.pair.version))
            ready.add_metric(labels, kind.ready)
            waiting.add_metric(labels, kind.waiting)
            if kind.processes is not None:
                processes.add_metric(labels, kind.processes)
            if kind.breaker_open is not None:
                breakers.add_metric(labels, kind.breaker_open)
        yield from (ready, waiting, processes, breakers)

    def _collect_counters(self) -> Iterator[Metric]:
        sums: Counter[str] = Counter()
        for counted in self._counters:
            sums.update({field.name: getattr(counted, field.name) for field in fields(counted)})
        for name, value in sums.items():
            yield CounterMetricFamily(f"stdworker_program_{name}", f"Of programs: {name}", value=value)


def _outcome(result: Result) -> str:
    failure = result.failure
    if failure is None:
        return "success"
    if failure.released:
        return "released"
    return "terminal" if failure.terminal else "transient"
