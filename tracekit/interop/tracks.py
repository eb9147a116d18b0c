"""The tables of a run as tracks of slices and levels, in groups, as other programs draw them.

Times are nanoseconds of the trace, as everywhere here.
"""

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

    `codes` say which of the distinct `names` each has; `arguments` what else is known of each, by
    name, with nulls. `flows` are the chains that each is a link of, an array for each kind of
    chain; 0 is none.
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
    """Yield the track's slices, as few tracks as it takes to let none overlap."""
    lane_of = lanes_of(track.starts, track.ends)
    for lane in range(int(lane_of.max(initial=-1)) + 1):
        places = np.flatnonzero(lane_of == lane)
        yield replace(
            track,
            starts=track.starts[places],
            ends=track.ends[places],
            codes=track.codes[places],
            arguments={name: values.iloc[places] for name, values in track.arguments.items()},
            flows=tuple(flow[places] for flow in track.flows),
        )


Tables = Mapping[str, pd.DataFrame]
Track = Slices | StepSeries

_WORKLOAD = TrackGroup("Workload")
_MACHINE = TrackGroup("Machine")
_FINDINGS = TrackGroup("tracekit")
_BUFFERS, _ENCODERS = 1, 2
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
    """Yield all there is to draw of a run; tables that are missing or unreadable are left out.

    Every text passes through `redact`. The chain of a command buffer runs from its submission over
    its encoders to their intervals on the device.
    """
    for track in _tracks(tables, findings):
        group = replace(track.group, name=redact(track.group.name))
        redacted_track = replace(track, group=group, name=redact(track.name))
        if isinstance(redacted_track, Slices):
            arguments = {
                key: values.map(redact, na_action="ignore")
                if pd.api.types.is_string_dtype(values)
                else values
                for key, values in redacted_track.arguments.items()
            }
            redacted_track = replace(
                redacted_track, names=tuple(map(redact, redacted_track.names)), arguments=arguments
            )
        yield redacted_track


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
    """Yield a track for each rule that found something: the windows that show it."""
    windows = [(finding, window) for finding in findings for window in finding.evidence]
    for rule in dict.fromkeys(finding.rule for finding, _ in windows):
        rule_windows = [(finding, window) for finding, window in windows if finding.rule == rule]
        frame = pd.DataFrame(
            {
                "start": [window.start for _, window in rule_windows],
                "duration": [window.end - window.start for _, window in rule_windows],
                "finding": [finding.message for finding, _ in rule_windows],
                "note": [window.note or None for _, window in rule_windows],
            }
        )
        labels = pd.Series([window.note or rule for _, window in rule_windows])
        yield _slices(_FINDINGS, rule, frame, labels, ("finding", "note"))


def _slices(
    group: TrackGroup, name: str, frame: pd.DataFrame, labels: pd.Series, columns: tuple[str, ...]
) -> Slices:
    """Make a track of rows with `start` and `duration`; a row without a duration has no length."""
    order = np.lexsort((-frame["duration"].fillna(0).to_numpy(), frame["start"].to_numpy()))
    frame, labels = frame.iloc[order], labels.iloc[order]
    starts, ends = spans(frame)
    codes, names = families(labels)
    there = [column for column in columns if column in frame]
    arguments = {column: frame[column].reset_index(drop=True) for column in there}
    return Slices(
        group, name, starts, ends, codes.to_numpy(), names, arguments, tuple(_flows(name, frame))
    )


def _flows(name: str, frame: pd.DataFrame) -> Iterator[Ids]:
    """Yield the links of each row: by its command buffer, by its encoder."""
    if name in {"Command buffers", "Encoders"}:
        yield _links(frame, "command_buffer", _BUFFERS)
    if name != "Command buffers" and "encoder" in frame:
        yield _links(frame, "encoder", _ENCODERS)


def _links(frame: pd.DataFrame, column: str, kind: int) -> Ids:
    """Number the chains so that ids of another kind, of another process, are others."""
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
        process, pid = process_rows["process"].iloc[0], process_rows["pid"].iloc[0]
        name = "unknown process" if pd.isna(process) else str(process)
        yield TrackGroup(name, None if pd.isna(pid) else int(pid)), process_rows


def _on_device(frame: pd.DataFrame) -> Iterator[Slices]:
    """Yield a track for each channel and process, the target's first."""
    for group, process_rows in _by_process(frame):
        device = TrackGroup("CPU backend" if (process_rows["clock"] == "host").any() else "GPU")
        for channel, rows in process_rows.groupby(
            process_rows["channel"].fillna("channel not stated"), sort=True
        ):
            who = group.name if group.pid is None else f"{group.name} ({group.pid})"
            yield _slices(device, f"{channel}: {who}", rows, rows["label"], _ON_DEVICE)


def _levels(tables: Tables) -> Iterator[StepSeries]:
    for counter, rows in _group_rows(_rows(tables, "gpu_counters"), "counter"):
        unit = "%" if rows["percentage"].fillna(value=False).any() else ""
        yield _level(_MACHINE, counter, unit, rows["start"], rows["value"])
    for gauge, rows in _group_rows(_rows(tables, "gauges"), "name"):
        units = rows["unit"].dropna()
        unit = str(units.iloc[0]) if len(units) else ""
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
