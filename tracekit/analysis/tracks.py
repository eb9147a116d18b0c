"""The tracks of a run: events and readings of its tables, with their names.

They are made here once. The page and the exports to other programs choose among them and draw them.
Times are nanoseconds from the start of the trace.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.intervals import Times, lanes_of, spans
from tracekit.analysis.rows import Rows, rows
from tracekit.analysis.rule import Finding
from tracekit.tables import families

EVIDENCE = "evidence"
UNKNOWN_PROCESS = "unknown process"
UNKNOWN_CHANNEL = "channel not stated"
_UNKNOWN_STATE = "state not stated"


@dataclass(frozen=True)
class _Naming:
    """The title of a table's track, and the names of its events.

    The name of an event is the first text of its columns `names`, or `unnamed` if none has a text.
    `numbered` comes before a number that is a name.
    """

    title: str
    names: tuple[str, ...]
    unnamed: str | None = None
    numbered: str = ""


_NAMINGS: Mapping[str, _Naming] = {
    "phases": _Naming("Phases", ("name",), "phase"),
    "steps": _Naming("Steps", ("phase",), "step"),
    "spans": _Naming("Spans", ("name",), "span"),
    "submissions": _Naming("Submissions", ("label", "event")),
    "encoders": _Naming("Encoders", ("label",)),
    "gpu_intervals": _Naming("GPU", ("kernel", "label")),
    "driver_intervals": _Naming("Driver", ("event", "label")),
    "compiler_activity": _Naming("Compiler", ("program", "compiler")),
    "gpu_states": _Naming("GPU states", ("state",), _UNKNOWN_STATE),
    "gpu_performance_states": _Naming("GPU performance", ("state",), _UNKNOWN_STATE),
    "gpu_device_performance_states": _Naming(
        "GPU performance", ("state",), _UNKNOWN_STATE, numbered="state "
    ),
    "thermal_states": _Naming("Thermal state", ("state",), _UNKNOWN_STATE),
}


@dataclass(frozen=True)
class Intervals:
    """Events in the order of their starts, the longest first of those that start together.

    `order` are their places in the table. Events of one lane do not overlap; the lane is -1 if none
    was free. `codes` are indexes into `names`, the distinct names without process and instance.
    """

    order: Times
    starts: Times
    ends: Times
    lanes: Times
    codes: Times
    names: tuple[str, ...]


@dataclass(frozen=True)
class EventTrack:
    """Events of one table, in the table's order: `start`, `duration`, and its other columns.

    A null duration is not known. `labels` are the names of the events. `process` and `pid` are
    those of all events if the track was split by process, and empty otherwise.
    """

    rows: Rows
    title: str
    labels: pd.Series
    process: str = ""
    pid: int | None = None

    @property
    def frame(self) -> pd.DataFrame:
        """The rows of the table."""
        return self.rows.frame

    @property
    def absence(self) -> str:
        """The reason if there are no events, and empty otherwise."""
        return self.rows.absence

    def relabel(self, labels: pd.Series) -> "EventTrack":
        """Return the track with other names of its events."""
        return replace(self, labels=labels)

    def select(self, places: NDArray[Any]) -> "EventTrack":
        """Return the events at some places of the table, given as indexes or as a mask."""
        selected_rows = replace(self.rows, frame=self.frame.iloc[places])
        return replace(self, rows=selected_rows, labels=self.labels.iloc[places])

    def split(self, column: str, missing: str, *, sort: bool = True) -> list["EventTrack"]:
        """Return a track for each text of a column, which is its title; `missing` replaces nulls.

        The tracks have the order of the texts, or without `sort` that of their first events.
        """
        texts = self.frame[column].astype("string").fillna(missing).astype(str)
        codes, distinct = pd.factorize(texts, sort=sort)
        tracks: list[EventTrack] = []
        for code, title in enumerate(distinct):
            selected = self.select(np.flatnonzero(codes == code))
            tracks.append(replace(selected, title=str(title)))
        return tracks

    def split_processes(self) -> list["EventTrack"]:
        """Return a track for each process, the target's first, else in the order of the table."""
        tracks: list[EventTrack] = []
        for owner in _find_owners(self.frame):
            selected = self.select(owner.places)
            tracks.append(replace(selected, process=owner.process, pid=owner.pid))
        return tracks

    def arrange(self, lane_limit: int | None = None) -> Intervals:
        """Lay the events in the fewest lanes, or in at most `lane_limit`."""
        starts, ends = spans(self.frame)
        codes, names = families(self.labels)
        order = np.lexsort((-ends, starts))
        ordered_starts = starts[order]
        ordered_ends = ends[order]
        return Intervals(
            order=order,
            starts=ordered_starts,
            ends=ordered_ends,
            lanes=lanes_of(ordered_starts, ordered_ends, lane_limit),
            codes=codes.to_numpy(np.int64)[order],
            names=names,
        )


