"""The life of the target's work, and what host, driver, compiler and others did meanwhile."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.intervals import (
    FOREVER,
    NEVER,
    EqualRuns,
    IntervalSet,
    Times,
    heads_of,
    in_order,
)
from tracekit.analysis.intervals import spans as bounds
from tracekit.analysis.scope import Device
from tracekit.analysis.upkeep import wirings
from tracekit.workload import COMPILE, IDLE, REFERENCE, SUBMIT_INCLUDED

Flags = NDArray[np.bool_]


def union_target_rows(frame: pd.DataFrame | None) -> IntervalSet:
    """Return what the target's rows of a table cover; nothing where there is no table."""
    if frame is None:
        return IntervalSet.empty()
    starts, ends = bounds(frame)  # texts of other columns take long to pick
    if "target" in frame and not frame["target"].all():
        is_target = frame["target"].to_numpy(np.bool_)
        return IntervalSet.from_spans(starts[is_target], ends[is_target])
    return IntervalSet.from_spans(starts, ends)


def moments(column: pd.Series) -> Times:
    """Return a column of times, NEVER where it is null."""
    return column.to_numpy(dtype=np.int64, na_value=NEVER)


def of_buffer(
    work: pd.DataFrame, rows: pd.DataFrame, times: Times, best: Literal["min", "max"]
) -> Times:
    """Return for each piece of work the first or last of the rows' times of its command buffer.

    It is NEVER where there is none; `times` has a moment for each of the rows, or NEVER.
    """
    has_time = rows["command_buffer"].notna().to_numpy() & (times != NEVER)
    ids, work_ids = (
        frame["command_buffer"].to_numpy(dtype=np.uint64, na_value=0) for frame in (rows, work)
    )
    groups = EqualRuns.from_keys(ids[has_time])
    best_times = groups.reduce(np.minimum if best == "min" else np.maximum, times[has_time])
    # Rows of one command buffer mostly follow one another: each run of them is looked up once.
    heads = heads_of(work_ids)
    place = np.searchsorted(groups.keys, work_ids[heads])
    there = np.append(groups.keys, 0)[place] == work_ids[heads]
    there &= place < groups.keys.size
    moments = np.where(there, np.append(best_times, NEVER)[place], NEVER)
    values = np.repeat(moments, np.diff(np.append(heads, work_ids.size)))
    return np.where(work["command_buffer"].notna(), values, NEVER)


@dataclass(frozen=True)
class DeviceWork:
    """One entry for each device interval of the target, ordered by start; NEVER: not known.

    The host began to write it, handed it over (`submitted`), and got it reported (`completed`);
    `start` and `end` are the device's. `buffer` is the number of the command buffer that the
    interval belongs to, from 0; -1 where it is not known.
    `device` is the number of the device, from 0. No interval outlasts the report of its command
    buffer: the rest of it cannot have been.
    """

    encoding_starts: Times
    submitted: Times
    start: Times
    end: Times
    completed: Times
    buffer: Times
    device: Times


def work_of(
    device: Device,
    commits: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
    encoders: pd.DataFrame | None,
    completions: pd.DataFrame | None,
) -> DeviceWork:
    """Join the target's device intervals with what the other tables say of them."""
    target_work = in_order(device.target_intervals)
    start, end = bounds(target_work)
    if device.on_the_host:
        unknown = np.full(start.size, -1)
        one_device = np.zeros(start.size, np.int64)
        encoding_starts = np.where(
            _is_undivided(target_work), NEVER, _host_begun(start, submissions)
        )
        return DeviceWork(encoding_starts, start, start, end, end, unknown, one_device)
    if _same_ids(target_work, submissions):
        commits = None
        target_work, submissions, encoders, completions = _in_commit_order(
            target_work, _commits_of(submissions), encoders, completions
        )
    submitted = _find_submit_times(target_work, start, commits, submissions)
    encoding_starts = _first_written(target_work, encoders, submissions)
    completed = np.full(start.size, NEVER)
    if completions is not None:
        completed = of_buffer(target_work, completions, moments(completions["time"]), "max")
        end = np.where(completed == NEVER, end, np.minimum(end, np.maximum(start, completed)))
    return DeviceWork(
        encoding_starts,
        submitted,
        start,
        end,
        completed,
        _numbers(target_work),
        device_numbers(target_work),
    )


def _numbers(target_work: pd.DataFrame) -> Times:
    """Return the number of each row's command buffer, from 0 in the order of rows; -1 for none."""
    buffers = target_work["command_buffer"]
    if buffers.isna().any() or not buffers.is_monotonic_increasing:
        return pd.factorize(buffers)[0].astype(np.int64)
    ids = buffers.to_numpy(dtype=np.uint64)
    return np.cumsum(np.diff(ids, prepend=ids[:1]) != 0, dtype=np.int64)


