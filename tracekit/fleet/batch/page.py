"""A batch as a page: its failures and findings, the spread of numbers, and each recording."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from os.path import relpath
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import quote

import numpy as np

from tracekit.analysis import METRICS
from tracekit.base import Recording, files, redaction, units
from tracekit.fleet.batch.results import (
    PAGES,
    RESULTS,
    ROW_SCHEMA,
    BatchRow,
    Results,
    RowFinding,
    page_file,
)
from tracekit.pages import Redact, chart, document, environment_of, text

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
    values_by_metric: defaultdict[str, list[float]] = defaultdict(list)
    for row in rows:
        for name, value in row.metrics.items():
            values_by_metric[name].append(value)
    drawn_values: list[list[float]] = []
    for name in dict.fromkeys((*_FIRST, *METRICS)):
        if len(drawn_values) == MOST_CHARTS:
            return
        values = values_by_metric.get(name)
        if values and values not in drawn_values and _differ(values, METRICS[name].unit):
            yield _spread(name, values)
            drawn_values.append(values)


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
FIRST_LINES = 20
"""How many recordings are listed at first; a choice above the table shows the others."""
LONGEST_LINE = 80
MOST_RULES = 8  # lines of the first screen
_MOST_REASONS = 25
_SHOWN = (
    *("tokens_per_second", "step_p50", "gpu_busy", "idle_ratio", "gpu_idle_ratio", "host_busy"),
    "host_idle_ratio",
)
_MOST_NUMBERS = 2
_NS_PER_MS = 1e6
_NS_PER_S = 1e9

PageLink = Callable[[BatchRow], str]
"""Returns the link to the page of a recording, or an empty string if it has none."""


def _no_page(row: BatchRow) -> str:  # noqa: ARG001  the form of a PageLink
    return ""


def render_batch(
    rows: Sequence[BatchRow], name: str, *, redact: Redact, page_link: PageLink = _no_page
) -> str:
    """Return the page about all recordings, in any order, of the batch `name`.

    Its size is bounded: of many recordings those that failed and those with findings are listed
    first, and the page says how many are left out.
    """
    ranked = sorted(rows, key=_rank)
    good = [row for row in ranked if not row.has_failed]
    with_findings = [row for row in good if row.findings]
    folder = _shared_folder([row.recording for row in ranked])
    listed = ranked[:MOST_LINES]
    columns = _find_columns(listed)
    facts = _list_facts(ranked)
    setting: list[tuple[str, str]] = []
    if folder:
        setting.append(("Folder", folder))
    different_facts: list[str] = []
    for fact, values in facts:
        if len(values) > 1:
            different_facts.append(fact)
        else:
            setting.append((fact, values[0]))
    lines = [_line(row, folder, columns, different_facts, page_link) for row in listed]
    rules = list(_rules(good))
    reasons = _reasons(ranked, folder)
    charts = list(spreads(good))
    failed = len(ranked) - len(good)
    return document(
        environment_of(redact),
        "batch/page.html",
        styles=("page.css", "index/index.css", "batch/batch.css"),
        scripts=(),
        name=name,
        all=len(ranked),
        failed=failed,
        found=len(with_findings),
        tone=_tone_of_batch(failed, len(with_findings)),
        setting=setting,
        lines=lines,
        first_lines=FIRST_LINES,
        left=max(0, len(ranked) - MOST_LINES),
        columns=columns,
        has_pages=any(line.href for line in lines),
        rules=rules,
        most_rules=MOST_RULES,
        reasons=reasons,
        charts=charts,
    )


def _tone_of_batch(failed: int, with_findings: int) -> str:
    if failed:
        return "error"
    if with_findings:
        return "warning"
    return "good"


def _shared_folder(names: Sequence[str]) -> str:
    """Return the folder that all recordings lie in, with its last slash; empty if there is none."""
    if not names:
        return ""
    first_parts = names[0].split("/")[:-1]
    shared_number = len(first_parts)
    for name in names[1:]:
        parts = name.split("/")[:-1]
        while parts[:shared_number] != first_parts[:shared_number]:
            shared_number -= 1
    shared_parts = first_parts[:shared_number]
    if not any(shared_parts) or shared_parts[-1] in {"", *_SCHEME_ONLY}:
        return ""
    return "/".join(shared_parts) + "/"


_SCHEME_ONLY = ("s3:", "gs:", "zip:", "file:", "http:", "https:")


def _list_facts(rows: Sequence[BatchRow]) -> list[tuple[str, list[str]]]:
    """Return the circumstances that are known, each with the values that recordings have."""
    getters: tuple[tuple[str, Callable[[BatchRow], str]], ...] = (
        ("Workload", lambda row: row.workload),
        ("Target", lambda row: row.target),
        ("Chip", lambda row: row.device),
        ("Template", lambda row: row.template),
        ("Instruments", lambda row: row.instruments),
    )
    facts: list[tuple[str, list[str]]] = []
    for name, value_of in getters:
        known_values = filter(None, map(value_of, rows))
        values = list(dict.fromkeys(known_values))
        if values:
            facts.append((name, values))
    return facts


def _find_columns(rows: Sequence[BatchRow]) -> list[str]:
    """Return the most important metrics that at least one recording has."""
    known_names: set[str] = set()
    for row in rows:
        known_names.update(row.metrics)
    return [name for name in _SHOWN if name in known_names][:_MOST_NUMBERS]


@dataclass(frozen=True)
class BatchLine:
    """A recording as the page lists it; a number that is not known is empty."""

    name: str
    href: str
    tone: str
    kind: str
    details: str
    words: str
    more: int
    numbers: tuple[str, ...]
    lasted: str


def _line(
    row: BatchRow,
    folder: str,
    columns: Sequence[str],
    different_facts: Sequence[str],
    page_link: PageLink,
) -> BatchLine:
    lasted = ""
    if row.duration is not None:
        lasted = units.duration(row.duration * _NS_PER_S)
    details: list[str] = []
    for fact, values in _list_facts([row]):
        if fact in different_facts:
            details += values
    words = ""
    if row.has_failed:
        words = text.clip(_nameless(row), 2 * LONGEST_LINE)
    elif row.findings:
        words = _describe(row.findings[0])
    numbers: list[str] = []
    for name in columns:
        value = row.metrics.get(name)
        number = ""
        if value is not None:
            number = units.quantity(value, METRICS[name].unit)
        numbers.append(number)
    return BatchLine(
        name=row.recording.removeprefix(folder),
        href=page_link(row),
        tone=_tone(row),
        kind=_outcome(row),
        details=" · ".join(details),
        words=words,
        more=max(0, len(row.findings) - 1),
        numbers=tuple(numbers),
        lasted=lasted,
    )


def _describe(finding: RowFinding) -> str:
    """Return a finding in a line: its rule, the beginning of its sentence, and its cost."""
    cost = ""
    if finding.saving_ms:
        cost = f" · {units.duration(finding.saving_ms * _NS_PER_MS)}"
    message = finding.message.partition(". ")[0].rstrip(".")
    return text.clip(f"{finding.rule}: {message}", LONGEST_LINE - len(cost)) + cost


def _outcome(row: BatchRow) -> str:
    if row.has_failed:
        return "failed"
    return "found" if row.findings else "clean"


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
        cost = ""
        if usual_saving:
            cost = f" · usually {units.duration(usual_saving)} each"
        line = f"{name}: in {units.count(number)} of {units.count(len(rows))}{cost}"
        yield {
            "name": name,
            "line": text.clip(line, LONGEST_LINE),
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


def _reasons(rows: Sequence[BatchRow], folder: str) -> list[tuple[tuple[str, str], list[str]]]:
    """Return each error and hint with the names of the recordings, the most frequent first.

    Errors that differ only in the name of their recording are one.
    """
    names: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    for row in rows:
        if row.has_failed:
            same_reason = names[_nameless(row), row.hint]
            same_reason.append(row.recording.removeprefix(folder))
    most_frequent = sorted(names.items(), key=lambda reason: -len(reason[1]))
    return most_frequent[:_MOST_REASONS]


PAGE = "index.html"


def write_page(output: Path) -> Path:
    """Write `index.html` about the data set, whose names were redacted when they were added."""
    columns = [name for name in ROW_SCHEMA.names if name not in _NOT_SHOWN]
    rows = Results(output / RESULTS).rows(*columns)
    page = output / PAGE
    html = render_batch(
        rows,
        output.resolve().name,
        redact=redaction.redact_nothing,
        page_link=lambda row: _find_page(output, row),
    )
    files.write_whole(page, html.encode())
    return page


def _find_page(output: Path, row: BatchRow) -> str:
    """Return the link to the page that the batch made, or to that of the run itself."""
    if page_file(output, row.key).exists():
        return f"{PAGES}/{quote(row.key)}.html"
    report_file = Recording(Path(row.recording)).report_file
    if report_file.is_absolute() and report_file.exists():
        return quote(relpath(report_file, output.resolve()))
    return ""
