"""A batch as a page: what failed, what was found, how numbers are spread, and each recording."""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from statistics import median

import msgspec
import numpy as np

from tracekit.analysis import METRICS
from tracekit.base import count, duration, nothing, quantity, write_whole
from tracekit.fleet.batch.results import RESULTS, Results
from tracekit.report import (
    Axis,
    Chart,
    Redact,
    area,
    document,
    environment_of,
    heading,
    linear,
    span,
    upright,
)

_RANKS = ("error", "warning", "note")
_UNKNOWN = len(_RANKS)


@dataclass(frozen=True)
class Finding:
    """What a rule found in it; the saving is milliseconds, None where there is no estimate."""

    rule: str
    severity: str
    message: str
    saving_ms: float | None = None


@dataclass(frozen=True)
class Entry:
    """A recording; `state` is ok or failed, `error` says why, `metrics` holds what is known."""

    recording: str
    state: str
    error: str = ""
    hint: str = ""
    template: str = ""
    instruments: str = ""
    device: str = ""
    workload: str = ""
    target: str = ""
    duration: float | None = None
    metrics: dict[str, float] = field(default_factory=dict[str, float])
    findings: tuple[Finding, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether nothing is known of it but why."""
        return self.state != "ok"

    @property
    def tone(self) -> str:
        """What to think of it, as other pages say it in colour."""
        if self.failed:
            return "error"
        return next((name for name in _RANKS if name in self._severities), "good")

    @property
    def rank(self) -> tuple[int, float, str]:
        """Where it stands: what failed, the worst findings, the largest savings, by name."""
        place = -1 if self.failed else _RANKS.index(self.tone) if self._severities else _UNKNOWN
        return place, -sum(one.saving_ms or 0.0 for one in self.findings), self.recording

    @property
    def _severities(self) -> set[str]:
        return {one.severity for one in self.findings} & set(_RANKS)


COLUMNS = [one.name for one in fields(Entry)]


MOST_CHARTS = 12
_FEWEST = 2  # recordings that make a spread
_BINS = 24
_AIR = 1.25  # room for the median's words
_FIRST = (
    *("tokens_per_second", "step_p50", "step_p99", "gpu_busy", "idle_ratio", "gpu_idle_ratio"),
    *("bandwidth_share", "gpu_time_per_token", "start_latency_p50", "ttft_p50", "memory_peak"),
)


def spreads(entries: Sequence[Entry]) -> Iterator[Chart]:
    """Yield a chart of each number that differs, those that matter most first."""
    differing = [(name, one) for name, one in _shared(entries) if len(_ends(name, one)) > 1]
    yield from (_spread(name, one) for name, one in differing[:MOST_CHARTS])


def alike(entries: Sequence[Entry]) -> tuple[str, ...]:
    """Return each number that is the same in all recordings that have it, in words."""
    ends = ((name, _ends(name, one)) for name, one in _shared(entries))
    return tuple(f"{heading(name)} {end}" for name, (end, *others) in ends if not others)


def _shared(entries: Sequence[Entry]) -> Iterator[tuple[str, list[float]]]:
    """Yield the numbers that several recordings have, those that matter most first."""
    values: dict[str, list[float]] = {}
    for entry in entries:
        for name, value in entry.metrics.items():
            values.setdefault(name, []).append(value)
    for name in dict.fromkeys((*_FIRST, *METRICS)):
        if len(values.get(name, ())) >= _FEWEST:
            yield name, values[name]


def _ends(name: str, values: Sequence[float]) -> tuple[str, ...]:
    """Return the least and the greatest in words; once, if these are the same."""
    words = (quantity(one, _unit(name)) for one in (min(values), max(values)))
    return tuple(dict.fromkeys(words))


def _unit(name: str) -> str:
    return METRICS[name].unit if name in METRICS else ""


def _spread(name: str, values: Sequence[float]) -> Chart:
    unit = _unit(name)
    low, middle, high = (float(one) for one in np.quantile(values, (0.0, 0.5, 1.0)))
    counts, edges = np.histogram(values, _BINS, (low, high))
    said = f"half of them up to {quantity(middle, unit)}"
    summary = (
        f"{count(len(values))} recordings from {quantity(low, unit)} to {quantity(high, unit)}, "
        f"{said}."
    )
    return Chart(
        heading(name),
        summary,
        _across(low, high, unit),
        _recordings(float(counts.max())),
        (
            area(edges.tolist(), counts.astype(float).tolist(), "device"),
            upright(middle, f"p50 {quantity(middle, unit)}", "ink"),
        ),
    )


def _across(low: float, high: float, unit: str) -> Axis:
    """Return an axis from end to end; numbers below one are spread out for round ticks."""
    factor = 1.0 if high - low > 1 else 10.0 ** math.ceil(1 - math.log10(high - low))
    axis = span("", low * factor, high * factor, lambda value: quantity(value / factor, unit))
    marks = tuple(mark / factor for mark in axis.marks)
    some = marks[:: max(1, len(marks) // 4)]
    return Axis("", low, high, some, lambda value: quantity(value, unit))


def _recordings(highest: float) -> Axis:
    axis = linear("recordings", 0, highest, count)
    whole = tuple(mark for mark in axis.marks if mark == round(mark) and mark <= highest * _AIR)
    return Axis(axis.title, 0, highest * _AIR, whole, count)


MOST_LINES = 2_000
"""How many recordings are listed; the data set has all of them."""
_MOST_REASONS = 25
_MOST_EXAMPLES = 3
_MOST_FINDINGS = 3
_SHOWN = ("tokens_per_second", "step_p50", "gpu_busy", "idle_ratio", "gpu_idle_ratio", "host_busy")
_MOST_NUMBERS = 2
_NS_PER_MS = 1e6
_NS_PER_S = 1e9


@dataclass(frozen=True)
class Line:
    """A recording as the template shows it; `numbers` are names and values."""

    entry: Entry
    details: str
    lasted: str
    numbers: tuple[tuple[str, str], ...]
    said: tuple[str, ...]
    rules: str


@dataclass(frozen=True)
class Rule:
    """What one rule found over all recordings; savings are in words."""

    name: str
    recordings: int
    share: float
    usual: str
    total: str


@dataclass(frozen=True)
class Reason:
    """Why recordings failed, how many, and the names of some."""

    error: str
    hint: str
    recordings: int
    names: tuple[str, ...]


def render_batch(entries: Sequence[Entry], name: str, *, redact: Redact) -> str:
    """Return the page over all recordings of a batch.

    Its size is bounded: of many recordings those that failed and those with findings are listed
    first, and the page says how many are left out.

    Args:
        entries: The recordings, in any order.
        name: What the batch's folder is called.
        redact: Takes out of a string what must not be shown.
    """
    ranked = sorted(entries, key=lambda one: one.rank)
    good = [one for one in ranked if not one.failed]
    return document(
        environment_of(redact),
        "batch/page.html",
        styles=("page.css", "index/index.css", "batch/batch.css"),
        scripts=(),
        name=name,
        all=len(ranked),
        failed=len(ranked) - len(good),
        found=sum(bool(one.findings) for one in good),
        lines=[_line(one) for one in ranked[:MOST_LINES]],
        left=max(0, len(ranked) - MOST_LINES),
        rules=list(_rules(good)),
        reasons=list(_reasons(ranked)),
        charts=list(spreads(good)),
        alike=alike(good),
    )


def _line(entry: Entry) -> Line:
    about = (entry.workload, entry.target, entry.device, entry.template, entry.instruments)
    known = [name for name in _SHOWN if name in entry.metrics][:_MOST_NUMBERS]
    return Line(
        entry,
        details=" · ".join(dict.fromkeys(one for one in about if one)),
        lasted="" if entry.duration is None else duration(entry.duration * _NS_PER_S),
        numbers=tuple((one, quantity(entry.metrics[one], METRICS[one].unit)) for one in known),
        said=tuple(one.message for one in entry.findings[:1]),
        rules=", ".join(dict.fromkeys(one.rule for one in entry.findings[:_MOST_FINDINGS])),
    )


def _rules(entries: Sequence[Entry]) -> Iterator[Rule]:
    savings: dict[str, list[float]] = {}
    tally: Counter[str] = Counter()
    for entry in entries:
        tally.update({one.rule for one in entry.findings})
        for one in entry.findings:
            if one.saving_ms is not None:
                savings.setdefault(one.rule, []).append(one.saving_ms)
    for name, number in tally.most_common():
        known = savings.get(name, [])
        yield Rule(
            name,
            number,
            number / len(entries),
            usual=duration(median(known) * _NS_PER_MS) if known else "",
            total=duration(sum(known) * _NS_PER_MS) if known else "",
        )


def _nameless(error: str, recording: str) -> str:
    """Return an error without the recording's path, and without the name of its bundle."""
    name = recording.rpartition("/")[2]
    names = (recording, name) if name.endswith(".trace") else (recording,)
    for one in names:
        error = error.replace(one, "…")
    return error.removeprefix("…: ")


def _reasons(entries: Sequence[Entry]) -> Iterator[Reason]:
    """Yield why recordings failed, most often first; their own names make no difference."""
    groups: dict[tuple[str, str], list[str]] = {}
    for entry in entries:
        if entry.failed:
            error = _nameless(entry.error, entry.recording)
            groups.setdefault((error, entry.hint), []).append(entry.recording)
    often = sorted(groups.items(), key=lambda one: -len(one[1]))
    for (error, hint), names in often[:_MOST_REASONS]:
        yield Reason(error, hint, len(names), tuple(names[:_MOST_EXAMPLES]))


PAGE = "index.html"


def write_page(output: Path) -> Path:
    """Write `index.html` of what the data set holds; names in it were redacted as they came.

    Raises:
        RecordingError: It cannot be written.
    """
    rows = Results(output / RESULTS).rows(COLUMNS)
    entries = [msgspec.convert(row, Entry) for row in rows]
    page = output / PAGE
    text = render_batch(entries, output.resolve().name, redact=nothing)
    write_whole(page, text.encode())
    return page
