"""A sample in the words of Prometheus.

Owns: which family a metric becomes, the figures of the process.
Must not know: HTTP, which metrics there are.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from prometheus_client import Metric, ProcessCollector
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.exposition import choose_encoder

from syncmgr.job.metrics import metric
from syncmgr.job.metrics.histogram import Histogram
from syncmgr.job.metrics.metric import METRICS
from syncmgr.job.metrics.sample import Sample

_PROCESS: Final = ProcessCollector(registry=None)
_FAMILIES: Final[Mapping[str, Callable[..., GaugeMetricFamily | CounterMetricFamily]]] = MappingProxyType(
    {"gauge": GaugeMetricFamily, "counter": CounterMetricFamily}
)


class Exposition:
    """What is collected for one request; it neither waits nor asks anything. A sample None has no series."""

    def __init__(self, sample: Sample | None) -> None:
        self._sample = sample

    def collect(self) -> Iterator[Metric]:
        yield from _PROCESS.collect()
        for each in METRICS:
            yield _family(each, self._sample)

    def text(self, accept: str) -> tuple[bytes, str]:
        """The body and its type, as the client accepts it."""
        encode, kind = choose_encoder(accept)
        return encode(self), kind


def _family(row: metric.Metric, sample: Sample | None) -> Metric:
    series = () if sample is None else row.series(sample)
    if row.kind == "histogram":
        return _histogram(row, series)
    family = _FAMILIES[row.kind](row.name, row.doc, labels=row.labels)
    for labels, value in series:
        assert not isinstance(value, Histogram), row.name
        family.add_metric(labels, value)
    return family


def _histogram(row: metric.Metric, series: Iterable[metric.Series]) -> Metric:
    family = HistogramMetricFamily(row.name, row.doc, labels=row.labels)
    for labels, value in series:
        assert isinstance(value, Histogram), row.name
        family.add_metric(labels, value.buckets(), value.sum)
    return family
