"""The tables of a run as groups of tracks with slices and levels, as other programs draw them.

Times are nanoseconds from the start of the trace.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis import Finding, Times, lanes_of, spans
from tracekit.base import TracekitError
from tracekit.tables import families

Ids = NDArray[np.uint64]
Redact = Callable[[str], str]


@dataclass(frozen=True)
class TrackGroup:
    """Tracks that belong together: those of a process, or of a device (pid None)."""

    name: str
    pid: int | None = None


@dataclass(frozen=True)
class Slices:
    """Intervals of one track, in order of their starts (ns); they may overlap.

    `codes` are the places of their names in the distinct `names`. `arguments` are their other
    values by name, with nulls. `flows` are the chains that they are links of, an array for each
    kind of chain; 0 is none.
    """

    group: TrackGroup
    name: str
    starts: Times
    ends: Times
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
    times: Times
    values: NDArray[np.float64]


def known_of(track: Slices) -> list[dict[str, object]]:
    """Return the arguments of each slice by name, without the nulls."""
    rows: list[dict[str, object]] = [{} for _ in track.starts]
    for name, values in track.arguments.items():
        has_value = values.notna().to_numpy()
        for place, value in zip(np.flatnonzero(has_value), values[has_value].tolist(), strict=True):
            rows[place][name] = value
    return rows


def lanes(track: Slices) -> Iterator[Slices]:
    """Split a track into the fewest tracks whose slices do not overlap, and yield these."""
    lane_of = lanes_of(track.starts, track.ends)
    for lane in range(int(lane_of.max(initial=-1)) + 1):
        places = np.flatnonzero(lane_of == lane)
        arguments = {name: values.iloc[places] for name, values in track.arguments.items()}
        flows = [flow[places] for flow in track.flows]
        yield replace(
            track,
            starts=track.starts[places],
            ends=track.ends[places],
            codes=track.codes[places],
            arguments=arguments,
            flows=tuple(flows),
        )


Tables = Mapping[str, pd.DataFrame]
Track = Slices | StepSeries

_WORKLOAD = TrackGroup("Workload")
_MACHINE = TrackGroup("Machine")
_FINDINGS = TrackGroup("tracekit")
_BUFFERS = 1
_ENCODERS = 2
# Table, track, column of the name, columns of arguments; one track for each process.
_OF_PROCESS = (
    ("submissions", "Command buffers", "event", ("command_buffer", "encoders", "encoder_time")),
    ("encoders", "Encoders", "label", ("command_buffer", "encoder")),
    ("driver_intervals", "Driver", "event", ("label",)),
    ("compiler_activity", "Shader compiler", "compiler", ("program",)),
)
_ON_DEVICE = ("command_buffer", "encoder", "submission", "start_latency", "state", "bytes", "pid")
_MARKS = (
    ("phases", "Phases", "name", ()),
    ("steps", "Steps", "variant", ("index", "phase", "tokens")),
    ("spans", "Spans", "name", ()),
)
_STATES = (
    ("gpu_states", "GPU state", "state"),
    ("gpu_performance_states", "GPU performance state", "state"),
    ("thermal_states", "Thermal state", "state"),
)


def tracks(
    tables: Tables, findings: tuple[Finding, ...] = (), redact: Redact = str
) -> Iterator[Track]:
    """Yield all tracks of a run; tables that are missing or unreadable are left out.

    Every text passes through `redact`. The chain of a command buffer runs from its submission over
    its encoders to their intervals on the device.
    """
    for track in _tracks(tables, findings):
        group = replace(track.group, name=redact(track.group.name))
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
    return replace(track, names=tuple(map(redact, track.names)), arguments=arguments)


def _tracks(tables: Tables, findings: tuple[Finding, ...]) -> Iterator[Track]:
    yield from _evidence(findings)
    for name, title, column, columns in _MARKS:
        frame = _rows(tables, name)
        if not frame.empty:
            labels = frame[column].fillna(title.removesuffix("s").lower())
            yield _slices(_WORKLOAD, title, frame, labels, columns)
    for name, title, column, columns in _OF_PROCESS:
        for group, process_rows in _by_process(_rows(tables, name)):
            yield _slices(group, title, process_rows, process_rows[column], columns)
    yield from _on_device(_rows(tables, "gpu_intervals"))
    for name, title, column in _STATES:
        frame = _rows(tables, name)
        if not frame.empty:
            yield _slices(_MACHINE, title, frame, frame[column], ())
    yield from _levels(tables)


def _rows(tables: Tables, name: str) -> pd.DataFrame:
    try:
        return tables[name]
    except (KeyError, TracekitError):
        return pd.DataFrame()


def _evidence(findings: tuple[Finding, ...]) -> Iterator[Slices]:
    """Yield a track for each rule that found something: the windows that are its evidence."""
    rows_by_rule: defaultdict[str, list[dict[str, object]]] = defaultdict(list)
    for finding in findings:
        for window in finding.evidence:
            row: dict[str, object] = {
                "start": window.start,
                "duration": window.end - window.start,
                "finding": finding.message,
                "note": window.note or None,
                "label": window.note or finding.rule,
            }
            rows_by_rule[finding.rule].append(row)
    for rule, rows in rows_by_rule.items():
        frame = pd.DataFrame(rows)
        yield _slices(_FINDINGS, rule, frame, frame["label"], ("finding", "note"))


def _slices(
    group: TrackGroup, name: str, frame: pd.DataFrame, labels: pd.Series, columns: tuple[str, ...]
) -> Slices:
    """Make a track of rows with `start` and `duration`; a row without a duration has no length."""
    durations = frame["duration"].fillna(0).to_numpy()
    order = np.lexsort((-durations, frame["start"].to_numpy()))
    frame = frame.iloc[order]
    starts, ends = spans(frame)
    codes, names = families(labels.iloc[order])
    arguments: dict[str, pd.Series] = {}
    for column in columns:
        if column in frame:
            arguments[column] = frame[column].reset_index(drop=True)
    flows = tuple(_flows(name, frame))
    return Slices(group, name, starts, ends, codes.to_numpy(), names, arguments, flows)


def _flows(name: str, frame: pd.DataFrame) -> Iterator[Ids]:
    """Yield the links of each row: by its command buffer, by its encoder."""
    if name in {"Command buffers", "Encoders"}:
        yield _links(frame, "command_buffer", _BUFFERS)
    if name != "Command buffers" and "encoder" in frame:
        yield _links(frame, "encoder", _ENCODERS)


def _links(frame: pd.DataFrame, column: str, kind: int) -> Ids:
    """Number the chains so that ids of different kinds or processes differ."""
    has_id = frame[column].notna().to_numpy()
    ids = frame[column].fillna(0).to_numpy(np.uint64)
    pids = frame["pid"].fillna(0).to_numpy(np.uint64)
    mixed = (ids * np.uint64(4) + np.uint64(kind)) ^ (pids << np.uint64(40))
    return np.where(has_id, mixed, np.uint64(0))


def _by_process(frame: pd.DataFrame) -> Iterator[tuple[TrackGroup, pd.DataFrame]]:
    """Yield the rows of each process, the target's first."""
    if frame.empty:
        return
    processes = frame.groupby(["process", "pid"], sort=False, dropna=False)
    for _, process_rows in sorted(processes, key=lambda group: not bool(group[1]["target"].any())):
        process = process_rows["process"].iloc[0]
        pid = process_rows["pid"].iloc[0]
        name = "unknown process" if pd.isna(process) else str(process)
        known_pid = None if pd.isna(pid) else int(pid)
        yield TrackGroup(name, known_pid), process_rows