def event_track(
    tables: Mapping[str, Any], table: str, *, of_target_only: bool = False
) -> EventTrack:
    """Return the events of a table, all or the target's; its `absence` says why it has none.

    Raises:
        KeyError: Events of this table have no names.
    """
    naming = _NAMINGS[table]
    table_rows = rows(tables, table)
    if of_target_only:
        table_rows = table_rows.of_target()
    return EventTrack(table_rows, naming.title, _name_events(table_rows.frame, naming))


def _name_events(frame: pd.DataFrame, naming: _Naming) -> pd.Series:
    columns = [frame[column] for column in naming.names if column in frame]
    labels = columns[0] if columns else pd.Series(pd.NA, frame.index, dtype="string")
    for column in columns[1:]:
        has_text = labels.notna() & (labels != "")
        if not has_text.all():
            labels = labels.where(has_text, column)
    if naming.numbered:
        labels = naming.numbered + labels.astype("string")
    if naming.unnamed is not None:
        labels = labels.fillna(naming.unnamed)
    return labels


def join_tracks(tracks: Sequence[EventTrack], title: str) -> EventTrack:
    """Return the events of several tracks of one table, one track after the other."""
    frame = pd.concat([track.frame for track in tracks])
    labels = pd.concat([track.labels for track in tracks])
    return EventTrack(replace(tracks[0].rows, frame=frame), title, labels)


def evidence_track(findings: Sequence[Finding]) -> EventTrack:
    """Return the windows that findings name as their evidence.

    Their columns are `start`, `duration`, `rule`, `finding` (its message), `note` and `label`.
    """
    columns = ("start", "duration", "rule", "finding", "note", "label")
    windows: list[tuple[object, ...]] = []
    for finding in findings:
        for window in finding.evidence:
            length = window.end - window.start
            label = window.note or finding.rule
            note = window.note or None
            windows.append((window.start, length, finding.rule, finding.message, note, label))
    frame = pd.DataFrame(windows, columns=list(columns))
    absence = "" if windows else "no finding names a window"
    return EventTrack(Rows(EVIDENCE, frame, absence), "Evidence", frame["label"])


@dataclass(frozen=True)
class LevelTrack:
    """Readings of one quantity in the order of their time; a reading lasts from start to end.

    `unit` is as the table states it: "%", "bytes", another text, or "" if it is not stated.
    `source` is the monitor that read a gauge. `process` and `pid` are those of a process's memory.
    """

    table: str
    name: str
    unit: str
    starts: Times
    ends: Times
    values: NDArray[np.float64]
    source: str = ""
    process: str = ""
    pid: int | None = None
    is_of_target: bool = False


def counter_tracks(tables: Mapping[str, Any]) -> Iterator[LevelTrack]:
    """Yield a track for each counter of the GPU, by name."""
    for name, readings in _group_by_name(rows(tables, "gpu_counters").frame, "counter"):
        is_percentage = bool(readings["percentage"].fillna(value=False).all())
        unit = "%" if is_percentage else ""
        yield _level_track("gpu_counters", name, unit, readings, "value")


