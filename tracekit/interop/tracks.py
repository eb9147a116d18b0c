"""The tracks of a run as groups with slices and levels, as other programs draw them.

Times are nanoseconds from the start of the trace.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit import analysis
from tracekit.analysis import Finding
from tracekit.analysis import intervals as analysis_intervals

Ids = NDArray[np.uint64]
Redact = Callable[[str], str]


@dataclass(frozen=True)
class TrackGroup:
    """Tracks that belong together: those of a process, or of a device (pid None)."""

    name: str
    pid: int | None = None


@dataclass(frozen=True)
class Slices:
    """Intervals of one track, in order of their starts (ns); those of one lane do not overlap.

    `lanes` are numbers from 0. `codes` are the places of their names in the distinct `names`.
    `arguments` are their other values by name, with nulls. `flows` are the chains that they are
    links of, an array for each kind of chain; 0 is none.
    """

    group: TrackGroup
    name: str
    starts: analysis_intervals.Times
    ends: analysis_intervals.Times
    lanes: analysis_intervals.Times
    codes: NDArray[np.int64]
    names: tuple[str, ...]
    arguments: dict[str, pd.Series] = field(default_factory=dict[str, pd.Series])
    flows: tuple[Ids, ...] = ()


@dataclass(frozen=True)
class StepSeries:
    """A quantity over time: each value holds until the next one; in order of the times."""

    group: TrackGroup
    name: str
    unit: str
    times: analysis_intervals.Times
    values: NDArray[np.float64]


def known_of(track: Slices) -> list[dict[str, object]]:
    """Return the arguments of each slice by name, without the nulls."""
    rows: list[dict[str, object]] = [{} for _ in track.starts]
    for name, values in track.arguments.items():
        has_value = values.notna().to_numpy()
        known_values = zip(np.flatnonzero(has_value), values[has_value].tolist(), strict=True)
        for place, value in known_values:
            rows[place][name] = value
    return rows


def split_lanes(track: Slices) -> Iterator[Slices]:
    """Split a track into tracks whose slices do not overlap, and yield these."""
    for lane in range(int(track.lanes.max(initial=-1)) + 1):
        places = np.flatnonzero(track.lanes == lane)
        arguments = {name: values.iloc[places] for name, values in track.arguments.items()}
        flows = [flow[places] for flow in track.flows]
        yield replace(
            track,
            starts=track.starts[places],
            ends=track.ends[places],
            lanes=track.lanes[places],
            codes=track.codes[places],
            arguments=arguments,
            flows=tuple(flows),
        )


Tables = Mapping[str, pd.DataFrame]
Track = Slices | StepSeries

_WORKLOAD = TrackGroup("Workload")
_MACHINE = TrackGroup("Machine")
_FINDINGS = TrackGroup("tracekit")
# Kinds of chains, by the id that links them.
_BUFFERS = 1
_ENCODERS = 2
# By table, the columns that become arguments of slices.
_MARKS = {"phases": (), "steps": ("index", "phase", "tokens"), "spans": ()}
_OF_PROCESS = {
    "submissions": ("command_buffer", "encoders", "encoder_time"),
    "encoders": ("command_buffer", "encoder"),
    "driver_intervals": ("label",),
    "compiler_activity": ("program",),
}
_ON_DEVICE = ("command_buffer", "encoder", "submission", "start_latency", "state", "bytes", "pid")
_STATES = ("gpu_states", "gpu_performance_states", "thermal_states")
# By table, the column that names slices instead of labels, which arguments and other tracks show.
_NAMES = {"steps": "variant", "submissions": "event", "compiler_activity": "compiler"}


def tracks(
    tables: Tables, findings: tuple[Finding, ...] = (), redact: Redact = str
) -> Iterator[Track]:
    """Yield all tracks of a run; tables that are missing or unreadable are left out.

    Every text passes through `redact`. The chain of a command buffer runs from its submission over
    its encoders to their intervals on the device.
    """
    for track in _tracks(tables, findings):
        group_name = redact(track.group.name)
        group = replace(track.group, name=group_name)
        redacted_track = replace(track, group=group, name=redact(track.name))
        if isinstance(redacted_track, Slices):
            redacted_track = _redact_slices(redacted_track, redact)
        yield redacted_track


def _redact_slices(track: Slices, redact: Redact) -> Slices:
    """Return a track with redacted names and arguments of its slices."""
    arguments = dict(track.arguments)
    for name, values in track.arguments.items():
        if pd.api.types.is_string_dtype(values):
            arguments[name] = values.map(redact, na_action="ignore")
    names = tuple(map(redact, track.names))
    return replace(track, names=names, arguments=arguments)


def _tracks(tables: Tables, findings: tuple[Finding, ...]) -> Iterator[Track]:
    evidence = analysis.tracks.evidence_track(findings)
    for events in evidence.split("rule", "", sort=False):
        yield _slices(_FINDINGS, events, ("finding", "note"))
    for table, columns in _MARKS.items():
        events = _events(tables, table)
        if not events.absence:
            yield _slices(_WORKLOAD, events, columns)
    for table, columns in _OF_PROCESS.items():
        for events in _events(tables, table).split_processes():
            yield _slices(TrackGroup(events.process, events.pid), events, columns)
    yield from _on_device(_events(tables, "gpu_intervals"))
    for table in _STATES:
        events = _events(tables, table)
        if not events.absence:
            yield _slices(_MACHINE, events, ())
    yield from _levels(tables)


def _events(tables: Tables, table: str) -> analysis.tracks.EventTrack:
    events = analysis.tracks.event_track(tables, table)
    if table not in _NAMES or events.absence:
        return events
    names = events.frame[_NAMES[table]]
    if table == "steps":
        names = names.fillna("step")
    return events.relabel(names)


def _slices(
    group: TrackGroup, events: analysis.tracks.EventTrack, columns: tuple[str, ...]
) -> Slices:
    """Make a track of events; one without a duration has no length."""
    intervals = events.arrange()
    frame = events.frame.iloc[intervals.order]
    arguments: dict[str, pd.Series] = {}
    for column in columns:
        if column in frame:
            arguments[column] = frame[column].reset_index(drop=True)
    return Slices(
        group=group,
        name=events.title,
        starts=intervals.starts,
        ends=intervals.ends,
        lanes=intervals.lanes,
        codes=intervals.codes,
        names=intervals.names,
        arguments=arguments,
        flows=tuple(_flows(events.rows.table, frame)),
    )


def _flows(table: str, frame: pd.DataFrame) -> Iterator[Ids]:
    """Yield the links of each row: by its command buffer, by its encoder."""
    if table in {"submissions", "encoders"}:
        yield _links(frame, "command_buffer", _BUFFERS)
    if table != "submissions" and "encoder" in frame:
        yield _links(frame, "encoder", _ENCODERS)


def _links(frame: pd.DataFrame, column: str, kind: int) -> Ids:
    """Return the chain of each row, 0 for none: ids of different kinds or processes differ.

    The kind takes the two lowest bits, the process the bits from 40 on.
    """
    has_id = frame[column].notna().to_numpy()
    known_ids = frame[column].fillna(0)
    ids = known_ids.to_numpy(np.uint64)
    pids = frame["pid"].fillna(0).to_numpy(np.uint64)
    ids_of_kind = ids * np.uint64(4) + np.uint64(kind)
    mixed = ids_of_kind ^ (pids << np.uint64(40))
    return np.where(has_id, mixed, np.uint64(0))


def _on_device(intervals: analysis.tracks.EventTrack) -> Iterator[Slices]:
    """Yield a track for each channel and process, the target's first."""
    for events in intervals.split_processes():
        device = TrackGroup("GPU")
        if (events.frame["clock"] == "host").any():
            device = TrackGroup("CPU backend")
        process = events.process
        if events.pid is not None:
            process = f"{process} ({events.pid})"
        for channel in events.split("channel", analysis.tracks.UNKNOWN_CHANNEL):
            titled = replace(channel, title=f"{channel.title}: {process}")
            yield _slices(device, titled, _ON_DEVICE)


def _levels(tables: Tables) -> Iterator[StepSeries]:
    for counter in analysis.tracks.counter_tracks(tables):
        yield _step_series(_MACHINE, counter)
    for gauge in analysis.tracks.gauge_tracks(tables):
        yield _step_series(_WORKLOAD, gauge)
    for memory in analysis.tracks.memory_tracks(tables):
        yield _step_series(TrackGroup(memory.process, memory.pid), memory)


def _step_series(group: TrackGroup, levels: analysis.tracks.LevelTrack) -> StepSeries:
    return StepSeries(group, levels.name, levels.unit, levels.starts, levels.values)
