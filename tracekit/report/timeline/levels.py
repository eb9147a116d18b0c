"""Readings become a track of levels: what stood how high, and until when."""

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis.intervals import Times
from tracekit.base.units import count
from tracekit.report.timeline.arrange import Heading
from tracekit.report.timeline.track import Levels, Track

MOST_READINGS = 4_096


def level_track(
    heading: Heading,
    times: tuple[Times, Times],
    values: NDArray[np.float64],
    unit: str,
    most: int = MOST_READINGS,
) -> Track:
    """Make a track of readings in the order of their time.

    A reading lasts until its end, or until the next one. Of more than `most`, equal parts of
    the run keep their lowest and their highest, and the note says so.
    """
    starts, ends = times
    note = heading.note
    kept = _extremes(values, most)
    if kept.size < values.size:
        note = f"{note}; the lowest and highest of each {count(_part(values.size, most))} readings"
    ends = np.maximum.reduceat(ends, kept) if kept.size else ends
    starts, values = starts[kept], values[kept]
    ends = np.minimum(ends, np.append(starts[1:], ends[-1:]))
    return Track(
        name=heading.name,
        kind=heading.kind,
        starts=starts,
        durations=np.maximum(ends - starts, 0),
        codes=np.zeros(starts.size, np.int64),
        texts=(heading.name,),
        lanes=(int(starts.size),),
        note=note,
        levels=Levels(values, unit),
    )


def _part(size: int, most: int) -> int:
    return -(-size // (most // 2))


def _extremes(values: NDArray[np.float64], most: int) -> Times:
    """Return the places of the values to keep, in order."""
    if values.size <= most:
        return np.arange(values.size)
    part = _part(values.size, most)
    whole = -(-values.size // part)
    padded = np.append(values, np.full(whole * part - values.size, values[-1]))
    parts = padded.reshape(whole, part)
    firsts = np.arange(whole) * part
    places = np.concatenate((firsts + parts.argmin(axis=1), firsts + parts.argmax(axis=1)))
    return np.unique(places.clip(max=values.size - 1))