def gauge_tracks(tables: Mapping[str, Any]) -> Iterator[LevelTrack]:
    """Yield a track for each gauge of the machine, by name."""
    for name, readings in _group_by_name(rows(tables, "gauges").frame, "name"):
        units = readings["unit"].dropna()
        unit = str(units.iloc[0]) if len(units) else ""
        track = _level_track("gauges", name, unit, readings, "value")
        yield replace(track, source=str(readings["source"].iloc[0]))


def memory_tracks(tables: Mapping[str, Any]) -> Iterator[LevelTrack]:
    """Yield the tracks of each process's memory, the target's first: Metal's, then the resident."""
    quantities = (
        ("allocated_sizes", "Metal memory", "size"),
        ("process_samples", "Resident memory", "memory"),
    )
    for table, name, column in quantities:
        frame = rows(tables, table).frame
        for owner in _find_owners(frame):
            track = _level_track(table, name, "bytes", frame.iloc[owner.places], column)
            yield replace(track, process=owner.process, pid=owner.pid, is_of_target=owner.is_target)


def _group_by_name(frame: pd.DataFrame, column: str) -> Iterator[tuple[str, pd.DataFrame]]:
    if not frame.empty:
        for name, readings in frame.groupby(column, sort=True):
            yield str(name), readings


def _level_track(
    table: str, name: str, unit: str, readings: pd.DataFrame, column: str
) -> LevelTrack:
    """Make a track of the finite values of rows with `time`, or with `start` and `duration`."""
    values = readings[column].astype("Float64").to_numpy(np.dtype(np.float64), na_value=np.nan)
    finite_places = np.flatnonzero(np.isfinite(values))
    if "time" in readings:
        moments = readings["time"].to_numpy(np.int64)[finite_places]
        order = np.argsort(moments, kind="stable")
        starts, ends = until_next(moments[order])
    else:
        all_starts, all_ends = spans(readings)
        order = np.argsort(all_starts[finite_places], kind="stable")
        places = finite_places[order]
        starts, ends = _extend_samples(all_starts[places], all_ends[places])
    return LevelTrack(table, name, unit, starts, ends, values[finite_places][order])


def until_next(moments: Times) -> tuple[Times, Times]:
    """Return intervals that each last until the next moment; the last one is a point."""
    return moments, np.append(moments[1:], moments[-1:])


def _extend_samples(starts: Times, ends: Times) -> tuple[Times, Times]:
    """Return the intervals of samples; samples without length last until the next.

    If the next one is late, they last twice the usual time between two samples.
    """
    if (ends > starts).any() or starts.size < 2:  # noqa: PLR2004
        return starts, ends
    median_period = int(np.median(np.diff(starts)))
    next_starts = np.append(starts[1:], starts[-1] + median_period)
    return starts, np.minimum(next_starts, starts + 2 * median_period)


@dataclass(frozen=True)
class _Owner:
    """A process and the places of its rows in a table."""

    process: str
    pid: int | None
    is_target: bool
    places: Times


def _find_owners(frame: pd.DataFrame) -> list[_Owner]:
    """Return the processes of a table's rows, the target first, else in the order of the table."""
    if frame.empty:
        return []
    numbers = frame.groupby(["process", "pid"], sort=False, dropna=False).ngroup().to_numpy()
    is_target = frame["target"].astype(bool).to_numpy()
    owners: list[_Owner] = []
    for number in range(int(numbers.max()) + 1):
        places = np.flatnonzero(numbers == number)
        process = frame["process"].iloc[places[0]]
        pid = frame["pid"].iloc[places[0]]
        owner = _Owner(
            process=UNKNOWN_PROCESS if pd.isna(process) else str(process),
            pid=None if pd.isna(pid) else int(pid),
            is_target=bool(is_target[places].any()),
            places=places,
        )
        owners.append(owner)
    return sorted(owners, key=lambda owner: not owner.is_target)
