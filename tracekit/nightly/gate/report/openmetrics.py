"""OpenMetrics: the text that Prometheus scrapes, for a textfile collector.

All is gauges and nothing has a time: so the same text is valid in Prometheus' older format, which
is what the collector of node-exporter reads, and it refuses samples with times. Times are in
seconds, as Prometheus wants base units.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.openmetrics.exposition import generate_latest
from prometheus_client.registry import Collector

from tracekit.nightly.gate.report.model import Case, GateReport, Suite
from tracekit.nightly.gate.report.text import said
from tracekit.nightly.history.night import Outcome

_PREFIX = "tracekit_gate"
# A unit of ours: the suffix of the family, and what a value is multiplied by.
_UNITS = {
    "ns": ("seconds", 1e-9),
    "ratio": ("ratio", 1.0),
    "bytes": ("bytes", 1.0),
    "bytes/s": ("bytes_per_second", 1.0),
    "1/s": ("per_second", 1.0),
    "tokens/s": ("tokens_per_second", 1.0),
    "Hz": ("hertz", 1.0),
    "W": ("watts", 1.0),
    "J": ("joules", 1.0),
    "FLOP/s": ("flops", 1.0),
}
_NUMBERS = {
    "value": "Median of a metric over the pairs that count, of the candidate and the reference.",
    "change": "Change of the candidate from the reference; a ratio less one, or a difference.",
    "change_low": "Lower end of the 95 % interval of the change.",
    "change_high": "Upper end of the 95 % interval of the change.",
    "threshold": "Least change for the worse that matters.",
}
_OUTCOME = "1 for how it ended, 0 for the other outcomes."


def openmetrics(report: GateReport) -> bytes:
    """Return the report in the text format of OpenMetrics, with `# EOF` at its end."""
    registry = CollectorRegistry()
    registry.register(_Report(report))
    return generate_latest(registry)


@dataclass(frozen=True, eq=False)
class _Report(Collector):
    """The gauges of a report, as the official client collects them."""

    report: GateReport

    def collect(self) -> Iterator[GaugeMetricFamily]:
        families = _Families(_environment(self.report))
        ids = {"night": self.report.subject, "commit": self.report.commit}
        families.add("report", "Which night, or which runs, this is.", ids, 1.0)
        families.outcome("outcome", self.report.outcome, {})
        if (ended := _seconds(self.report.ended)) is not None:
            families.add("end_time", "When the night ended, since 1970.", {}, ended, "seconds")
        for suite in self.report.suites:
            _suite(families, suite)
        yield from families.families.values()


@dataclass(frozen=True)
class _Families:
    """Families by name: all samples of one stand together, as the format demands."""

    labels: Mapping[str, str]
    families: dict[str, GaugeMetricFamily] = field(default_factory=dict[str, Any])
    seen: set[tuple[str, ...]] = field(default_factory=set[tuple[str, ...]])

    def add(
        self, name: str, words: str, labels: Mapping[str, str], value: float, unit: str = ""
    ) -> None:
        """Add a sample to the family, which is made when its first one comes.

        A second sample with the same labels would make the whole text void: the first one stays.
        """
        known = {name: said(value) for name, value in {**self.labels, **labels}.items()}
        full = f"{_PREFIX}_{name}_{unit}".rstrip("_")
        if (full, *known.values()) in self.seen:
            return
        self.seen.add((full, *known.values()))
        if full not in self.families:
            self.families[full] = GaugeMetricFamily(full, words, labels=list(known), unit=unit)
        self.families[full].add_metric(list(known.values()), value)

    def outcome(self, name: str, outcome: Outcome, labels: Mapping[str, str]) -> None:
        """Add a sample for each outcome that there is: 1 for the one that came about."""
        for one in Outcome:
            self.add(name, _OUTCOME, {**labels, "outcome": str(one)}, float(one is outcome))


def _suite(families: _Families, suite: Suite) -> None:
    labels = {"capture": suite.name, "workload": suite.labels.get("workload", "")}
    families.outcome("capture_outcome", suite.outcome, labels)
    for case in suite.cases:
        own = {**labels, "metric": case.name}
        if case.outcome is not None and case.kind != "capture":
            families.outcome("metric_outcome", case.outcome, own)
        if case.kind == "finding":
            words = "In how many of the candidate's traces a rule found something."
            rule = {**labels, "rule": case.name, "severity": case.severity}
            families.add("finding_traces", words, rule, case.pairs)
        if case.kind == "metric":
            _metric(families, case, own)


def _metric(families: _Families, case: Case, labels: Mapping[str, str]) -> None:
    families.add("pairs", "How many pairs count.", labels, case.pairs)
    for side, value in (("candidate", case.candidate), ("reference", case.reference)):
        _number(families, "value", case.unit, {**labels, "side": side}, value)
    unit = "ratio" if case.scale == "ratio" else case.unit
    changes = {"change": case.change, "change_low": case.low, "change_high": case.high}
    for name, value in {**changes, "threshold": case.threshold}.items():
        _number(families, name, unit, labels, value)


def _number(
    families: _Families, name: str, unit: str, labels: Mapping[str, str], value: float | None
) -> None:
    if value is None:
        return
    suffix, factor = _UNITS.get(unit, ("", 1.0))
    # A unit without a suffix of its own is a label, so that no two units share a series.
    own = labels if suffix else {**labels, "unit": unit}
    families.add(name, _NUMBERS[name], own, value * factor, suffix)


def _environment(report: GateReport) -> dict[str, str]:
    known = report.environment
    return {
        "plan": report.plan,
        "machine": report.machine,
        "chip": known.get("chip", ""),
        "os": known.get("os_build") or known.get("os", ""),
        "xcode": known.get("xcode_build", ""),
        "mlx": known.get("mlx", ""),
    }


def _seconds(moment: str) -> float | None:
    try:
        return datetime.fromisoformat(moment).timestamp()
    except ValueError:
        return None
