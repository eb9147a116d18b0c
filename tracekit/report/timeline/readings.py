"""What was read again and again: counters, memory, work in flight, what monitors read."""

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
    most: int = MOST_READINGS,
) -> Track:
    """Make a track of readings in the order of their time.

    A reading lasts until its end, or until the next one. Of more than `most`, equal parts of
    the run keep their lowest and their highest, and the note says so.
    """
    starts, ends = times
    kept = _extremes(values, most)
    if kept.size < values.size:
        note = f"{note}; the lowest and highest of each {count(_part(values.size, most))} readings"
    ends = np.maximum.reduceat(ends, kept) if kept.size else ends
    starts, values = starts[kept], values[kept]
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


def _part(size: int, most: int) -> int:
    return -(-size // (most // 2))


def _extremes(values: NDArray[np.float64], most: int) -> Times:
    if values.size <= most:
        return np.arange(values.size)
    part = _part(values.size, most)
    whole = -(-values.size // part)
    padded = np.append(values, np.full(whole * part - values.size, values[-1]))
    parts = padded.reshape(whole, part)
    firsts = np.arange(whole) * part
    places = np.concatenate((firsts + parts.argmin(axis=1), firsts + parts.argmax(axis=1)))
    return np.unique(places.clip(max=values.size - 1))


COUNTERS_SHOWN = 8
GAUGES_SHOWN = 6
_FIRST = "occupancy"


def readings(tables: Tables) -> Iterator[Track | str]:
    """Make a track for each thing that was read, and say which counters are left out."""
    yield from _in_flight(tables)
    yield from _counters(tables)
    yield from _memory(tables)
    yield from _gauges(tables)


def _in_flight(tables: Tables) -> Iterator[Track]:
    buffers = of_target(tables, "command_buffers").frame.dropna(subset=["committed", "completed"])
    if buffers.empty:
        return
    begins, ends = (buffers[column].to_numpy(np.int64) for column in ("committed", "completed"))
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
        own = read[read["counter"] == name]
        if own["percentage"].fillna(value=False).all():
            own, unit = own.assign(value=own["value"] / 100), "ratio"
        else:
            unit = ""
        yield _track(own, "value", name, "counter of the whole GPU", unit)
    if left := len(ranked[COUNTERS_SHOWN:]):
        yield f"{left:,} more counters are read and not drawn: those with lower values."


def _memory(tables: Tables) -> Iterator[Track]:
    sizes = of_target(tables, "allocated_sizes").frame.dropna(subset=["size"])
    for pid, own in sizes.groupby("pid", sort=True, dropna=False):
        whose = "" if pd.isna(pid) else f" of the process {pid}"
        yield _track(own, "size", "Allocated", f"memory of Metal's resources{whose}", "bytes")
    samples = of_target(tables, "process_samples").frame.dropna(subset=["memory"])
    for pid, own in samples.groupby("pid", sort=True):
        note = f"of the process {pid}, by the operating system"
        yield _track(own, "memory", "Resident memory", note, "bytes")


def _gauges(tables: Tables) -> Iterator[Track]:
    read = rows(tables, "gauges").frame.dropna(subset=["value"])
    if read.empty:
        return
    inside = read[read["time"] >= 0].sort_values("time", kind="stable")
    for name, own in list(inside.groupby("name", sort=True))[:GAUGES_SHOWN]:
        unit, source = own["unit"].iloc[0], own["source"].iloc[0]
        shown = "" if pd.isna(unit) else str(unit)
        yield _track(own, "value", str(name), f"read by {source}", shown)


def _track(own: pd.DataFrame, column: str, name: str, note: str, unit: str) -> Track:
    """Make a track of rows that last, or of moments of which each lasts until the next."""
    at = "time" if "time" in own else "start"
    own = own.sort_values(at, kind="stable")
    times = _until_next(own[at].to_numpy(np.int64)) if at == "time" else _lasting(own)
    return level_track(name, note, times, own[column].to_numpy(np.float64), unit)


def _lasting(own: pd.DataFrame) -> tuple[Times, Times]:
    """Return how long samples last: what lasts no time, until the next one is usually due."""
    starts, ends = spans(own)
    if (ends > starts).any() or starts.size < 2:  # noqa: PLR2004
        return starts, ends
    usual = int(np.median(np.diff(starts)))
    return starts, np.minimum(np.append(starts[1:], starts[-1] + usual), starts + 2 * usual)


def _until_next(moments: Times) -> tuple[Times, Times]:
    """Return intervals that each last until the next reading; the last one is a point."""
    return moments, np.append(moments[1:], moments[-1:])
