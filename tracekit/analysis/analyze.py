"""Tables in, metrics and findings out."""

import logging
import os
from collections.abc import Iterator, Mapping

import pandas as pd

from tracekit.analysis.finding import Finding
from tracekit.analysis.inject import Unavailable, inject
from tracekit.analysis.machine import machine_table
from tracekit.analysis.metric import Metric
from tracekit.analysis.metrics import METRICS
from tracekit.analysis.result import Better, Check, Measurement, Result, Status
from tracekit.analysis.rule import Rule, Settings
from tracekit.analysis.rules import RULES
from tracekit.analysis.target import targets_table
from tracekit.errors import TracekitError, UsageError
from tracekit.recording import Provenance

log = logging.getLogger(__name__)

_WORST_FIRST = ("error", "warning", "note")


class WithTargets(Mapping[str, pd.DataFrame]):
    """The tables of a recording, and what the run knows besides.

    `targets` are the processes whose rows are the target's, `machine` is where it was made.
    """

    def __init__(self, tables: Mapping[str, pd.DataFrame], provenance: Provenance) -> None:
        self._tables = tables
        self._known = {
            "targets": targets_table(provenance),
            "machine": machine_table(provenance),
        }

    def __getitem__(self, name: str) -> pd.DataFrame:
        return self._known[name] if name in self._known else self._tables[name]

    def __iter__(self) -> Iterator[str]:
        yield from self._known
        yield from self._tables

    def __len__(self) -> int:
        return len(self._known) + len(self._tables)


def analyze(
    tables: Mapping[str, pd.DataFrame],
    provenance: Provenance,
    settings: Settings | None = None,
) -> Result:
    """Measure all metrics and judge by all rules.

    What cannot be known is in the result with its reason; a metric or a rule that breaks
    costs only itself. Findings stand worst first, then by what they could save.
    """
    settings = settings or {}
    unknown = sorted(set(settings) - set(RULES))
    if unknown:
        raise UsageError(
            f"There is no rule {unknown[0]!r}.", hint=f"There are: {', '.join(RULES)}."
        )
    known = WithTargets(tables, provenance)
    judged = [judge(rule, known, settings.get(name, {})) for name, rule in RULES.items()]
    findings = [finding for _, found in judged for finding in found]
    return Result(
        provenance,
        metrics=tuple(measure(metric, known) for metric in METRICS.values()),
        results=told_results(known),
        findings=tuple(sorted(findings, key=_rank)),
        checks=tuple(check for check, _ in judged),
    )


def told_results(tables: Mapping[str, pd.DataFrame]) -> tuple[Measurement, ...]:
    """Return what the workload measured itself, in its own order; nothing where it told nothing."""
    try:
        told = tables["results"]
    except (KeyError, TracekitError):
        return ()
    return tuple(
        Measurement(
            str(row["name"]),
            None if pd.isna(row["value"]) else float(row["value"]),
            _text(row["unit"]),
            Better(_text(row["better"]) or "neither"),
            _text(row["reason"]),
        )
        for row in told.to_dict("records")
    )


def _text(cell: object) -> str:
    return "" if pd.isna(cell) else str(cell)  # pyright: ignore[reportArgumentType, reportCallIssue]


def measure(metric: Metric, tables: Mapping[str, pd.DataFrame]) -> Measurement:
    """Return the metric's value, or None with the reason."""
    try:
        value = inject(metric.measure, tables)
    except Unavailable as reason:
        return Measurement(metric.name, None, metric.unit, metric.better, str(reason))
    except Exception as error:
        if "PYTEST_CURRENT_TEST" in os.environ:
            raise
        log.exception("The metric %s broke; the others are not affected.", metric.name)
        broken = f"the metric broke: {error!r}"
        return Measurement(metric.name, None, metric.unit, metric.better, broken)
    return Measurement(metric.name, value, metric.unit, metric.better)


def judge(
    rule: Rule, tables: Mapping[str, pd.DataFrame], settings: Mapping[str, object]
) -> tuple[Check, list[Finding]]:
    """Return how the rule ended and what it found."""
    try:
        findings: list[Finding] = list(inject(rule.judge, tables, settings))
    except Unavailable as reason:
        return Check(rule.name, Status.ABSTAINED, str(reason)), []
    except UsageError:
        raise
    except Exception as error:
        if "PYTEST_CURRENT_TEST" in os.environ:
            raise
        log.exception("The rule %s broke; the others are not affected.", rule.name)
        return Check(rule.name, Status.FAILED, f"the rule broke: {error!r}"), []
    return Check(rule.name, Status.FOUND if findings else Status.PASSED), findings


def _rank(finding: Finding) -> tuple[int, int]:
    return _WORST_FIRST.index(finding.severity), -(finding.saving or 0)
