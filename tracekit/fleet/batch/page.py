"""A batch as a page: its failures and findings, the spread of numbers, and each recording."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from tracekit.analysis import METRICS
from tracekit.base import files, redaction, units
from tracekit.fleet.batch.results import RESULTS, ROW_SCHEMA, BatchRow, Results
from tracekit.report import Redact, chart, document, environment_of, group_by_key, text

_RANKS = ("error", "warning", "note", "good")
_NOT_SHOWN = {"results", "warnings", "losses", "tables"}


def _tone(row: BatchRow) -> str:
    """Return the worst severity of a recording's findings; "good" if it has none."""
    if row.has_failed:
        return "error"
    severities = {finding.severity for finding in row.findings}
    for tone in _RANKS:
        if tone in severities:
            return tone
    return "good"


def _rank(row: BatchRow) -> tuple[int, float, str]:
    """Return the sort key: failures first, then by worst finding, largest savings, and name."""
    rank = -1
    if not row.has_failed:
        rank = _RANKS.index(_tone(row))
    savings = [finding.saving_ms or 0.0 for finding in row.findings]
    saving = sum(savings)
    return rank, -saving, row.recording


MOST_CHARTS = 12
_BINS = 24
_FIRST = (
    *("tokens_per_second", "step_p50", "step_p99", "gpu_busy", "idle_ratio", "gpu_idle_ratio"),
    *("bandwidth_share", "gpu_time_per_token", "start_latency_p50", "ttft_p50", "memory_peak"),
)


def spreads(rows: Sequence[BatchRow]) -> Iterator[chart.Chart]:
    """Yield a chart of each number that differs between recordings, the most important first."""
    metric_values = [metric for row in rows for metric in row.metrics.items()]
    values_by_metric = group_by_key(metric_values)
    charts = 0
    for name in dict.fromkeys((*_FIRST, *METRICS)):
        if charts == MOST_CHARTS:
            return
        values = values_by_metric.get(name)
        if values and _differ(values, METRICS[name].unit):
            yield _spread(name, values)
            charts += 1


def _differ(values: Sequence[float], unit: str) -> bool:
    """Tell whether values differ as a reader sees them."""
    lowest = units.quantity(min(values), unit)
    highest = units.quantity(max(values), unit)
    return lowest != highest


def _spread(name: str, values: Sequence[float]) -> chart.Chart:
    unit = METRICS[name].unit
    quantiles = np.quantile(values, (0.0, 0.5, 1.0))
    minimum, middle, maximum = (float(value) for value in quantiles)
    counts, edges = np.histogram(values, _BINS, (minimum, maximum))
    summary = (
        f"{units.count(len(values))} recordings from {units.quantity(minimum, unit)} to "
        f"{units.quantity(maximum, unit)}, "
        f"half of them up to {units.quantity(middle, unit)}."
    )
    axis = _across(minimum, maximum, unit)
    count_axis = chart.make_count_axis("recordings", float(counts.max()))
    distribution = chart.area(edges.tolist(), counts.astype(float).tolist(), "device")
    middle_mark = chart.upright(middle, f"p50 {units.quantity(middle, unit)}", "ink")
    return chart.Chart(
        text.heading(name),
        summary,
        axis,
        count_axis,
        (
            distribution,
            middle_mark,
        ),
    )