def device_numbers(target_work: pd.DataFrame) -> Times:
    """Return the number of each row's device, from 0; one that is not named is the first."""
    if "device" not in target_work:
        return np.zeros(len(target_work), np.int64)
    return np.maximum(pd.factorize(target_work["device"])[0], 0).astype(np.int64)


_COMMIT = "CommandBufferSubmission"


def _commits_of(submissions: pd.DataFrame | None) -> pd.DataFrame:
    """Return the target's submissions that are commits, in their order; none without a table."""
    if submissions is None:
        return pd.DataFrame({"start": [], "duration": [], "command_buffer": []})
    commits = submissions[submissions["target"]]
    if "event" in commits:
        commits = commits[commits["event"].fillna("") == _COMMIT]
    return commits.iloc[np.argsort(bounds(commits)[1], kind="stable")]


def _same_ids(target_work: pd.DataFrame, submissions: pd.DataFrame | None) -> bool:
    """Tell whether ids of command buffers tell nothing apart: all alike, or all missing."""
    return (
        target_work["command_buffer"].nunique()
        <= 1
        < min(len(target_work), len(_commits_of(submissions)))
    )


def _in_commit_order(
    target_work: pd.DataFrame,
    submissions: pd.DataFrame,
    encoders: pd.DataFrame | None,
    completions: pd.DataFrame | None,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame | None, pd.DataFrame | None]:
    """Number the command buffers by the order of their commits, in all tables.

    A queue runs command buffers in the order of their commits, and an encoder is one interval or
    none. So rows match where they are as many as command buffers, or as the encoders in them; a
    table of other rows beside is left out, and its times are not known.
    """
    number = np.arange(len(submissions))
    encoder_counts = pd.Series(1, submissions.index)
    if "encoders" in submissions:
        encoder_counts = submissions["encoders"].fillna(1)
    by_encoder = np.repeat(number, encoder_counts.to_numpy(dtype=np.int64))

    def number_buffers(frame: pd.DataFrame) -> pd.DataFrame:
        ids = next((ids for ids in (number, by_encoder) if ids.size == len(frame)), None)
        values = pd.array([None] * len(frame) if ids is None else ids, dtype="UInt64")
        return frame.assign(command_buffer=values)

    def number_in_order(frame: pd.DataFrame | None, column: str) -> pd.DataFrame | None:
        if frame is None:
            return None
        target_rows = frame[frame["target"]] if "target" in frame else frame
        return number_buffers(target_rows.sort_values(column, kind="stable"))

    return (
        number_buffers(target_work),
        number_buffers(submissions),
        number_in_order(encoders, "start"),
        number_in_order(completions, "time"),
    )


def timeline_table(
    device: Device,
    life: DeviceWork,
    submissions: pd.DataFrame | None,
    encoders: pd.DataFrame | None,
) -> pd.DataFrame:
    """Return the table `timeline`: the target's command buffers with work, by their first start.

    Columns: `begun` (the host began to encode it), `committed`, `started` and `ended` on the
    device, `completed` (reported to the host), all in ns and null where not known; `busy`, the ns
    of its intervals, their number, `intervals`, and that of its `encoders`, of which the driver
    may run several as one; `device`, the number of the device; `thread`, the id of the one that
    committed it, null where not known. An interval of no known command buffer is a row of its own,
    and `known` is False.
    """
    alone, number = life.buffer < 0, life.start.size
    keys = np.where(alone, life.buffer.max(initial=-1) + 1 + np.arange(number), life.buffer)
    groups = EqualRuns.from_keys(keys * (1 + life.device.max(initial=0)) + life.device)
    first_rows = groups.first_rows
    encoded, thread = _submitters(
        in_order(device.target_intervals).iloc[first_rows],
        submissions,
        encoders,
        buffers_known=not alone.any(),
    )
    intervals = groups.sizes
    started = groups.reduce(np.minimum, life.start)
    columns = {
        "begun": _nullable(groups.reduce(np.minimum, life.encoding_starts)),
        "committed": _nullable(groups.reduce(np.minimum, life.submitted)),
        "started": started,
        "known": ~alone[first_rows],
        "device": life.device[first_rows],
        "busy": groups.reduce(np.add, life.end - life.start),
        "ended": groups.reduce(np.maximum, life.end),
        "completed": _nullable(groups.reduce(np.maximum, life.completed)),
        "encoders": np.where(encoded > 0, encoded, intervals),
        "thread": _nullable(thread),
        "intervals": intervals,
    }
    order = np.lexsort((first_rows, started))
    return pd.DataFrame({name: column[order] for name, column in columns.items()})


