"""The life of the target's work, and the work of host, driver, compiler and others meanwhile."""

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
    """Return the time that the target's rows of a table cover; nothing without a table."""
    if frame is None:
        return IntervalSet.empty()
    starts, ends = bounds(frame)  # texts of other columns take long to pick
    if "target" in frame and not frame["target"].all():
        is_target = frame["target"].to_numpy(np.bool_)
        return IntervalSet.from_spans(starts[is_target], ends[is_target])
    return IntervalSet.from_spans(starts, ends)


def moments(column: pd.Series) -> Times:
    """Return a column of times, with NEVER for null."""
    return column.to_numpy(dtype=np.int64, na_value=NEVER)


def of_buffer(
    work: pd.DataFrame, rows: pd.DataFrame, times: Times, best: Literal["min", "max"]
) -> Times:
    """Return for each piece of work the first or last of the rows' times of its command buffer.

    It is NEVER without one; `times` has a moment for each of the rows, or NEVER.
    """
    has_buffer = rows["command_buffer"].notna().to_numpy()
    has_time = has_buffer & (times != NEVER)
    ids = rows["command_buffer"].to_numpy(dtype=np.uint64, na_value=0)
    work_ids = work["command_buffer"].to_numpy(dtype=np.uint64, na_value=0)
    groups = EqualRuns.from_keys(ids[has_time])
    choose = np.minimum if best == "min" else np.maximum
    best_times = groups.reduce(choose, times[has_time])
    # Rows of one command buffer mostly follow one another: each run of them is looked up once.
    heads = heads_of(work_ids)
    place = np.searchsorted(groups.keys, work_ids[heads])
    keys = np.append(groups.keys, 0)
    there = keys[place] == work_ids[heads]
    there &= place < groups.keys.size
    all_times = np.append(best_times, NEVER)
    moments = np.where(there, all_times[place], NEVER)
    run_bounds = np.append(heads, work_ids.size)
    run_lengths = np.diff(run_bounds)
    values = np.repeat(moments, run_lengths)
    return np.where(work["command_buffer"].notna(), values, NEVER)


@dataclass(frozen=True)
class DeviceWork:
    """One entry for each device interval of the target, ordered by start; NEVER: not known.

    The host began to write it, handed it over (`submitted`), and got it reported (`completed`);
    `start` and `end` are the device's. `buffer` is the number of the command buffer that the
    interval belongs to, from 0; -1 if it is not known. `device` is the number of the device, from
    0. No interval outlasts the report of its command buffer: an interval is cut at the report.
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
    """Join the target's device intervals with the rows of the other tables about them."""
    target_work = in_order(device.target_intervals)
    if device.on_the_host:
        return _work_on_a_cpu(target_work, submissions)
    start, end = bounds(target_work)
    if _same_ids(target_work, submissions):
        commits = None
        target_work, submissions, encoders, completions = _in_commit_order(
            target_work, _commits_of(submissions), encoders, completions
        )
    submitted = _find_submit_times(target_work, start, commits, submissions)
    encoding_starts = _first_written(target_work, encoders, submissions)
    completed = np.full(start.size, NEVER)
    if completions is not None:
        completions_times = moments(completions["time"])
        completed = of_buffer(target_work, completions, completions_times, "max")
        limited_end = np.minimum(end, np.maximum(start, completed))
        end = np.where(completed == NEVER, end, limited_end)
    numbers = _numbers(target_work)
    devices = device_numbers(target_work)
    return DeviceWork(
        encoding_starts,
        submitted,
        start,
        end,
        completed,
        numbers,
        devices,
    )


def _work_on_a_cpu(target_work: pd.DataFrame, submissions: pd.DataFrame | None) -> DeviceWork:
    """Return work that a CPU did: it started when it was handed over, and its end is its report."""
    start, end = bounds(target_work)
    call_starts = _find_encoding_starts(start, submissions)
    encoding_starts = np.where(_is_undivided(target_work), NEVER, call_starts)
    unknown_buffers = np.full(start.size, -1)
    one_device = np.zeros(start.size, np.int64)
    return DeviceWork(encoding_starts, start, start, end, end, unknown_buffers, one_device)


def _numbers(target_work: pd.DataFrame) -> Times:
    """Return the number of each row's command buffer, from 0 in the order of rows; -1 for none."""
    buffers = target_work["command_buffer"]
    if buffers.isna().any() or not buffers.is_monotonic_increasing:
        return pd.factorize(buffers)[0].astype(np.int64)
    ids = buffers.to_numpy(dtype=np.uint64)
    is_new = np.diff(ids, prepend=ids[:1]) != 0
    return np.cumsum(is_new, dtype=np.int64)