def _on_device(frame: pd.DataFrame) -> Iterator[Slices]:
    """Yield a track for each channel and process, the target's first."""
    for group, process_rows in _by_process(frame):
        device = TrackGroup("GPU")
        if (process_rows["clock"] == "host").any():
            device = TrackGroup("CPU backend")
        process = group.name
        if group.pid is not None:
            process = f"{process} ({group.pid})"
        channels = process_rows["channel"].fillna("channel not stated")
        for channel, rows in process_rows.groupby(channels, sort=True):
            yield _slices(device, f"{channel}: {process}", rows, rows["label"], _ON_DEVICE)


def _levels(tables: Tables) -> Iterator[StepSeries]:
    for counter, rows in _group_rows(_rows(tables, "gpu_counters"), "counter"):
        is_percentage = rows["percentage"].fillna(value=False).any()
        unit = "%" if is_percentage else ""
        yield _level(_MACHINE, counter, unit, rows["start"], rows["value"])
    for gauge, rows in _group_rows(_rows(tables, "gauges"), "name"):
        unit = ""
        units = rows["unit"].dropna()
        if len(units):
            unit = str(units.iloc[0])
        yield _level(_WORKLOAD, gauge, unit, rows["time"], rows["value"])
    for group, rows in _by_process(_rows(tables, "allocated_sizes")):
        yield _level(group, "Metal memory", "bytes", rows["start"], rows["size"])
    for group, rows in _by_process(_rows(tables, "process_samples")):
        yield _level(group, "Resident memory", "bytes", rows["time"], rows["memory"])


def _group_rows(frame: pd.DataFrame, column: str) -> Iterator[tuple[str, pd.DataFrame]]:
    if not frame.empty:
        for name, rows in frame.groupby(column, sort=True):
            yield str(name), rows


def _level(
    group: TrackGroup, name: str, unit: str, times: pd.Series, values: pd.Series
) -> StepSeries:
    numbers = values.astype("Float64").to_numpy(np.dtype(np.float64), na_value=np.nan)
    is_finite = np.isfinite(numbers)
    finite_times = times.to_numpy(np.int64)[is_finite]
    order = np.argsort(finite_times, kind="stable")
    return StepSeries(group, name, unit, finite_times[order], numbers[is_finite][order])
