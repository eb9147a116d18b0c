"""The timeline for readers without script and for paper: few marks, each with its words."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tracekit.analysis.intervals import Times, union
from tracekit.report.timeline.track import Kind, Timeline, Track
from tracekit.units import count, duration, moment, percent

WIDTH = 1000
MOST_MARKS = 1500
MOST_BINS = 100
SHADES = 4
TICKS = 5


@dataclass(frozen=True)
class Mark:
    """A rectangle: place and width of 0 … WIDTH, a shade of 1 … SHADES, and what it says."""

    x: float
    width: float
    shade: int
    title: str


@dataclass(frozen=True)
class Strip:
    """One track, drawn."""

    name: str
    kind: Kind
    note: str
    marks: tuple[Mark, ...]


def strips(timeline: Timeline) -> tuple[Strip, ...]:
    """Draw each track as at most MOST_BINS marks, all together at most MOST_MARKS."""
    bins = max(1, min(MOST_BINS, MOST_MARKS // max(1, len(timeline.tracks))))
    return tuple(_strip(track, timeline, bins) for track in timeline.tracks)


def ticks(timeline: Timeline) -> tuple[str, ...]:
    """Return the words for TICKS points of the axis, evenly apart, both ends included."""
    return tuple(duration(at) for at in np.linspace(timeline.begin, timeline.end, TICKS))


def _strip(track: Track, timeline: Timeline, bins: int) -> Strip:
    few = track.starts.size <= bins
    marks = _each(track, timeline) if few else _binned(track, timeline, bins)
    return Strip(track.name, track.kind, track.note, tuple(marks))


def _each(track: Track, timeline: Timeline) -> Iterator[Mark]:
    scale = WIDTH / (timeline.end - timeline.begin)
    columns = (track.starts.tolist(), track.durations.tolist(), track.codes.tolist())
    for start, length, code in zip(*columns, strict=True):
        title = f"{track.texts[code]}: {duration(length)} from {moment(start)}"
        yield Mark(
            round((start - timeline.begin) * scale, 1),
            round(max(1, length * scale), 1),
            SHADES,
            title,
        )


def _binned(track: Track, timeline: Timeline, bins: int) -> Iterator[Mark]:
    edges = np.linspace(timeline.begin, timeline.end, bins + 1).astype(np.int64)
    share = np.diff(covered(track.starts, track.ends, edges)) / np.maximum(1, np.diff(edges))
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
        yield Mark(round(x, 1), round(width, 1), int(shades[first]), title)


def covered(starts: Times, ends: Times, at: Times) -> Times:
    """Return for each point of time how much the intervals cover up to it, in ns."""
    starts, ends = union(starts, ends)
    if not starts.size:
        return np.zeros(at.size, np.int64)
    before = np.concatenate(([0], np.cumsum(ends - starts)))
    place = np.searchsorted(starts, at, side="right")
    current = np.maximum(place - 1, 0)
    overshoot = np.where(place > 0, np.maximum(ends[current] - at, 0), 0)
    return before[place] - overshoot
