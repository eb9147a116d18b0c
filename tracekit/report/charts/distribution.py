"""How long things took: a histogram with its percentiles."""

import numpy as np
from numpy.typing import NDArray

from tracekit.base.units import count, duration
from tracekit.report.charts.axis import Axis, linear, span
from tracekit.report.charts.chart import Chart
from tracekit.report.charts.shapes import area, upright

Durations = NDArray[np.float64]

_MOST_BINS, _FEWEST_BINS = 40, 8
_AIR = 1.25  # room above the highest bin, for the names of percentiles
_TAIL = 0.995  # what lies beyond this share is put into the last bin
_FAR = 1.5


def distribution(title: str, values: Durations, color: str = "device") -> Chart:
    """Chart how often each duration came, with the median and the 99th percentile marked.

    Args:
        title: What the durations are of.
        values: One or more, in ns. Few that are far beyond the others share the last bin.
        color: A colour of the page's style.
    """
    edges = _edges(values, _bins(values.size))
    counts, _ = np.histogram(np.minimum(values, edges[-1]), edges)
    p50, p99 = (float(one) for one in np.quantile(values, (0.5, 0.99)))
    cut = float(values.max()) > edges[-1]
    words = f"time; the last bin holds all up to {duration(values.max())}" if cut else "time"
    summary = (
        f"{count(values.size)} values, half of them up to {duration(p50)}, 99 % up to "
        f"{duration(p99)}, the longest {duration(float(values.max()))}."
    )
    heights = counts.astype(float).tolist()
    return Chart(
        title,
        summary,
        span(words, float(edges[0]), float(edges[-1]), duration),
        _whole(float(counts.max())),
        (
            area(edges.tolist(), heights, color),
            upright(p50, f"p50 {duration(p50)}", "ink"),
            upright(min(p99, float(edges[-1])), f"p99 {duration(p99)}", "ink", row=1),
        ),
    )


def _bins(number: int) -> int:
    """Return twice as many bins as Rice's rule, 2 n^(1/3), for so many values."""
    return min(_MOST_BINS, max(_FEWEST_BINS, round(4 * number ** (1 / 3))))


def _whole(highest: float) -> Axis:
    """Return an axis of counts: there is no half of one."""
    axis = linear("count", 0, highest, count)
    marks = tuple(mark for mark in axis.marks if mark == round(mark))
    return Axis(axis.title, 0, highest * _AIR, marks, count)


def _edges(values: Durations, bins: int) -> Durations:
    low, high = float(values.min()), float(values.max())
    tail = float(np.quantile(values, _TAIL))
    if high - low > _FAR * (tail - low) > 0:
        high = tail + (tail - low) / bins
    if high <= low:
        low, high = low * 0.9, low * 1.1 + 1
    return np.linspace(low, high, bins + 1)