def _submitters(
    buffers: pd.DataFrame,
    submissions: pd.DataFrame | None,
    encoders: pd.DataFrame | None,
    *,
    buffers_known: bool,
) -> tuple[Times, Times]:
    """Return how many encoders each command buffer has, and the id of the thread of its commit.

    NEVER where nothing tells, and for all where not all command buffers are `buffers_known`.
    """
    encoded = np.full(len(buffers), NEVER)
    thread = np.full(len(buffers), NEVER)
    if not buffers_known:
        return encoded, thread
    if submissions is not None and "encoders" in submissions:
        encoded = of_buffer(buffers, submissions, moments(submissions["encoders"]), "max")
    for frame in (submissions, encoders):
        if frame is not None and "tid" in frame:
            thread = _fill_unknown(thread, of_buffer(buffers, frame, moments(frame["tid"]), "max"))
    return encoded, thread


def _nullable(times: Times) -> pd.arrays.IntegerArray:
    """Return times as a column that is null where one is NEVER."""
    return pd.arrays.IntegerArray(times, times == NEVER)


def find_encoding(encoders: pd.DataFrame | None, submissions: pd.DataFrame | None) -> IntervalSet:
    """Return when the target wrote work: its encoders, else its command buffers."""
    if encoders is not None and encoders["target"].any():
        return union_target_rows(encoders)
    if submissions is not None and submissions["target"].any():
        return IntervalSet.from_spans(*_writing(submissions[submissions["target"]]))
    return IntervalSet.empty()


def _writing(submissions: pd.DataFrame) -> tuple[Times, Times]:
    """Return when each command buffer was encoded, at the latest, and committed.

    It may be made long before it is used; what was spent on its encoders ends with its commit.
    """
    starts, ends = bounds(submissions)
    if "encoder_time" not in submissions:
        return starts, ends
    encoder_times = submissions["encoder_time"].to_numpy(dtype=np.int64, na_value=0)
    return np.where(encoder_times > 0, ends - encoder_times, starts), ends


def _find_submit_times(
    target_work: pd.DataFrame,
    start: Times,
    commits: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
) -> Times:
    """Return when each was handed over: by its own latency, else by its command buffer."""
    latency = moments(target_work["start_latency"])
    submit_times = np.where(latency == NEVER, NEVER, start - latency)
    if commits is not None:
        submit_times = _fill_unknown(
            submit_times, of_buffer(target_work, commits, moments(commits["committed"]), "max")
        )
    if submissions is not None:
        submit_times = _fill_unknown(
            submit_times, of_buffer(target_work, submissions, bounds(submissions)[1], "max")
        )
    return np.minimum(submit_times, start)


def _fill_unknown(times: Times, fallback: Times) -> Times:
    return np.where(times == NEVER, fallback, times)


def _first_written(
    target_work: pd.DataFrame, encoders: pd.DataFrame | None, submissions: pd.DataFrame | None
) -> Times:
    encoding_starts = np.full(len(target_work), NEVER)
    if encoders is not None:
        encoding_starts = of_buffer(target_work, encoders, bounds(encoders)[0], "min")
    if submissions is not None:
        encoding_starts = _fill_unknown(
            encoding_starts, of_buffer(target_work, submissions, _writing(submissions)[0], "min")
        )
    return encoding_starts


def _is_undivided(target_work: pd.DataFrame) -> Flags:
    """Tell which intervals are whole steps: when their work began nobody knows."""
    return target_work["channel"].fillna("").str.endswith(SUBMIT_INCLUDED).to_numpy(dtype=np.bool_)


def _host_begun(start: Times, submissions: pd.DataFrame | None) -> Times:
    """Return when the call began that handed each over: the last one before it."""
    if submissions is None or submissions.empty:
        return np.full(start.size, NEVER)
    calls = np.sort(bounds(submissions)[0])
    earlier_calls = np.concatenate((np.array([NEVER]), calls))
    return earlier_calls[np.searchsorted(calls, start, side="right")]


NO_WORK = (IDLE, REFERENCE)
"""Names of spans in which there was no work of the target to do."""


@dataclass(frozen=True, eq=False)
class Sights:
    """What of `Surroundings` is seen at some moments, one flag for each of them."""

    encoding: Flags
    driver: Flags
    wiring: Flags
    compiler: Flags
    compiled: Flags
    other_processes: Flags

    def select(self, chosen: NDArray[np.intp]) -> "Sights":
        """Return what is seen at some of the moments."""
        return Sights(*(getattr(self, field.name)[chosen] for field in fields(self)))


