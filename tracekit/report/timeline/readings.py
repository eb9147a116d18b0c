"""Tracks of repeated readings: counters, memory, work in flight, readings of monitors."""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis import Times, spans
from tracekit.base import count
from tracekit.report.panel import Tables, of_target, rows
from tracekit.report.timeline.track import Kind, Levels, Track

MOST_READINGS = 4_096


def level_track(
    name: str,
    note: str,
    times: tuple[Times, Times],
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
        part = count(_part(values.size, max_readings))
        note = f"{note}; the lowest and highest of each {part} readings"
    if kept_indexes.size:
        ends = np.maximum.reduceat(ends, kept_indexes)
    starts = starts[kept_indexes]
    values = values[kept_indexes]
    ends = np.minimum(ends, np.append(starts[1:], ends[-1:]))
    return Track(
        name=name,
        kind=Kind.LEVELS,
        starts=starts,
        durations=np.maximum(ends - starts, 0),
        codes=np.zeros(starts.size, np.int64),
        texts=(name,),
        lanes=(int(starts.size),),
        note=note,
        levels=Levels(values, unit),
    )


def _part(size: int, max_readings: int) -> int:
    return -(-size // (max_readings // 2))


def _extremes(values: NDArray[np.float64], max_readings: int) -> Times:
    if values.size <= max_readings:
        return np.arange(values.size)
    part = _part(values.size, max_readings)
    part_count = -(-values.size // part)
    padded = np.append(values, np.full(part_count * part - values.size, values[-1]))
    parts = padded.reshape(part_count, part)
    firsts = np.arange(part_count) * part
    places = np.concatenate((firsts + parts.argmin(axis=1), firsts + parts.argmax(axis=1)))
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
    changes = np.repeat(np.array([1, -1]), begins.size)
    order = np.lexsort((changes, moments))
    depth = np.cumsum(changes[order]).astype(np.float64)
    note = "command buffers of the target, committed and not completed"
    yield level_track("In flight", note, _until_next(moments[order]), depth, "count")


def _counters(tables: Tables) -> Iterator[Track | str]:
    read = rows(tables, "gpu_counters").frame.dropna(subset=["value", "counter"])
    if read.empty:
        return
    means = read.groupby("counter")["value"].mean()
    ranked = sorted(means.index, key=lambda name: (_FIRST not in name.lower(), -means[name], name))
    for name in ranked[:COUNTERS_SHOWN]:
        counter_readings = read[read["counter"] == name]
        unit = ""
        if counter_readings["percentage"].fillna(value=False).all():
            unit = "ratio"
            ratios = counter_readings["value"] / 100
            counter_readings = counter_readings.assign(value=ratios)
        yield _track(counter_readings, "value", name, "counter of the whole GPU", unit)
    undrawn_count = len(ranked[COUNTERS_SHOWN:])
    if undrawn_count:
        yield f"{undrawn_count:,} more counters are read and not drawn: those with lower values."


def _memory(tables: Tables) -> Iterator[Track]:
    sizes = of_target(tables, "allocated_sizes").frame.dropna(subset=["size"])
    for pid, process_rows in sizes.groupby("pid", sort=True, dropna=False):
        note = "memory of Metal's resources"
        if not pd.isna(pid):
            note = f"{note} of the process {pid}"
        yield _track(process_rows, "size", "Allocated", note, "bytes")
    samples = of_target(tables, "process_samples").frame.dropna(subset=["memory"])
    for pid, process_rows in samples.groupby("pid", sort=True):
        note = f"of the process {pid}, by the operating system"
        yield _track(process_rows, "memory", "Resident memory", note, "bytes")


def _gauges(tables: Tables) -> Iterator[Track]:
    read = rows(tables, "gauges").frame.dropna(subset=["value"])
    if read.empty:
        return
    readings_in_trace = read[read["time"] >= 0].sort_values("time", kind="stable")
    groups = list(readings_in_trace.groupby("name", sort=True))
    for name, gauge_readings in groups[:GAUGES_SHOWN]:
        source = gauge_readings["source"].iloc[0]
        unit = gauge_readings["unit"].iloc[0]
        unit_text = "" if pd.isna(unit) else str(unit)
        yield _track(gauge_readings, "value", str(name), f"read by {source}", unit_text)


def _track(frame: pd.DataFrame, column: str, name: str, note: str, unit: str) -> Track:
    """Make a track of rows that last, or of moments of which each lasts until the next."""
    if "time" in frame:
        frame = frame.sort_values("time", kind="stable")
        times = _until_next(frame["time"].to_numpy(np.int64))
    else:
        frame = frame.sort_values("start", kind="stable")
        times = _lasting(frame)
    return level_track(name, note, times, frame[column].to_numpy(np.float64), unit)


def _lasting(frame: pd.DataFrame) -> tuple[Times, Times]:
    """Return the intervals of samples; samples without length last until the next.

    If the next one is late, they last twice the usual time between two samples.
    """
    starts, ends = spans(frame)
    if (ends > starts).any() or starts.size < 2:  # noqa: PLR2004
        return starts, ends
    median_period = int(np.median(np.diff(starts)))
    next_starts = np.append(starts[1:], starts[-1] + median_period)
    return starts, np.minimum(next_starts, starts + 2 * median_period)


def _until_next(moments: Times) -> tuple[Times, Times]:
    """Return intervals that each last until the next reading; the last one is a point."""
    return moments, np.append(moments[1:], moments[-1:])
