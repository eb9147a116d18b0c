"""The parts of a timeline: tracks, and rows of a table laid on them in lanes.

A worker that was attached to has prepared and warmed up before time 0 of the trace. Its tables
keep those marks with their true, negative times; drawn, they would only stretch the axis.
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis import intervals as analysis_intervals
from tracekit.analysis import tracks

# A page has millions of numbers of few texts and things, which take half the memory of times.
Integers = NDArray[np.signedinteger[Any]]


class Kind(StrEnum):
    """The content of a track, which decides how it is drawn."""

    EVIDENCE = "evidence"
    PHASES = "phases"
    STEPS = "steps"
    SUBMISSIONS = "submissions"
    DEVICE = "device"
    IDLE = "idle"
    OTHERS = "others"
    DRIVER = "driver"
    COMPILER = "compiler"
    STATES = "states"
    LEVELS = "levels"


@dataclass(frozen=True)
class Detail:
    """A fact of each interval of a track; -1 if it is not known.

    `unit` is "ns" for a time; "lead" for a time that ended when the interval started; "text" for
    indexes into `texts`; or "number" for things that are counted from 1, zero if not known.
    Intervals with the same number on several tracks belong together.
    """

    name: str
    unit: str
    numbers: Integers
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Levels:
    """A level during each interval of a track; none is unknown.

    `unit` is "ratio", "bytes", "count", or "" if it is not stated.
    """

    values: NDArray[np.float64]
    unit: str

    @property
    def lowest(self) -> float:
        """The lowest level."""
        if not self.values.size:
            return 0.0
        return float(self.values.min())

    @property
    def highest(self) -> float:
        """The highest level."""
        if not self.values.size:
            return 0.0
        return float(self.values.max())


@dataclass(frozen=True)
class Track:
    """Intervals of one sort, ordered by lane and then by start; times in ns of the trace.

    Intervals of one lane do not overlap. `codes` are indexes into `texts`, the names of the
    intervals; `lanes` holds how many intervals each lane has, from the top.
    """

    name: str
    kind: Kind
    starts: analysis_intervals.Times
    durations: analysis_intervals.Times
    codes: Integers
    texts: tuple[str, ...]
    lanes: tuple[int, ...]
    note: str = ""
    details: tuple[Detail, ...] = ()
    levels: Levels | None = None

    @property
    def ends(self) -> analysis_intervals.Times:
        """The end of each interval."""
        return self.starts + self.durations


@dataclass(frozen=True)
class Timeline:
    """All tracks on one axis, from `begin` to `end`; `absences` names missing ones with reasons."""

    begin: int
    end: int
    tracks: tuple[Track, ...]
    steady: analysis_intervals.Window | None = None
    absences: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """The number of intervals on all tracks."""
        return sum(track.starts.size for track in self.tracks)


MOST = 6


UNKNOWN = -1
MERGED = "several, merged"


def track(
    events: tracks.EventTrack,
    kind: Kind,
    note: str,
    *,
    details: tuple[Detail, ...] = (),
    max_lanes: int = MOST,
) -> Track:
    """Make a track of events, lane by lane.

    Events that find no free lane are merged into one lane more, and the note gives their number.
    """
    intervals = events.arrange(max_lanes)
    by_lane = np.argsort(intervals.lanes, kind="stable")
    overflow_count = int((intervals.lanes < 0).sum())
    overflow = by_lane[:overflow_count]
    kept_places = by_lane[overflow_count:]
    unknown = int(events.frame["duration"].isna().sum())
    if unknown:
        note = _add_note(note, f"{unknown:,} without a duration, drawn as points")
    kept_rows = intervals.order[kept_places]
    kept_details = [replace(detail, numbers=detail.numbers[kept_rows]) for detail in details]
    base_track = Track(
        name=events.title,
        kind=kind,
        starts=intervals.starts[kept_places],
        durations=(intervals.ends - intervals.starts)[kept_places],
        codes=intervals.codes[kept_places].astype(np.int32),
        texts=intervals.names,
        lanes=tuple(np.bincount(intervals.lanes[kept_places]).tolist()),
        note=note,
        details=tuple(kept_details),
    )
    if not overflow.size:
        return base_track
    return _with_merged(base_track, intervals.starts[overflow], intervals.ends[overflow])


def _add_note(note: str, addition: str) -> str:
    if not note:
        return addition
    return f"{note}; {addition}"


def times(name: str, values: pd.Series) -> Detail:
    """Make a detail of durations in ns, with nulls."""
    known_values = values.fillna(UNKNOWN)
    return Detail(name, "ns", known_values.to_numpy(dtype=np.int64))


def lead(name: str, values: pd.Series) -> Detail:
    """Make a detail of durations in ns, with nulls, that each ended when its interval started."""
    return replace(times(name, values), unit="lead")


def words(name: str, values: pd.Series) -> Detail:
    """Make a detail of strings, with nulls."""
    codes, distinct = pd.factorize(values)
    texts = tuple(str(text) for text in distinct)
    return Detail(name, "text", codes.astype(np.int32), texts)


def numbers(name: str, ids: pd.Series, known_ids: NDArray[np.uint64]) -> Detail:
    """Make a detail of ids: the place of each among all known ones, from 1; zero for none."""
    values = ids.to_numpy(dtype=np.uint64, na_value=0)
    places = (np.searchsorted(known_ids, values) + 1).astype(np.int32)
    places[ids.isna().to_numpy(bool)] = 0
    return Detail(name, "number", places)


def _with_merged(
    base_track: Track, starts: analysis_intervals.Times, ends: analysis_intervals.Times
) -> Track:
    """Add a lane of merged intervals below the others."""
    note = f"{starts.size:,} more that overlap are merged in the lowest lane"
    starts, ends = analysis_intervals.union(starts, ends)
    size = starts.size

    def extend(values: Integers, value: int) -> Integers:
        added_values = np.full(size, value, values.dtype)
        return np.concatenate((values, added_values))

    details: list[Detail] = []
    for detail in base_track.details:
        extended_numbers = extend(detail.numbers, unknown(detail))
        details.append(replace(detail, numbers=extended_numbers))
    all_starts = np.concatenate((base_track.starts, starts))
    all_durations = np.concatenate((base_track.durations, ends - starts))
    all_codes = extend(base_track.codes, len(base_track.texts))
    whole_note = _add_note(base_track.note, note)
    return replace(
        base_track,
        starts=all_starts,
        durations=all_durations,
        codes=all_codes,
        texts=(*base_track.texts, MERGED),
        lanes=(*base_track.lanes, size),
        note=whole_note,
        details=tuple(details),
    )


def unknown(detail: Detail) -> int:
    """Return the number that marks an interval for which the detail is not known."""
    if detail.unit == "number":
        return 0
    return UNKNOWN


_BEGUN = "begun before the trace"


def in_trace(events: tracks.EventTrack) -> tuple[tracks.EventTrack, str]:
    """Leave out events that ended before time 0, and begin those that went on through it at 0.

    The second part is a note in words on the events left out.
    """
    starts, ends = analysis_intervals.spans(events.frame)
    is_outside = (starts < 0) & (ends <= 0)
    through = (starts < 0) & (ends > 0)
    if not (is_outside | through).any():
        return events, ""
    clipped_starts = np.maximum(starts, 0)
    clipped_frame = events.frame.assign(start=clipped_starts, duration=ends - clipped_starts)
    clipped_rows = replace(events.rows, frame=clipped_frame)
    labels = events.labels
    marked_labels = labels.astype(str) + f", {_BEGUN}"
    texts = labels.astype(object).mask(through, marked_labels)
    note = ""
    count = int(is_outside.sum())
    if count:
        note = f"{count:,} from before the trace left out"
    clipped_events = replace(events, rows=clipped_rows, labels=texts)
    return clipped_events.select(~is_outside), note
