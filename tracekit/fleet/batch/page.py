"""A batch as a page: what failed, what was found, how numbers are spread, and each recording."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from tracekit.analysis import METRICS
from tracekit.base import count, duration, quantity, redact_nothing, write_whole
from tracekit.fleet.batch.results import RESULTS, ROW_SCHEMA, BatchRow, Results
from tracekit.report import (
    Axis,
    Chart,
    Redact,
    area,
    document,
    environment_of,
    group_by_key,
    heading,
    make_count_axis,
    span,
    upright,
)

_RANKS = ("error", "warning", "note", "good")
_NOT_SHOWN = {"results", "warnings", "losses", "tables"}


def _tone(row: BatchRow) -> str:
    """Return the worst of what was found, or what to think of a recording without findings."""
    severities = {finding.severity for finding in row.findings}
    return (
        "error" if row.has_failed else next((tone for tone in _RANKS if tone in severities), "good")
    )


def _rank(row: BatchRow) -> tuple[int, float, str]:
    """Return where it stands: what failed, the worst findings, the largest savings, by name."""
    saving = sum(finding.saving_ms or 0.0 for finding in row.findings)
    return -1 if row.has_failed else _RANKS.index(_tone(row)), -saving, row.recording


MOST_CHARTS = 12
_BINS = 24
_FIRST = (
    *("tokens_per_second", "step_p50", "step_p99", "gpu_busy", "idle_ratio", "gpu_idle_ratio"),
    *("bandwidth_share", "gpu_time_per_token", "start_latency_p50", "ttft_p50", "memory_peak"),
)


def spreads(rows: Sequence[BatchRow]) -> Iterator[Chart]:
    """Yield a chart of each number that differs between recordings, the most important first."""
    values_by_metric = group_by_key(metric for row in rows for metric in row.metrics.items())
    names = [name for name in dict.fromkeys((*_FIRST, *METRICS)) if name in values_by_metric]
    ends = {
        name: [quantity(end(values_by_metric[name]), METRICS[name].unit) for end in (min, max)]
        for name in names
    }
    differing = [name for name in names if len(set(ends[name])) > 1]
    yield from (_spread(name, values_by_metric[name]) for name in differing[:MOST_CHARTS])


def _spread(name: str, values: Sequence[float]) -> Chart:
    unit = METRICS[name].unit
    minimum, middle, maximum = (float(value) for value in np.quantile(values, (0.0, 0.5, 1.0)))
    counts, edges = np.histogram(values, _BINS, (minimum, maximum))
    summary = (
        f"{count(len(values))} recordings from {quantity(minimum, unit)} to "
        f"{quantity(maximum, unit)}, "
        f"half of them up to {quantity(middle, unit)}."
    )
    return Chart(
        heading(name),
        summary,
        _across(minimum, maximum, unit),
        make_count_axis("recordings", float(counts.max())),
        (
            area(edges.tolist(), counts.astype(float).tolist(), "device"),
            upright(middle, f"p50 {quantity(middle, unit)}", "ink"),
        ),
    )


def _across(minimum: float, maximum: float, unit: str) -> Axis:
    """Return an axis from end to end; numbers below one are spread out for round ticks."""
    factor = 1.0 if maximum - minimum > 1 else 10.0 ** math.ceil(1 - math.log10(maximum - minimum))
    marks = span("", minimum * factor, maximum * factor, str).marks
    some = tuple(mark / factor for mark in marks[:: max(1, len(marks) // 4)])
    return Axis("", minimum, maximum, some, lambda value: quantity(value, unit))


MOST_LINES = 2_000
"""How many recordings are listed; the data set has all of them."""
_MOST_REASONS = 25
_MOST_FINDINGS = 3
_SHOWN = ("tokens_per_second", "step_p50", "gpu_busy", "idle_ratio", "gpu_idle_ratio", "host_busy")
_MOST_NUMBERS = 2
_NS_PER_MS = 1e6
_NS_PER_S = 1e9


def render_batch(rows: Sequence[BatchRow], name: str, *, redact: Redact) -> str:
    """Return the page over all recordings, in any order, of a batch that is called `name`.

    Its size is bounded: of many recordings those that failed and those with findings are listed
    first, and the page says how many are left out.
    """
    ranked = sorted(rows, key=_rank)
    good = [row for row in ranked if not row.has_failed]
    return document(
        environment_of(redact),
        "batch/page.html",
        styles=("page.css", "index/index.css", "batch/batch.css"),
        scripts=(),
        name=name,
        all=len(ranked),
        failed=len(ranked) - len(good),
        found=sum(bool(row.findings) for row in good),
        lines=[_line(row) for row in ranked[:MOST_LINES]],
        left=max(0, len(ranked) - MOST_LINES),
        rules=list(_rules(good)),
        reasons=_reasons(ranked),
        charts=list(spreads(good)),
    )


def _line(row: BatchRow) -> dict[str, Any]:
    """Return what the template shows of a recording in addition to its row."""
    facts = (row.workload, row.target, row.device, row.template, row.instruments)
    metric_names = [name for name in _SHOWN if name in row.metrics][:_MOST_NUMBERS]
    return {
        "row": row,
        "tone": _tone(row),
        "kind": "failed" if row.has_failed else "found" if row.findings else "clean",
        "details": " · ".join(dict.fromkeys(text for text in facts if text)),
        "lasted": "" if row.duration is None else duration(row.duration * _NS_PER_S),
        "numbers": [
            (name, quantity(row.metrics[name], METRICS[name].unit)) for name in metric_names
        ],
        "rules": ", ".join(
            dict.fromkeys(finding.rule for finding in row.findings[:_MOST_FINDINGS])
        ),
    }


def _rules(rows: Sequence[BatchRow]) -> Iterator[dict[str, Any]]:
    """Yield what each rule found over all recordings, the most common first; savings are in ns."""
    rules = (dict.fromkeys(finding.rule for finding in row.findings) for row in rows)
    tally = Counter(chain.from_iterable(rules))
    savings = group_by_key(
        (finding.rule, finding.saving_ms * _NS_PER_MS)
        for row in rows
        for finding in row.findings
        if finding.saving_ms is not None
    )
    for name, number in tally.most_common():
        rule_savings = savings.get(name)
        yield {
            "name": name,
            "recordings": number,
            "share": number / len(rows),
            "usual": median(rule_savings) if rule_savings else None,
            "total": sum(rule_savings or ()),
        }


def _nameless(row: BatchRow) -> str:
    """Return an error without the recording's path, and without the name of its bundle."""
    name = row.recording.rpartition("/")[2]
    error = row.error.replace(row.recording, "…")
    return (error.replace(name, "…") if name.endswith(".trace") else error).removeprefix("…: ")


def _reasons(rows: Sequence[BatchRow]) -> list[tuple[tuple[str, str], list[str]]]:
    """Return error and hint, most often first, and who failed; their names make no difference."""
    names = group_by_key(
        ((_nameless(row), row.hint), row.recording) for row in rows if row.has_failed
    )
    return sorted(names.items(), key=lambda reason: -len(reason[1]))[:_MOST_REASONS]


PAGE = "index.html"


def write_page(output: Path) -> Path:
    """Write `index.html` of what the data set holds; names in it were redacted as they came."""
    columns = [name for name in ROW_SCHEMA.names if name not in _NOT_SHOWN]
    rows = Results(output / RESULTS).rows(*columns)
    page = output / PAGE
    text = render_batch(rows, output.resolve().name, redact=redact_nothing)
    write_whole(page, text.encode())
    return page