@dataclass(frozen=True)
class Surroundings:
    """When each of those was at work.

    `prepared` is when the driver began and when it ended each command buffer, ordered by start;
    `annotated` is what the workload says it did, by name.
    """

    encoding: IntervalSet
    driver: IntervalSet
    wiring: IntervalSet
    prepared: tuple[Times, Times]
    compiler: IntervalSet
    other_processes: IntervalSet
    awake: IntervalSet
    annotated: Mapping[str, IntervalSet]

    @property
    def bounds(self) -> Iterator[Times]:
        """All moments at which any of it begins or ends, in parts, each in order."""
        sources = (
            self.encoding,
            self.driver,
            self.wiring,
            self.compiler,
            self.other_processes,
            self.awake,
        )
        yield self.prepared[1]
        for intervals in (*sources, *self.annotated.values()):
            yield intervals.starts
            yield intervals.ends

    def driving(self, moments: Times, submitted: Times, through: Times | None = None) -> Flags:
        """Say when the driver was on the way to work that was handed over at the moments given.

        `through` is when it was through with that work, see `driven`; without it, at the end of the
        first command buffer that it begins afterwards. What it does then is for later ones.
        """
        if through is None:
            through = self._first_driven(submitted)[1]
        return self.driver.contains(moments) & (moments < through)

    def driven(self, submitted: Times, started: Times) -> Times:
        """Return when the driver was through with each command buffer; in the order of `submitted`.

        It takes command buffers in order, each by one row, so that it may still have many before
        one. A command buffer has no row where the next one begins when the device works on it
        already: then it is the first row that begins after the commit.
        """
        row_starts, through = self._first_driven(submitted)
        starts, ends = self.prepared
        has_row = row_starts <= started
        first_rows = np.searchsorted(starts, submitted[has_row])
        number = np.arange(first_rows.size)
        in_turn = (
            number + np.maximum.accumulate(first_rows - number) if first_rows.size else first_rows
        )
        in_turn = np.minimum(in_turn, starts.size)
        is_own_row = np.append(starts, FOREVER)[in_turn] <= started[has_row]
        through[has_row] = np.where(is_own_row, np.append(ends, FOREVER)[in_turn], through[has_row])
        return through

    def _first_driven(self, submitted: Times) -> tuple[Times, Times]:
        """Return the start and the end of the first row that begins after each moment."""
        starts, ends = self.prepared
        place = np.searchsorted(starts, submitted)
        return np.append(starts, FOREVER)[place], np.append(ends, FOREVER)[place]

    @cached_property
    def compilation(self) -> IntervalSet:
        """When a pipeline was made, by the compiler's rows or the workload's word."""
        annotated = self.annotated.get(COMPILE, IntervalSet.empty())
        return IntervalSet.union_of([self.compiler, annotated])

    def look_at(self, moments: Times) -> "Sights":
        """Return what is seen at each of the moments."""
        return Sights(
            encoding=self.encoding.contains(moments),
            driver=self.driver.contains(moments),
            wiring=self.wiring.contains(moments),
            compiler=self.compiler.contains(moments),
            compiled=self.compilation.contains(moments),
            other_processes=self.other_processes.contains(moments),
        )

    def asleep(self, moments: Times, until: Times) -> Flags:
        """Say when the device was in no performance state, and came into one by `until`."""
        return ~self.awake.contains(moments) & (self.awake.next_start(moments) <= until)


def surroundings(
    device: Device,
    encoders: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
    driver_intervals: pd.DataFrame | None,
    compiler_activity: pd.DataFrame | None,
    gpu_performance_states: pd.DataFrame | None,
    spans: pd.DataFrame | None,
    driver_events: pd.DataFrame | None,
) -> Surroundings:
    """Gather them from their tables; what has no table was nowhere seen.

    Of other processes only work on the target's channels counts: channels run beside each other,
    so that work on another one keeps nothing from starting.
    """
    rivals = device.other_intervals["channel"].isin(device.target_intervals["channel"].unique())
    return Surroundings(
        encoding=find_encoding(encoders, submissions),
        driver=union_target_rows(driver_intervals),
        wiring=union_target_rows(None if driver_events is None else wirings(driver_events)),
        prepared=_find_outermost_rows(driver_intervals),
        compiler=union_target_rows(compiler_activity),
        other_processes=IntervalSet.from_spans(*bounds(device.other_intervals[rivals])),
        awake=union_target_rows(gpu_performance_states),
        annotated=_by_name(spans),
    )


def _find_outermost_rows(driver_intervals: pd.DataFrame | None) -> tuple[Times, Times]:
    """Return the outermost rows of the target: an encoder's row lies within its buffer's."""
    if driver_intervals is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    target_rows = in_order(driver_intervals[driver_intervals["target"]])
    return bounds(target_rows[target_rows["depth"].fillna(0) == 0])


def _by_name(annotations: pd.DataFrame | None) -> dict[str, IntervalSet]:
    if annotations is None:
        return {}
    worked = annotations[~annotations["name"].fillna(IDLE).isin(NO_WORK)]
    return {str(name): union_target_rows(rows) for name, rows in worked.groupby("name", sort=True)}
