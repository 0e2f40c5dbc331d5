"""A sample in the words of Prometheus.

Owns: which family a metric becomes, the figures of the process, how long a text is kept for the next client.
Must not know: HTTP, which metrics there are.
"""

import math
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

KEPT_SECOND: Final = 1.0  # the figures of the process move on while no new sample comes
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


class LastTexts:
    """The texts of the last sample, each made once in `KEPT_SECOND`, however many clients ask."""

    def __init__(self) -> None:
        self._sample: Sample | None = None
        self._made_at = -math.inf
        self._texts: dict[str, bytes] = {}  # by type, of which a client chooses among a few

    def text(self, sample: Sample | None, accept: str, now: float) -> tuple[bytes, str]:
        """As that of `Exposition`. `now`: seconds of a clock that never goes back."""
        if sample is not self._sample or now - self._made_at >= KEPT_SECOND:
            self._sample, self._made_at, self._texts = sample, now, {}
        encode, kind = choose_encoder(accept)
        if kind not in self._texts:
            self._texts[kind] = encode(Exposition(sample))
        return self._texts[kind], kind


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