def _across(minimum: float, maximum: float, unit: str) -> chart.Axis:
    """Return an axis from end to end; numbers below one are spread out for round ticks."""
    width = maximum - minimum
    factor = 1.0
    if width <= 1:
        exponent = math.ceil(1 - math.log10(width))
        factor = 10.0**exponent
    marks = chart.span("", minimum * factor, maximum * factor, str).marks
    stride = max(1, len(marks) // 4)
    ticks = tuple(mark / factor for mark in marks[::stride])
    return chart.Axis("", minimum, maximum, ticks, lambda value: units.quantity(value, unit))


MOST_LINES = 2_000
"""How many recordings are listed; the data set has all of them."""
_MOST_REASONS = 25
_MOST_FINDINGS = 3
_SHOWN = ("tokens_per_second", "step_p50", "gpu_busy", "idle_ratio", "gpu_idle_ratio", "host_busy")
_MOST_NUMBERS = 2
_NS_PER_MS = 1e6
_NS_PER_S = 1e9


def render_batch(rows: Sequence[BatchRow], name: str, *, redact: Redact) -> str:
    """Return the page about all recordings, in any order, of the batch `name`.

    Its size is bounded: of many recordings those that failed and those with findings are listed
    first, and the page says how many are left out.
    """
    ranked = sorted(rows, key=_rank)
    good = [row for row in ranked if not row.has_failed]
    with_findings = [row for row in good if row.findings]
    lines = [_line(row) for row in ranked[:MOST_LINES]]
    more_lines = max(0, len(ranked) - MOST_LINES)
    failed = len(ranked) - len(good)
    rules = list(_rules(good))
    charts = list(spreads(good))
    return document(
        environment_of(redact),
        "batch/page.html",
        styles=("page.css", "index/index.css", "batch/batch.css"),
        scripts=(),
        name=name,
        all=len(ranked),
        failed=failed,
        found=len(with_findings),
        lines=lines,
        left=more_lines,
        rules=rules,
        reasons=_reasons(ranked),
        charts=charts,
    )


def _line(row: BatchRow) -> dict[str, Any]:
    """Return the values that the template shows of a recording."""
    facts = (row.workload, row.target, row.device, row.template, row.instruments)
    lasted = ""
    if row.duration is not None:
        lasted = units.duration(row.duration * _NS_PER_S)
    rules = dict.fromkeys(finding.rule for finding in row.findings[:_MOST_FINDINGS])
    distinct_facts = dict.fromkeys(filter(None, facts))
    return {
        "row": row,
        "tone": _tone(row),
        "kind": _outcome(row),
        "details": " · ".join(distinct_facts),
        "lasted": lasted,
        "numbers": _main_numbers(row),
        "rules": ", ".join(rules),
    }


def _outcome(row: BatchRow) -> str:
    if row.has_failed:
        return "failed"
    return "found" if row.findings else "clean"


def _main_numbers(row: BatchRow) -> list[tuple[str, str]]:
    """Return the names and values of the most important metrics that a recording has."""
    numbers: list[tuple[str, str]] = []
    for name in _SHOWN:
        if name in row.metrics and len(numbers) < _MOST_NUMBERS:
            unit = METRICS[name].unit
            value = units.quantity(row.metrics[name], unit)
            numbers.append((name, value))
    return numbers


def _rules(rows: Sequence[BatchRow]) -> Iterator[dict[str, Any]]:
    """Yield the findings of each rule in all recordings, the most common first; savings in ns."""
    tally: Counter[str] = Counter()
    savings: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        rules_of_row = dict.fromkeys(finding.rule for finding in row.findings)
        tally.update(list(rules_of_row))
        for finding in row.findings:
            if finding.saving_ms is not None:
                saving = finding.saving_ms * _NS_PER_MS
                savings[finding.rule].append(saving)
    for name, number in tally.most_common():
        rule_savings = savings[name]
        share = number / len(rows)
        usual_saving = median(rule_savings) if rule_savings else None
        yield {
            "name": name,
            "recordings": number,
            "share": share,
            "usual": usual_saving,
            "total": sum(rule_savings),
        }


def _nameless(row: BatchRow) -> str:
    """Return an error without the recording's path, and without the name of its bundle."""
    error = row.error.replace(row.recording, "…")
    name = row.recording.rpartition("/")[2]
    if name.endswith(".trace"):
        error = error.replace(name, "…")
    return error.removeprefix("…: ")


def _reasons(rows: Sequence[BatchRow]) -> list[tuple[tuple[str, str], list[str]]]:
    """Return each error and hint with the names of the recordings, the most frequent first.

    Errors that differ only in the name of their recording are one.
    """
    names: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        if row.has_failed:
            same_reason = names[_nameless(row), row.hint]
            same_reason.append(row.recording)
    most_frequent = sorted(names.items(), key=lambda reason: -len(reason[1]))
    return most_frequent[:_MOST_REASONS]


PAGE = "index.html"


def write_page(output: Path) -> Path:
    """Write `index.html` about the data set, whose names were redacted when they were added."""
    columns = [name for name in ROW_SCHEMA.names if name not in _NOT_SHOWN]
    rows = Results(output / RESULTS).rows(*columns)
    page = output / PAGE
    html = render_batch(rows, output.resolve().name, redact=redaction.redact_nothing)
    files.write_whole(page, html.encode())
    return page
