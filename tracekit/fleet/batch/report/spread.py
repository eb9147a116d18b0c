"""How a number is spread over recordings: a histogram with its median."""

import math
from collections.abc import Iterator, Sequence

import numpy as np

from tracekit.analysis.metrics import METRICS
from tracekit.base.units import count, quantity
from tracekit.fleet.batch.report.entry import Entry
from tracekit.report.charts.axis import Axis, linear, span
from tracekit.report.charts.chart import Chart
from tracekit.report.charts.shapes import area, upright
from tracekit.report.naming import heading

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
