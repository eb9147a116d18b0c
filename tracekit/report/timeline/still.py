"""The timeline for readers without script and for paper: few marks, each with its words."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from tracekit.analysis import IntervalSet
from tracekit.base import count, duration, moment, percent, quantity
from tracekit.report.timeline.track import Levels, Timeline, Track

WIDTH = 1000
HEIGHT = 20
MOST_MARKS = 700
MOST_BINS = 100
SHADES = 4

Mark = dict[str, Any]


def strips(timeline: Timeline) -> list[dict[str, Any]]:
    """Draw each track as at most MOST_BINS marks, all together at most MOST_MARKS.

    A mark is a rectangle: place and width of 0 … WIDTH, a shade of 1 … SHADES, and what it says.
    Levels are a path instead, `course`.
    """
    marked = sum(track.levels is None for track in timeline.tracks)
    bins = max(1, min(MOST_BINS, MOST_MARKS // max(1, marked)))
    return [_strip(track, timeline, bins) for track in timeline.tracks]


def _strip(track: Track, timeline: Timeline, bins: int) -> dict[str, Any]:
    strip = {"name": track.name, "kind": track.kind, "note": track.note, "marks": [], "course": ""}
    if (levels := track.levels) is not None:
        ends = (quantity(level, levels.unit) for level in (levels.lowest, levels.highest))
        note = f"{track.note}: {' to '.join(ends)}"
        return strip | {"note": note, "course": _course(track, levels, timeline)}
    is_sparse = track.starts.size <= bins
    marks = _iter_marks(track, timeline) if is_sparse else _iter_binned_marks(track, timeline, bins)
    return strip | {"marks": list(marks)}


def _iter_marks(track: Track, timeline: Timeline) -> Iterator[Mark]:
    scale = WIDTH / (timeline.end - timeline.begin)
    columns = (track.starts.tolist(), track.durations.tolist(), track.codes.tolist())
    for start, length, code in zip(*columns, strict=True):
        title = f"{track.texts[code]}: {duration(length)} from {moment(start)}"
        x, width = (start - timeline.begin) * scale, max(1, length * scale)
        yield _mark(x, width, SHADES, title)


def _iter_binned_marks(track: Track, timeline: Timeline, bins: int) -> Iterator[Mark]:
    edges = np.linspace(timeline.begin, timeline.end, bins + 1).astype(np.int64)
    share = IntervalSet.from_spans(track.starts, track.ends).measure_within(
        edges[:-1], edges[1:]
    ) / np.maximum(1, np.diff(edges))
    begin_counts, _ = np.histogram(track.starts, edges)
    shades = np.ceil(share * SHADES).astype(int).clip(0, SHADES)
    shades[(shades == 0) & (begin_counts > 0)] = 1
    bounds = [0, *(np.flatnonzero(np.diff(shades)) + 1).tolist(), bins]
    for first_bin, last_bin in pairwise(bounds):
        if shades[first_bin] == 0:
            continue
        title = (
            f"{duration(int(edges[first_bin]))} to {duration(int(edges[last_bin]))}: "
            f"{percent(float(share[first_bin:last_bin].mean()))} covered, "
            f"{count(int(begin_counts[first_bin:last_bin].sum()))} begin"
        )
        x, width = first_bin * WIDTH / bins, (last_bin - first_bin) * WIDTH / bins
        yield _mark(x, width, int(shades[first_bin]), title)


def _mark(x: float, width: float, shade: int, title: str) -> Mark:
    return {"x": round(x, 1), "width": round(width, 1), "shade": shade, "title": title}


def _course(track: Track, levels: Levels, timeline: Timeline) -> str:
    """Draw the highest level of each bin as steps up to the last reading, from 0 or the lowest."""
    edges = np.linspace(timeline.begin, timeline.end, MOST_BINS + 1)
    place = (np.searchsorted(edges, track.starts, side="right") - 1).clip(0, MOST_BINS - 1)
    firsts = np.flatnonzero(np.diff(place, prepend=-1))
    highs = np.maximum.reduceat(levels.values, firsts)
    floor = min(0.0, levels.lowest)
    heights = HEIGHT * (1 - (highs - floor) / ((levels.highest - floor) or 1))
    across = place[firsts] * WIDTH // MOST_BINS
    points = zip(across.tolist(), heights.round(1).tolist(), strict=True)
    steps = "".join(f"H{x:g}V{y:g}" for x, y in points)
    last_x = (int(track.ends[-1]) - timeline.begin) * WIDTH / (timeline.end - timeline.begin)
    until = max(round(last_x, 1), int(across[-1]) + WIDTH // MOST_BINS)
    return f"M{across[0]:g} {HEIGHT}{steps}H{until:g}V{HEIGHT}Z"
