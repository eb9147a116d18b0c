"""OpenMetrics: the text that Prometheus scrapes, for a textfile collector.

All values are gauges without a time: so the same text is valid in Prometheus' older format, which
the collector of node-exporter reads; it refuses samples with times. Times are in seconds, because
Prometheus wants base units.
"""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.openmetrics.exposition import generate_latest

from tracekit.nightly.gate.report.model import Case, GateReport, Suite
from tracekit.nightly.gate.report.text import flatten_text
from tracekit.nightly.history.night import Outcome, moment_in

_PREFIX = "tracekit_gate"
# By our unit: the suffix of the family, and the factor for values.
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


def openmetrics(report: GateReport) -> bytes:
    """Return the report in the text format of OpenMetrics, with `# EOF` at its end."""
    gauges = _Gauges(_environment(report))
    ids = {"night": report.subject, "commit": report.commit}
    gauges.set("report", "Which night, or which runs, this is.", ids, 1.0)
    gauges.outcome("outcome", report.outcome, {})
    end_time = moment_in(report.ended)
    if end_time:
        words = "When the night ended, since 1970."
        gauges.set("end_time", words, {}, end_time.timestamp(), "seconds")
    for suite in report.suites:
        _suite(gauges, suite)
    return generate_latest(gauges.registry)


class _Gauges:
    """Gauges by name, each made for its first value; all have the report's labels."""

    def __init__(self, labels: Mapping[str, str]) -> None:
        self.registry = CollectorRegistry()
        self._labels = labels
        self._gauges: dict[str, Gauge] = {}

    def set(
        self, name: str, words: str, labels: Mapping[str, str], value: float, unit: str = ""
    ) -> None:
        """Set the gauge of that name and unit."""
        label_values: dict[str, str] = {}
        for label, text in {**self._labels, **labels}.items():
            label_values[label] = flatten_text(text)
        full = f"{_PREFIX}_{name}_{unit}".rstrip("_")
        if full not in self._gauges:
            self._gauges[full] = Gauge(full, words, label_values, unit=unit, registry=self.registry)
        gauge = self._gauges[full].labels(**label_values)
        gauge.set(value)

    def outcome(self, name: str, outcome: Outcome, labels: Mapping[str, str]) -> None:
        """Set a gauge for each possible outcome: to 1 for the actual one, to 0 for the others."""
        words = "1 for how it ended, 0 for the other outcomes."
        for kind in Outcome:
            labels_with_outcome = {**labels, "outcome": str(kind)}
            self.set(name, words, labels_with_outcome, float(kind is outcome))


def _suite(gauges: _Gauges, suite: Suite) -> None:
    workload = suite.labels.get("workload", "")
    labels = {"capture": suite.name, "workload": workload}
    gauges.outcome("capture_outcome", suite.outcome, labels)
    for case in suite.cases:
        metric_labels = {**labels, "metric": case.name}
        if case.outcome is not None and case.kind != "capture":
            gauges.outcome("metric_outcome", case.outcome, metric_labels)
        if case.kind == "finding":
            words = "In how many of the candidate's traces a rule found something."
            rule = {**labels, "rule": case.name, "severity": case.severity}
            gauges.set("finding_traces", words, rule, case.pairs)
        if case.kind == "metric":
            _metric(gauges, case, metric_labels)


def _metric(gauges: _Gauges, case: Case, labels: Mapping[str, str]) -> None:
    gauges.set("pairs", "How many pairs count.", labels, case.pairs)
    candidate_labels = {**labels, "side": "candidate"}
    reference_labels = {**labels, "side": "reference"}
    change_unit = "ratio" if case.scale == "ratio" else case.unit
    numbers = (
        ("value", case.unit, candidate_labels, case.candidate),
        ("value", case.unit, reference_labels, case.reference),
        ("change", change_unit, labels, case.change),
        ("change_low", change_unit, labels, case.low),
        ("change_high", change_unit, labels, case.high),
        ("threshold", change_unit, labels, case.threshold),
    )
    for name, unit, value_labels, value in numbers:
        if value is not None:
            _number(gauges, name, value, unit, value_labels)


def _number(gauges: _Gauges, name: str, value: float, unit: str, labels: Mapping[str, str]) -> None:
    """Set the gauge of one of `_NUMBERS`, in a base unit if there is one."""
    words = _NUMBERS[name]
    if unit in _UNITS:
        suffix, factor = _UNITS[unit]
        gauges.set(name, words, labels, value * factor, suffix)
    else:
        # A unit without a suffix of its own is a label, so that no two units share a series.
        gauges.set(name, words, {**labels, "unit": unit}, value)


def _environment(report: GateReport) -> dict[str, str]:
    environment = report.environment
    system_version = environment.get("os_build", environment.get("os", ""))
    return {
        "plan": report.plan,
        "machine": report.machine,
        "chip": environment.get("chip", ""),
        "os": system_version,
        "xcode": environment.get("xcode_build", ""),
        "mlx": environment.get("mlx", ""),
    }
