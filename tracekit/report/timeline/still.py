"""The timeline for readers without script and for paper: few marks, each with its words."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import IntervalSet, Times, Window
from tracekit.base import count, duration, moment, percent, quantity
from tracekit.report.timeline.track import Levels, Timeline, Track

WIDTH = 1000
HEIGHT = 20
MOST_MARKS = 700
MOST_BINS = 100
SHADES = 4
TICKS = 5

LEVEL_HEIGHT = 60
MOST_STEPS = 400

Mark = dict[str, Any]
Floats = NDArray[np.float64]


def strips(timeline: Timeline) -> list[dict[str, Any]]:
    """Draw each track as at most MOST_BINS marks, all together at most MOST_MARKS.

    A mark is a rectangle: place and width of 0 … WIDTH, a shade of 1 … SHADES, and what it says.
    Levels are a path instead, `course`.
    """
    marked = sum(track.levels is None for track in timeline.tracks)
    bins = max(1, min(MOST_BINS, MOST_MARKS // max(1, marked)))
    return [_strip(track, timeline, bins) for track in timeline.tracks]


def ticks(begin: int, end: int) -> tuple[str, ...]:
    """Return the words for TICKS points of an axis of time, evenly apart, both ends included."""
    return tuple(duration(at) for at in np.linspace(begin, end, TICKS))


def highest(times: Times, values: Floats, edges: Floats) -> Floats:
    """Return the highest level between edges; each value holds until the next one, at first 0."""
    held = np.searchsorted(times, edges[:-1], side="right") - 1
    found = np.where(held >= 0, values[np.maximum(held, 0)], 0.0)
    place = np.searchsorted(edges, times, side="right") - 1
    inside = (place >= 0) & (place < found.size)
    np.maximum.at(found, place[inside], values[inside])
    return found


def level_path(times: Times, values: Floats, window: Window, top: float) -> str:
    """Draw a level as an area of WIDTH by LEVEL_HEIGHT, whose upper edge stands for `top`."""
    edges = np.linspace(window.start, window.end, MOST_STEPS + 1)
    heights = np.clip(highest(times, values, edges) / (top or 1.0), 0, 1) * LEVEL_HEIGHT
    steps = "".join(
        f"H{place * WIDTH / MOST_STEPS:g}V{LEVEL_HEIGHT - heights[place]:.1f}"
        for place in np.flatnonzero(np.diff(heights, prepend=-1.0)).tolist()
    )
    return f"M0 {LEVEL_HEIGHT}{steps}H{WIDTH}V{LEVEL_HEIGHT}Z"


def _strip(track: Track, timeline: Timeline, bins: int) -> dict[str, Any]:
    strip = {"name": track.name, "kind": track.kind, "note": track.note, "marks": [], "course": ""}
    if (levels := track.levels) is not None:
        ends = (quantity(level, levels.unit) for level in (levels.low, levels.high))
        note = f"{track.note}: {' to '.join(ends)}"
        return strip | {"note": note, "course": _course(track, levels, timeline)}
    few = track.starts.size <= bins
    marks = _each(track, timeline) if few else _binned(track, timeline, bins)
    return strip | {"marks": list(marks)}


def _each(track: Track, timeline: Timeline) -> Iterator[Mark]:
    scale = WIDTH / (timeline.end - timeline.begin)
    columns = (track.starts.tolist(), track.durations.tolist(), track.codes.tolist())
    for start, length, code in zip(*columns, strict=True):
        title = f"{track.texts[code]}: {duration(length)} from {moment(start)}"
        x, width = (start - timeline.begin) * scale, max(1, length * scale)
        yield _mark(x, width, SHADES, title)


def _binned(track: Track, timeline: Timeline, bins: int) -> Iterator[Mark]:
    edges = np.linspace(timeline.begin, timeline.end, bins + 1).astype(np.int64)
    share = IntervalSet.of(track.starts, track.ends).within(edges[:-1], edges[1:]) / np.maximum(
        1, np.diff(edges)
    )
    inside, _ = np.histogram(track.starts, edges)
    shades = np.ceil(share * SHADES).astype(int).clip(0, SHADES)
    shades[(shades == 0) & (inside > 0)] = 1
    bounds = [0, *(np.flatnonzero(np.diff(shades)) + 1).tolist(), bins]
    for first, last in pairwise(bounds):
        if shades[first] == 0:
            continue
        title = (
            f"{duration(int(edges[first]))} to {duration(int(edges[last]))}: "
            f"{percent(float(share[first:last].mean()))} covered, "
            f"{count(int(inside[first:last].sum()))} begin"
        )
        x, width = first * WIDTH / bins, (last - first) * WIDTH / bins
        yield _mark(x, width, int(shades[first]), title)


def _mark(x: float, width: float, shade: int, title: str) -> Mark:
    return {"x": round(x, 1), "width": round(width, 1), "shade": shade, "title": title}


def _course(track: Track, levels: Levels, timeline: Timeline) -> str:
    """Draw the highest level of each bin as a line of steps, from zero or the lowest.

    It ends where the last reading does.
    """
    edges = np.linspace(timeline.begin, timeline.end, MOST_BINS + 1)
    place = (np.searchsorted(edges, track.starts, side="right") - 1).clip(0, MOST_BINS - 1)
    firsts = np.flatnonzero(np.diff(place, prepend=-1))
    highs = np.maximum.reduceat(levels.values, firsts)
    floor = min(0.0, levels.low)
    heights = HEIGHT * (1 - (highs - floor) / ((levels.high - floor) or 1))
    across = place[firsts] * WIDTH // MOST_BINS
    points = zip(across.tolist(), heights.round(1).tolist(), strict=True)
    steps = "".join(f"H{x:g}V{y:g}" for x, y in points)
    last = (int(track.ends[-1]) - timeline.begin) * WIDTH / (timeline.end - timeline.begin)
    until = max(round(last, 1), int(across[-1]) + WIDTH // MOST_BINS)
    return f"M{across[0]:g} {HEIGHT}{steps}H{until:g}V{HEIGHT}Z"
