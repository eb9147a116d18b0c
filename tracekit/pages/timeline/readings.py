"""Tracks of repeated readings: counters, memory, work in flight, readings of monitors."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis import intervals, tracks
from tracekit.base import units
from tracekit.pages.panel import Tables, of_target
from tracekit.pages.timeline.track import Kind, Levels, Track

MOST_READINGS = 4_096


def level_track(
    name: str,
    note: str,
    times: tuple[intervals.Times, intervals.Times],
    values: NDArray[np.float64],
    unit: str,
    *,
    max_readings: int = MOST_READINGS,
) -> Track:
    """Make a track of readings in the order of their time.

    A reading lasts until its end, or until the next one. Of more than `max_readings`, equal parts
    of the run keep their lowest and their highest, and the note gives the size of a part.
    """
    starts, ends = times
    kept_indexes = _extremes(values, max_readings)
    if kept_indexes.size < values.size:
        part = units.count(_part(values.size, max_readings))
        note = f"{note}; the lowest and highest of each {part} readings"
    if kept_indexes.size:
        ends = np.maximum.reduceat(ends, kept_indexes)
    starts = starts[kept_indexes]
    values = values[kept_indexes]
    next_starts = np.append(starts[1:], ends[-1:])
    ends = np.minimum(ends, next_starts)
    durations = np.maximum(ends - starts, 0)
    codes = np.zeros(starts.size, np.int64)
    lanes = (int(starts.size),)
    return Track(
        name=name,
        kind=Kind.LEVELS,
        starts=starts,
        durations=durations,
        codes=codes,
        texts=(name,),
        lanes=lanes,
        note=note,
        levels=Levels(values, unit),
    )


def _part(size: int, max_readings: int) -> int:
    return -(-size // (max_readings // 2))


def _extremes(values: NDArray[np.float64], max_readings: int) -> intervals.Times:
    if values.size <= max_readings:
        return np.arange(values.size)
    part = _part(values.size, max_readings)
    part_count = -(-values.size // part)
    missing_count = part_count * part - values.size
    padded = np.append(values, np.full(missing_count, values[-1]))
    parts = padded.reshape(part_count, part)
    firsts = np.arange(part_count) * part
    lowest_places = firsts + parts.argmin(axis=1)
    highest_places = firsts + parts.argmax(axis=1)
    places = np.concatenate((lowest_places, highest_places))
    return np.unique(places.clip(max=values.size - 1))


COUNTERS_SHOWN = 8
GAUGES_SHOWN = 6
_FIRST = "occupancy"


def readings(tables: Tables) -> Iterator[Track | str]:
    """Make a track for each kind of reading, and report the number of counters left out."""
    yield from _in_flight(tables)
    yield from _counters(tables)
    yield from _memory(tables)
    yield from _gauges(tables)


def _in_flight(tables: Tables) -> Iterator[Track]:
    buffers = of_target(tables, "command_buffers").frame.dropna(subset=["committed", "completed"])
    if buffers.empty:
        return
    begins = buffers["committed"].to_numpy(np.int64)
    ends = buffers["completed"].to_numpy(np.int64)
    moments = np.concatenate((begins, ends))
    directions = np.array([1, -1])
    changes = np.repeat(directions, begins.size)
    order = np.lexsort((changes, moments))
    ordered_changes = changes[order]
    depth = np.cumsum(ordered_changes).astype(np.float64)
    note = "command buffers of the target, committed and not completed"
    times = tracks.until_next(moments[order])
    yield level_track("In flight", note, times, depth, "count")


def _counters(tables: Tables) -> Iterator[Track | str]:
    counters = [track for track in tracks.counter_tracks(tables) if track.values.size]
    ranked = sorted(counters, key=_rank_counter)
    for counter in ranked[:COUNTERS_SHOWN]:
        yield _draw(counter, "counter of the whole GPU")
    undrawn_count = len(ranked[COUNTERS_SHOWN:])
    if undrawn_count:
        yield f"{undrawn_count:,} more counters are read and not drawn: those with lower values."


def _rank_counter(counter: tracks.LevelTrack) -> tuple[bool, float, str]:
    mean = float(counter.values.mean())
    return (_FIRST not in counter.name.lower(), -mean, counter.name)


def _memory(tables: Tables) -> Iterator[Track]:
    memories = [track for track in tracks.memory_tracks(tables) if track.is_of_target]
    for memory in memories:
        if not memory.values.size:
            continue
        if memory.table == "process_samples":
            yield _draw(memory, f"of the process {memory.pid}, by the operating system")
            continue
        note = "memory of Metal's resources"
        if memory.pid is not None:
            note = f"{note} of the process {memory.pid}"
        yield _draw(memory, note)


def _gauges(tables: Tables) -> Iterator[Track]:
    gauges = [_cut_before_trace(gauge) for gauge in tracks.gauge_tracks(tables)]
    known_gauges = [gauge for gauge in gauges if gauge.values.size]
    for gauge in known_gauges[:GAUGES_SHOWN]:
        yield _draw(gauge, f"read by {gauge.source}")


def _cut_before_trace(levels: tracks.LevelTrack) -> tracks.LevelTrack:
    first_place = int(np.searchsorted(levels.starts, 0))
    return replace(
        levels,
        starts=levels.starts[first_place:],
        ends=levels.ends[first_place:],
        values=levels.values[first_place:],
    )


def _draw(levels: tracks.LevelTrack, note: str) -> Track:
    """Draw readings; a percentage becomes a ratio."""
    times = (levels.starts, levels.ends)
    if levels.unit == "%":
        return level_track(levels.name, note, times, levels.values / 100, "ratio")
    return level_track(levels.name, note, times, levels.values, levels.unit)