def device_numbers(target_work: pd.DataFrame) -> Times:
    """Return the number of each row's device, from 0; one that is not named is the first."""
    if "device" not in target_work:
        return np.zeros(len(target_work), np.int64)
    codes, _ = pd.factorize(target_work["device"])
    return np.maximum(codes, 0).astype(np.int64)


_COMMIT = "CommandBufferSubmission"


def _commits_of(submissions: pd.DataFrame | None) -> pd.DataFrame:
    """Return the target's submissions that are commits, in their order; none without a table."""
    if submissions is None:
        return pd.DataFrame({"start": [], "duration": [], "command_buffer": []})
    commits = submissions[submissions["target"]]
    if "event" in commits:
        is_commit = commits["event"].fillna("") == _COMMIT
        commits = commits[is_commit]
    _, ends = bounds(commits)
    return commits.iloc[np.argsort(ends, kind="stable")]


def _same_ids(target_work: pd.DataFrame, submissions: pd.DataFrame | None) -> bool:
    """Return whether ids of command buffers distinguish nothing: all alike, or all missing."""
    distinct_ids = target_work["command_buffer"].nunique()
    if distinct_ids > 1:
        return False
    return len(target_work) > 1 and len(_commits_of(submissions)) > 1


def _in_commit_order(
    target_work: pd.DataFrame,
    submissions: pd.DataFrame,
    encoders: pd.DataFrame | None,
    completions: pd.DataFrame | None,
) -> tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame | None, pd.DataFrame | None]:
    """Number the command buffers by the order of their commits, in all tables.

    A queue runs command buffers in the order of their commits, and an encoder is one interval or
    none. So rows match if they are as many as command buffers, or as the encoders in them; a table
    that has other rows as well is left out, and its times are not known.
    """
    number = np.arange(len(submissions))
    encoder_counts = pd.Series(1, submissions.index)
    if "encoders" in submissions:
        encoder_counts = submissions["encoders"].fillna(1)
    counts = encoder_counts.to_numpy(dtype=np.int64)
    by_encoder = np.repeat(number, counts)

    def number_buffers(frame: pd.DataFrame) -> pd.DataFrame:
        if len(frame) == number.size:
            values = pd.array(number, dtype="UInt64")
        elif len(frame) == by_encoder.size:
            values = pd.array(by_encoder, dtype="UInt64")
        else:
            missing_values = [None] * len(frame)
            values = pd.array(missing_values, dtype="UInt64")
        return frame.assign(command_buffer=values)

    def number_in_order(frame: pd.DataFrame | None, column: str) -> pd.DataFrame | None:
        if frame is None:
            return None
        target_rows = frame
        if "target" in frame:
            target_rows = frame[frame["target"]]
        return number_buffers(target_rows.sort_values(column, kind="stable"))

    numbered_work = number_buffers(target_work)
    numbered_submissions = number_buffers(submissions)
    return (
        numbered_work,
        numbered_submissions,
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

    Columns: `encoding_start` (the host began to encode it), `committed`, `started` and `ended` on
    the device, `completed` (reported to the host), all in ns and null if not known; `busy`, the ns
    of its intervals, their number, `intervals`, and that of its `encoders`, of which the driver
    may run several as one; `device`, the number of the device; `thread`, the id of the one that
    committed it, null if not known. An interval of no known command buffer is a row of its own,
    and `known` is False.
    """
    alone = life.buffer < 0
    next_number = life.buffer.max(initial=-1) + 1
    own_numbers = next_number + np.arange(life.start.size)
    numbers = np.where(alone, own_numbers, life.buffer)
    device_count = 1 + life.device.max(initial=0)
    keys = numbers * device_count + life.device
    groups = EqualRuns.from_keys(keys)
    first_rows = groups.first_rows
    first_work = in_order(device.target_intervals).iloc[first_rows]
    are_known = not alone.any()
    encoded, thread = _submitters(
        first_work,
        submissions,
        encoders,
        buffers_known=are_known,
    )
    encoding_starts = groups.reduce(np.minimum, life.encoding_starts)
    committed = groups.reduce(np.minimum, life.submitted)
    started = groups.reduce(np.minimum, life.start)
    completed = groups.reduce(np.maximum, life.completed)
    order = np.lexsort((first_rows, started))
    busy_times = groups.reduce(np.add, life.end - life.start)
    end_times = groups.reduce(np.maximum, life.end)
    encoder_counts = np.where(encoded > 0, encoded, groups.sizes)
    columns = {
        "encoding_start": _nullable(encoding_starts[order]),
        "committed": _nullable(committed[order]),
        "started": started[order],
        "known": ~alone[first_rows][order],
        "device": life.device[first_rows][order],
        "busy": busy_times[order],
        "ended": end_times[order],
        "completed": _nullable(completed[order]),
        "encoders": encoder_counts[order],
        "thread": _nullable(thread[order]),
        "intervals": groups.sizes[order],
    }
    return pd.DataFrame(columns)


def _submitters(
    buffers: pd.DataFrame,
    submissions: pd.DataFrame | None,
    encoders: pd.DataFrame | None,
    *,
    buffers_known: bool,
) -> tuple[Times, Times]:
    """Return the number of encoders of each command buffer, and the id of the committing thread.

    NEVER if they are not known, and for all rows if not all command buffers are (`buffers_known`).
    """
    encoded = np.full(len(buffers), NEVER)
    thread = np.full(len(buffers), NEVER)
    if not buffers_known:
        return encoded, thread
    if submissions is not None and "encoders" in submissions:
        encoder_moments = moments(submissions["encoders"])
        encoded = of_buffer(buffers, submissions, encoder_moments, "max")
    for frame in (submissions, encoders):
        if frame is not None and "tid" in frame:
            thread_moments = moments(frame["tid"])
            frame_threads = of_buffer(buffers, frame, thread_moments, "max")
            thread = _fill_unknown(thread, frame_threads)
    return encoded, thread


def _nullable(times: Times) -> pd.arrays.IntegerArray:
    """Return times as a column, with null for NEVER."""
    return pd.arrays.IntegerArray(times, times == NEVER)


def find_encoding(encoders: pd.DataFrame | None, submissions: pd.DataFrame | None) -> IntervalSet:
    """Return when the target wrote work: its encoders, else its command buffers."""
    if encoders is not None and encoders["target"].any():
        return union_target_rows(encoders)
    if submissions is not None and submissions["target"].any():
        target_submissions = submissions[submissions["target"]]
        return IntervalSet.from_spans(*_writing(target_submissions))
    return IntervalSet.empty()


def _writing(submissions: pd.DataFrame) -> tuple[Times, Times]:
    """Return when each command buffer was encoded, at the latest, and committed.

    It may be made long before it is used; the time spent on its encoders ends with its commit.
    """
    starts, ends = bounds(submissions)
    if "encoder_time" not in submissions:
        return starts, ends
    encoder_times = submissions["encoder_time"].to_numpy(dtype=np.int64, na_value=0)
    latest_starts = np.where(encoder_times > 0, ends - encoder_times, starts)
    return latest_starts, ends


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
        commit_moments = moments(commits["committed"])
        committed = of_buffer(target_work, commits, commit_moments, "max")
        submit_times = _fill_unknown(submit_times, committed)
    if submissions is not None:
        _, ends = bounds(submissions)
        submitted = of_buffer(target_work, submissions, ends, "max")
        submit_times = _fill_unknown(submit_times, submitted)
    return np.minimum(submit_times, start)


def _fill_unknown(times: Times, fallback: Times) -> Times:
    return np.where(times == NEVER, fallback, times)


def _first_written(
    target_work: pd.DataFrame, encoders: pd.DataFrame | None, submissions: pd.DataFrame | None
) -> Times:
    encoding_starts = np.full(len(target_work), NEVER)
    if encoders is not None:
        starts, _ = bounds(encoders)
        encoding_starts = of_buffer(target_work, encoders, starts, "min")
    if submissions is not None:
        starts, _ = _writing(submissions)
        buffer_starts = of_buffer(target_work, submissions, starts, "min")
        encoding_starts = _fill_unknown(encoding_starts, buffer_starts)
    return encoding_starts


def _is_undivided(target_work: pd.DataFrame) -> Flags:
    """Return which intervals are whole steps: the start of their work is not known."""
    channels = target_work["channel"].fillna("")
    return channels.str.endswith(SUBMIT_INCLUDED).to_numpy(dtype=np.bool_)


def _find_encoding_starts(start: Times, submissions: pd.DataFrame | None) -> Times:
    """Return when the call began that handed each over: the last one before it."""
    if submissions is None or submissions.empty:
        return np.full(start.size, NEVER)
    starts, _ = bounds(submissions)
    calls = np.sort(starts)
    earlier_calls = np.concatenate((np.array([NEVER]), calls))
    return earlier_calls[np.searchsorted(calls, start, side="right")]


NO_WORK = (IDLE, REFERENCE)
"""Names of spans in which there was no work of the target to do."""


@dataclass(frozen=True, eq=False)
class Sights:
    """The activities of `Surroundings` at some moments, one flag for each of the moments."""

    encoding: Flags
    driver: Flags
    wiring: Flags
    compiler: Flags
    compiled: Flags
    other_processes: Flags

    def select(self, chosen: NDArray[np.intp]) -> "Sights":
        """Return the activities at some of the moments."""
        chosen_sights = [getattr(self, field.name)[chosen] for field in fields(self)]
        return Sights(*chosen_sights)


@dataclass(frozen=True)
class Surroundings:
    """When host, driver, compiler and others were at work.

    `prepared` is when the driver began and when it ended each command buffer, ordered by start;
    `annotated` are the workload's own spans, by name.
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
        """Return when the driver was on the way to work that was handed over at these moments.

        `through` is when it was through with that work, see `driven`; without it, at the end of the
        first command buffer that it begins afterwards. Its later work is for later ones.
        """
        if through is None:
            _, through = self._first_driven(submitted)
        return self.driver.contains(moments) & (moments < through)

    def driven(self, submitted: Times, started: Times) -> Times:
        """Return when the driver was through with each command buffer; in the order of `submitted`.

        It takes command buffers in order, each by one row, so that it may still have many before
        one. A command buffer has no row if the next one begins when the device works on it
        already: then it is the first row that begins after the commit.
        """
        row_starts, through = self._first_driven(submitted)
        starts, ends = self.prepared
        has_row = row_starts <= started
        first_rows = np.searchsorted(starts, submitted[has_row])
        if not first_rows.size:
            return through
        number = np.arange(first_rows.size)
        since_first = np.maximum.accumulate(first_rows - number)
        in_turn = number + since_first
        in_turn = np.minimum(in_turn, starts.size)
        is_own_row = np.append(starts, FOREVER)[in_turn] <= started[has_row]
        own_ends = np.append(ends, FOREVER)[in_turn]
        through[has_row] = np.where(is_own_row, own_ends, through[has_row])
        return through

    def _first_driven(self, submitted: Times) -> tuple[Times, Times]:
        """Return the start and the end of the first row that begins after each moment."""
        starts, ends = self.prepared
        place = np.searchsorted(starts, submitted)
        row_starts = np.append(starts, FOREVER)[place]
        row_ends = np.append(ends, FOREVER)[place]
        return row_starts, row_ends

    @cached_property
    def compilation(self) -> IntervalSet:
        """When a pipeline was made, by the compiler's rows or the workload's spans."""
        annotated = self.annotated.get(COMPILE, IntervalSet.empty())
        return IntervalSet.union_of([self.compiler, annotated])

    def look_at(self, moments: Times) -> "Sights":
        """Return the activities at each of the moments."""
        return Sights(
            encoding=self.encoding.contains(moments),
            driver=self.driver.contains(moments),
            wiring=self.wiring.contains(moments),
            compiler=self.compiler.contains(moments),
            compiled=self.compilation.contains(moments),
            other_processes=self.other_processes.contains(moments),
        )

    def asleep(self, moments: Times, until: Times) -> Flags:
        """Return when the device was in no performance state, and came into one by `until`."""
        awakes = self.awake.next_start(moments) <= until
        return ~self.awake.contains(moments) & awakes


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
    """Gather the activities from their tables; without its table, an activity has no time.

    Of other processes only work on the target's channels counts: channels run in parallel, so that
    work on another one keeps nothing from starting.
    """
    channels = device.target_intervals["channel"].unique()
    is_on_channel = device.other_intervals["channel"].isin(channels)
    rivals = device.other_intervals[is_on_channel]
    wiring = IntervalSet.empty()
    if driver_events is not None:
        wiring = union_target_rows(wirings(driver_events))
    return Surroundings(
        encoding=find_encoding(encoders, submissions),
        driver=union_target_rows(driver_intervals),
        wiring=wiring,
        prepared=_find_outermost_rows(driver_intervals),
        compiler=union_target_rows(compiler_activity),
        other_processes=IntervalSet.from_spans(*bounds(rivals)),
        awake=union_target_rows(gpu_performance_states),
        annotated=_by_name(spans),
    )


def _find_outermost_rows(driver_intervals: pd.DataFrame | None) -> tuple[Times, Times]:
    """Return the outermost rows of the target: an encoder's row lies within its buffer's."""
    if driver_intervals is None:
        return np.empty(0, np.int64), np.empty(0, np.int64)
    target_rows = in_order(driver_intervals[driver_intervals["target"]])
    is_outermost = target_rows["depth"].fillna(0) == 0
    return bounds(target_rows[is_outermost])


def _by_name(annotations: pd.DataFrame | None) -> dict[str, IntervalSet]:
    if annotations is None:
        return {}
    is_idle = annotations["name"].fillna(IDLE).isin(NO_WORK)
    intervals: dict[str, IntervalSet] = {}
    rows_by_name = annotations[~is_idle].groupby("name", sort=True)
    for name, rows in rows_by_name:
        intervals[str(name)] = union_target_rows(rows)
    return intervals
