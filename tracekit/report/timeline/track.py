"""What a timeline is made of: tracks, and rows of a table laid on them in lanes.

A worker that was attached to has prepared and warmed up before time 0 of the trace. Its tables
keep those marks with their true, negative times; drawn, they would only stretch the axis.
"""

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis import Times, Window, lanes_of, spans, union
from tracekit.tables import families


class Kind(StrEnum):
    """What a track shows, and so how it is drawn."""

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
    """A fact of each interval of a track; -1 where it is not known.

    `unit` is "ns" for a time; "lead" for a time that ended when the interval started; "text" for
    indexes into `texts`; or "number" for what is counted from 1, zero where it is not known:
    those with the same number on several tracks belong together.
    """

    name: str
    unit: str
    numbers: Times
    texts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Levels:
    """How high something stood during each interval of a track; none is unknown.

    `unit` is "ratio", "bytes", "count", or "" where it is not stated.
    """

    values: NDArray[np.float64]
    unit: str

    @property
    def lowest(self) -> float:
        """The lowest level."""
        return float(self.values.min()) if self.values.size else 0.0

    @property
    def highest(self) -> float:
        """The highest level."""
        return float(self.values.max()) if self.values.size else 0.0


@dataclass(frozen=True)
class Track:
    """Intervals of one sort, ordered by lane and then by start; times in ns of the trace.

    Intervals of one lane do not overlap. `codes` are indexes into `texts`, the names of the
    intervals; `lanes` holds how many intervals each lane has, from the top.
    """

    name: str
    kind: Kind
    starts: Times
    durations: Times
    codes: Times
    texts: tuple[str, ...]
    lanes: tuple[int, ...]
    note: str = ""
    details: tuple[Detail, ...] = ()
    levels: Levels | None = None

    @property
    def ends(self) -> Times:
        """When each interval ended."""
        return self.starts + self.durations


@dataclass(frozen=True)
class Timeline:
    """All tracks on one axis, from `begin` to `end`; `absences` says which are missing, and why."""

    begin: int
    end: int
    tracks: tuple[Track, ...]
    steady: Window | None = None
    absences: tuple[str, ...] = ()

    @property
    def count(self) -> int:
        """How many intervals there are on all tracks."""
        return sum(track.starts.size for track in self.tracks)


MOST = 6


UNKNOWN = -1
MERGED = "several, merged"


def track(
    name: str,
    kind: Kind,
    note: str,
    frame: pd.DataFrame,
    labels: pd.Series,
    *,
    details: tuple[Detail, ...] = (),
    max_lanes: int = MOST,
) -> Track:
    """Make a track of the rows of a table with `start` and `duration`.

    Rows that find no free lane are merged into one lane more, and the note says how many.
    """
    starts, ends = spans(frame)
    codes, texts = families(labels)
    order = np.lexsort((-ends, starts))
    lanes = lanes_of(starts[order], ends[order], max_lanes)
    order, lanes = order[np.argsort(lanes, kind="stable")], np.sort(lanes, kind="stable")
    overflow, kept_rows, lanes = order[lanes < 0], order[lanes >= 0], lanes[lanes >= 0]
    unknown = int(frame["duration"].isna().sum())
    points = f"{unknown:,} without a duration, drawn as points" if unknown else ""
    base_track = Track(
        name=name,
        kind=kind,
        starts=starts[kept_rows],
        durations=(ends - starts)[kept_rows],
        codes=codes.to_numpy(dtype=np.int64)[kept_rows],
        texts=texts,
        lanes=tuple(int(size) for size in np.bincount(lanes)),
        note="; ".join(filter(None, (note, points))),
        details=tuple(replace(detail, numbers=detail.numbers[kept_rows]) for detail in details),
    )
    return (
        _with_merged(base_track, starts[overflow], ends[overflow]) if overflow.size else base_track
    )


def times(name: str, values: pd.Series) -> Detail:
    """Make a detail of durations in ns, with nulls."""
    return Detail(name, "ns", values.fillna(UNKNOWN).to_numpy(dtype=np.int64))


def lead(name: str, values: pd.Series) -> Detail:
    """Make a detail of durations in ns, with nulls, that each ended when its interval started."""
    return replace(times(name, values), unit="lead")


def words(name: str, values: pd.Series) -> Detail:
    """Make a detail of strings, with nulls."""
    codes, distinct = pd.factorize(values)
    return Detail(name, "text", codes.astype(np.int64), tuple(str(text) for text in distinct))


def numbers(name: str, ids: pd.Series, known_ids: Times) -> Detail:
    """Make a detail of ids: the place of each among all known ones, from 1; zero for none."""
    values = ids.to_numpy(dtype=np.uint64, na_value=0)
    places = np.searchsorted(known_ids, values) + 1
    return Detail(name, "number", np.where(ids.notna().to_numpy(bool), places, 0))


def _with_merged(base_track: Track, starts: Times, ends: Times) -> Track:
    note = f"{starts.size:,} more that overlap are merged in the lowest lane"
    starts, ends = union(starts, ends)
    size = starts.size

    def extend(values: Times, value: int) -> Times:
        return np.concatenate((values, np.full(size, value, np.int64)))

    return replace(
        base_track,
        starts=np.concatenate((base_track.starts, starts)),
        durations=np.concatenate((base_track.durations, ends - starts)),
        codes=extend(base_track.codes, len(base_track.texts)),
        texts=(*base_track.texts, MERGED),
        lanes=(*base_track.lanes, size),
        note="; ".join(filter(None, (base_track.note, note))),
        details=tuple(
            replace(detail, numbers=extend(detail.numbers, unknown(detail)))
            for detail in base_track.details
        ),
    )


def unknown(detail: Detail) -> int:
    """Return the number that stands for what is not known of an interval."""
    return 0 if detail.unit == "number" else UNKNOWN


_BEGUN = "begun before the trace"


def in_trace(frame: pd.DataFrame, labels: pd.Series) -> tuple[pd.DataFrame, pd.Series, str]:
    """Leave out what ended before time 0, and draw from there what went on through it.

    The third part says in words what was left out.
    """
    starts, ends = spans(frame)
    outside = (starts < 0) & (ends <= 0)
    through = (starts < 0) & (ends > 0)
    if not (outside | through).any():
        return frame, labels, ""
    clipped_frame = frame.assign(start=np.maximum(starts, 0), duration=ends - np.maximum(starts, 0))
    texts = labels.astype(object).mask(through, labels.astype(str) + f", {_BEGUN}")
    count = int(outside.sum())
    note = f"{count:,} from before the trace left out" if count else ""
    return clipped_frame[~outside], texts[~outside], note
