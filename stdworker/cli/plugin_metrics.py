"""What a worker tells about its plugins on /metrics."""

from __future__ import annotations

from collections.abc import Iterator

from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from stdworker.host.loader import Plugins


class PluginMetrics(Collector):
    """How much is wrong with each plugin."""

    def __init__(self, plugins: Plugins) -> None:
        self._plugins = plugins

    def collect(self) -> Iterator[Metric]:
        errors = GaugeMetricFamily("stdworker_plugin_errors", "What is wrong with a plugin.", labels=("plugin",))
        for plugin in self._plugins:
            errors.add_metric((plugin.name,), len(plugin.errors))
        yield errors
