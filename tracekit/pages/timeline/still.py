"""The timeline for readers without script and for paper: few marks, each with its words."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from tracekit.analysis import intervals as analysis_intervals
from tracekit.base import units
from tracekit.pages.timeline.track import Levels, Timeline, Track

WIDTH = 1000
HEIGHT = 20
MOST_MARKS = 700
MOST_BINS = 100
SHADES = 4

Mark = dict[str, Any]


def strips(timeline: Timeline) -> list[dict[str, Any]]:
    """Draw the part of each track that lies between the timeline's begin and end.

    A track has at most MOST_BINS marks, all together have at most MOST_MARKS.

    A mark is a rectangle: place and width of 0 … WIDTH, a shade of 1 … SHADES, and its words.
    Levels are a path instead, `course`.
    """
    marked_tracks = [track for track in timeline.tracks if track.levels is None]
    fair_share = MOST_MARKS // max(1, len(marked_tracks))
    bins = max(1, min(MOST_BINS, fair_share))
    return [_strip(_cut(track, timeline), timeline, bins) for track in timeline.tracks]


def _cut(track: Track, timeline: Timeline) -> Track:
    """Return a track without the intervals, and parts of them, outside of the timeline."""
    is_within = (track.starts < timeline.end) & (track.ends >= timeline.begin)
    starts = np.maximum(track.starts[is_within], timeline.begin)
    ends = np.minimum(track.ends[is_within], timeline.end)
    levels = track.levels
    if levels is not None:
        levels = replace(levels, values=levels.values[is_within])
    return replace(
        track,
        starts=starts,
        durations=ends - starts,
        codes=track.codes[is_within],
        levels=levels,
    )


def _strip(track: Track, timeline: Timeline, bins: int) -> dict[str, Any]:
    strip: dict[str, Any] = {
        "name": track.name,
        "kind": track.kind,
        "note": track.note,
        "marks": [],
        "course": "",
    }
    levels = track.levels
    if levels is not None and not levels.values.size:
        strip["note"] = f"{track.note}: not read"
    elif levels is not None:
        lowest = units.quantity(levels.lowest, levels.unit)
        highest = units.quantity(levels.highest, levels.unit)
        strip["note"] = f"{track.note}: {lowest} to {highest}"
        strip["course"] = _course(track, levels, timeline)
    elif track.starts.size <= bins:
        strip["marks"] = list(_iter_marks(track, timeline))
    else:
        strip["marks"] = list(_iter_binned_marks(track, timeline, bins))
    return strip


def _iter_marks(track: Track, timeline: Timeline) -> Iterator[Mark]:
    scale = WIDTH / (timeline.end - timeline.begin)
    columns = (track.starts.tolist(), track.durations.tolist(), track.codes.tolist())
    for start, length, code in zip(*columns, strict=True):
        title = f"{track.texts[code]}: {units.duration(length)} from {units.moment(start)}"
        x = (start - timeline.begin) * scale
        width = max(1, length * scale)
        yield _mark(x, width, SHADES, title)


def _iter_binned_marks(track: Track, timeline: Timeline, bins: int) -> Iterator[Mark]:
    all_edges = np.linspace(timeline.begin, timeline.end, bins + 1)
    edges = all_edges.astype(np.int64)
    intervals = analysis_intervals.IntervalSet.from_spans(track.starts, track.ends)
    covered = intervals.measure_within(edges[:-1], edges[1:])
    lengths = np.maximum(1, np.diff(edges))
    shares = covered / lengths
    begin_counts, _ = np.histogram(track.starts, edges)
    rounded_shades = np.ceil(shares * SHADES).astype(int)
    shades = rounded_shades.clip(0, SHADES)
    shades[(shades == 0) & (begin_counts > 0)] = 1
    change_places = np.flatnonzero(np.diff(shades)) + 1
    bounds = [0, *change_places.tolist(), bins]
    for first_bin, end_bin in pairwise(bounds):
        if shades[first_bin] == 0:
            continue
        begin = units.duration(int(edges[first_bin]))
        end = units.duration(int(edges[end_bin]))
        mean_share = float(shares[first_bin:end_bin].mean())
        share = units.percent(mean_share)
        begin_count = int(begin_counts[first_bin:end_bin].sum())
        begins = units.count(begin_count)
        title = f"{begin} to {end}: {share} covered, {begins} begin"
        x = first_bin * WIDTH / bins
        width = (end_bin - first_bin) * WIDTH / bins
        shade = int(shades[first_bin])
        yield _mark(x, width, shade, title)


def _mark(x: float, width: float, shade: int, title: str) -> Mark:
    return {"x": round(x, 1), "width": round(width, 1), "shade": shade, "title": title}


def _course(track: Track, levels: Levels, timeline: Timeline) -> str:
    """Draw the highest level of each bin as steps up to the last reading, from 0 or the lowest."""
    edges = np.linspace(timeline.begin, timeline.end, MOST_BINS + 1)
    next_edges = np.searchsorted(edges, track.starts, side="right")
    place = (next_edges - 1).clip(0, MOST_BINS - 1)
    firsts = np.flatnonzero(np.diff(place, prepend=-1))
    highs = np.maximum.reduceat(levels.values, firsts)
    floor = min(0.0, levels.lowest)
    height = (levels.highest - floor) or 1
    relative_heights = (highs - floor) / height
    tops = HEIGHT * (1 - relative_heights)
    across = place[firsts] * WIDTH // MOST_BINS
    rounded_tops = tops.round(1).tolist()
    points = zip(across.tolist(), rounded_tops, strict=True)
    steps = [f"H{x:g}V{y:g}" for x, y in points]
    timeline_length = timeline.end - timeline.begin
    last_time = int(track.ends[-1]) - timeline.begin
    last_x = last_time * WIDTH / timeline_length
    least_end = int(across[-1]) + WIDTH // MOST_BINS
    until = max(round(last_x, 1), least_end)
    return f"M{across[0]:g} {HEIGHT}{''.join(steps)}H{until:g}V{HEIGHT}Z"
