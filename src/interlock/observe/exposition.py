"""GET /metrics: the counters, and what the host's books say at this moment, as Prometheus reads them.

Gauges are read from the books when somebody asks, so that there is nothing to keep in step with them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.registry import Collector

from interlock.observe.histogram import Histogram
from interlock.observe.metrics import Metrics
from interlock.observe.story import Story
from interlock.runtime.host import Host
from interlock.session.attachment import CODES
from interlock.tables import TABLES

CONTENT_TYPE: Final = CONTENT_TYPE_PLAIN_0_0_4
STATUSES: Final = ("completed", "cancelled", "failed")


class Exposition(Collector):
    """One host's metrics, and those of the conversations that ``connections`` counts."""

    def __init__(self, host: Host, metrics: Metrics, story: Story) -> None:
        self._host = host
        self._metrics = metrics
        self._story = story
        self.connections = 0
        self._registry = CollectorRegistry()
        self._registry.register(self)

    def text(self) -> bytes:
        """Return everything, in the text format that every Prometheus reads."""
        return generate_latest(self._registry)

    def describe(self) -> Iterable[Metric]:
        """Return nothing: names are told when they are collected."""
        return ()

    def collect(self) -> Iterator[Metric]:
        """Yield every metric."""
        yield from self._now()
        yield from self._owed()
        yield from self._since()
        metrics = self._metrics
        timed = {
            "dispatch": (
                "One event of a machine, with all that follows; the data plane is not timed.",
                metrics.dispatch,
            ),
            "claim": ("From an accepted claim to where it landed.", metrics.attach),
            "cancel_landing": ("From an interrupt to the release of the last request.", metrics.landing),
        }
        for name, (text, histogram) in timed.items():
            yield _histogram(f"interlock_{name}_seconds", text, histogram)

    def _now(self) -> Iterator[Metric]:
        host, drivers = self._host, list(self._host.drivers.values())
        for machine in ("session", "attachment"):
            states = Counter(driver.value.state(machine) for driver in drivers)
            known = [info.name for info in TABLES[machine].states]
            yield _gauges(f"interlock_{machine}s", f"Sessions by the state of their {machine}.", "state", known, states)
        sizes = {"journal": sum(d.frames.size for d in drivers), "input": sum(d.value.input_bytes for d in drivers)}
        for name, size in sizes.items():
            yield GaugeMetricFamily(f"interlock_{name}_bytes", f"Bytes of all sessions' {name}.", value=size)
        yield GaugeMetricFamily("interlock_connections", "Conversations under way.", value=self.connections)
        yield GaugeMetricFamily("interlock_stopping", "1 once the shutdown has begun.", value=int(host.is_stopping))
        yield GaugeMetricFamily("interlock_timers", "Timers that are armed.", value=len(host.deadlines))
        limits = host.limits()  # looks at every session: once
        for field, text in (("limit", "Every limit."), ("high_water", "The most that was ever used of it.")):
            family = GaugeMetricFamily(f"interlock_{field}", text, labels=["name"])
            for name, used in limits.items():
                family.add_metric([name], used[field])
            yield family

    def _owed(self) -> Iterator[Metric]:
        owed = self._host.owed()
        requests = Counter(entry["stage"] for entry in owed if entry["kind"] == "request")
        stages = [self._host.pipeline.listen, *self._host.pipeline.answer]
        text = "Stage requests whose clean-up is not confirmed."
        yield _gauges("interlock_owed_requests", text, "stage", stages, requests)
        kinds = Counter(entry["kind"] for entry in owed)
        yield _gauges("interlock_owed", "What somebody still owes.", "kind", ["transport", "request", "worker"], kinds)

    def _since(self) -> Iterator[Metric]:
        metrics, host = self._metrics, self._host
        claims = CounterMetricFamily("interlock_claims", "Claims that landed.", labels=["way", "outcome"])
        for (way, outcome), count in metrics.claims.items():
            claims.add_metric([way, outcome], count)
        yield claims
        refused = metrics.refused + Counter({"no_session": host.tombs.asked})
        counted: dict[str, tuple[str, str, Sequence[str], Mapping[str, int]]] = {
            "resumes_refused": ("Resumes refused.", "code", [*CODES.values(), "no_session"], refused),
            "turned_away": ("Opens refused.", "code", ["resource_exhausted"], host.turned_away),
            "sessions_ended": ("Sessions that ended.", "reason", [], metrics.ended),
            "responses": ("Responses that ended.", "status", STATUSES, metrics.responses),
        }
        for name, (text, label, known, counts) in counted.items():
            yield _counters(f"interlock_{name}", text, label, known, counts)
        plain = {
            "sessions_opened": ("Sessions that opened.", metrics.opened),
            "detached": ("Attached transports that were lost.", metrics.detached),
            "quarantined": ("Sessions that ended with something still owed.", metrics.quarantined),
            "requests_owed": ("Clean-ups that a stage did not confirm in time.", metrics.owed),
            "stale": ("Outputs and events of something left behind, dropped.", host.stale + self._story.stale),
            "defects": ("Defects of ours; each has ended its session.", len(host.defects)),
        }
        for name, (text, count) in plain.items():
            yield CounterMetricFamily(f"interlock_{name}", text, value=count)


def _gauges(name: str, text: str, label: str, known: Sequence[str], counts: Mapping[str, int]) -> Metric:
    family = GaugeMetricFamily(name, text, labels=[label])
    for value in dict.fromkeys([*known, *counts]):
        family.add_metric([value], counts.get(value, 0))
    return family


def _counters(name: str, text: str, label: str, known: Sequence[str], counts: Mapping[str, int]) -> Metric:
    family = CounterMetricFamily(name, text, labels=[label])
    for value in dict.fromkeys([*known, *counts]):
        family.add_metric([value], counts.get(value, 0))
    return family


def _histogram(name: str, text: str, histogram: Histogram) -> Metric:
    family = HistogramMetricFamily(name, text)
    family.add_metric([], histogram.buckets(), histogram.total_s)
    return family
