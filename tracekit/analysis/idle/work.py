"""The life of the target's work: encoded, committed, started, ended, and reported."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.idle.surroundings import Flags, find_writing, moments
from tracekit.analysis.intervals import (
    NEVER,
    EqualRuns,
    Times,
    heads_of,
    in_order,
)
from tracekit.analysis.intervals import spans as bounds
from tracekit.analysis.scope import Device
from tracekit.workload import journal

Numbers = NDArray[np.int16]


def of_buffer(
    work: pd.DataFrame, rows: pd.DataFrame, times: Times, best: Literal["min", "max"]
) -> Times:
    """Return for each piece of work the first or last of the rows' times of its command buffer.

    It is NEVER without one; `times` has a moment for each of the rows, or NEVER.
    """
    buffers = rows["command_buffer"]
    has_time = buffers.notna().to_numpy() & (times != NEVER)
    ids = buffers.to_numpy(dtype=np.uint64, na_value=0)
    work_buffers = work["command_buffer"]
    work_ids = work_buffers.to_numpy(dtype=np.uint64, na_value=0)
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
    return np.where(work_buffers.notna(), values, NEVER)


@dataclass(frozen=True)
class BufferWork:
    """One entry for each command buffer on each of its devices; times are ns, NEVER: not known.

    The host began to write it, handed it over (`submitted`), and got it reported (`completed`);
    `started`, `ended` and `busy`, the time of its intervals, are the device's. `first_rows` is the
    place of its first interval, `sizes` the number of its intervals. An interval whose command
    buffer is not known (`alone`) is an entry of its own.
    """

    encoding_starts: Times
    submitted: Times
    started: Times
    ended: Times
    completed: Times
    busy: Times
    alone: Flags
    first_rows: NDArray[np.intp]
    sizes: Times


@dataclass(frozen=True)
class DeviceWork:
    """One entry for each device interval of the target, ordered by start.

    `start` and `end` are the device's, `device` is the number of the device, from 0. No interval
    outlasts the report of its command buffer: an interval is cut at the report. The times of a
    command buffer are held once for all of its intervals, in `buffers`.
    """

    start: Times
    end: Times
    device: Numbers
    buffers: BufferWork


def _make_work(
    start: Times,
    end: Times,
    device: Numbers,
    *,
    buffer: Times,
    encoding_starts: Times,
    submitted: Times,
    completed: Times,
) -> DeviceWork:
    """Group intervals by their command buffers, whose numbers are `buffer`, -1 for none."""
    alone = buffer < 0
    next_number = buffer.max(initial=-1) + 1
    numbers = np.where(alone, next_number + np.arange(start.size), buffer)
    device_count = 1 + int(device.max(initial=0))
    keys = (numbers * device_count + device).astype(np.int64)
    groups = EqualRuns.from_keys(keys)
    buffers = BufferWork(
        encoding_starts=groups.reduce(np.minimum, encoding_starts),
        submitted=groups.reduce(np.minimum, submitted),
        started=groups.reduce(np.minimum, start),
        ended=groups.reduce(np.maximum, end),
        completed=groups.reduce(np.maximum, completed),
        busy=groups.reduce(np.add, end - start),
        alone=alone[groups.first_rows],
        first_rows=groups.first_rows,
        sizes=groups.sizes,
    )
    return DeviceWork(start, end, device, buffers)


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
    return _make_work(
        start,
        end,
        device_numbers(target_work),
        buffer=_numbers(target_work),
        encoding_starts=encoding_starts,
        submitted=submitted,
        completed=completed,
    )


def _work_on_a_cpu(target_work: pd.DataFrame, submissions: pd.DataFrame | None) -> DeviceWork:
    """Return work that a CPU did: it started when it was handed over, and its end is its report."""
    start, end = bounds(target_work)
    call_starts = _find_encoding_starts(start, submissions)
    encoding_starts = np.where(_is_undivided(target_work), NEVER, call_starts)
    return _make_work(
        start,
        end,
        np.zeros(start.size, np.int16),
        buffer=np.full(start.size, -1),
        encoding_starts=encoding_starts,
        submitted=start,
        completed=end,
    )


def _numbers(target_work: pd.DataFrame) -> Times:
    """Return the number of each row's command buffer, from 0 in the order of rows; -1 for none."""
    buffers = target_work["command_buffer"]
    if buffers.isna().any() or not buffers.is_monotonic_increasing:
        return pd.factorize(buffers)[0].astype(np.int64)
    ids = buffers.to_numpy(dtype=np.uint64)
    is_new = np.diff(ids, prepend=ids[:1]) != 0
    return np.cumsum(is_new, dtype=np.int64)


def device_numbers(target_work: pd.DataFrame) -> Numbers:
    """Return the number of each row's device, from 0; one that is not named is the first."""
    if "device" not in target_work:
        return np.zeros(len(target_work), np.int16)
    codes, _ = pd.factorize(target_work["device"])
    return np.maximum(codes, 0).astype(np.int16)


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
    buffers = life.buffers
    first_rows = buffers.first_rows
    first_work = in_order(device.target_intervals).iloc[first_rows]
    are_known = not buffers.alone.any()
    encoded, thread = _submitters(
        first_work,
        submissions,
        encoders,
        buffers_known=are_known,
    )
    order = np.lexsort((first_rows, buffers.started))
    encoder_counts = np.where(encoded > 0, encoded, buffers.sizes)
    columns = {
        "encoding_start": _nullable(buffers.encoding_starts[order]),
        "committed": _nullable(buffers.submitted[order]),
        "started": buffers.started[order],
        "known": ~buffers.alone[order],
        "device": life.device[first_rows][order].astype(np.int64),
        "busy": buffers.busy[order],
        "ended": buffers.ended[order],
        "completed": _nullable(buffers.completed[order]),
        "encoders": encoder_counts[order],
        "thread": _nullable(thread[order]),
        "intervals": buffers.sizes[order],
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
        starts, _ = find_writing(submissions)
        buffer_starts = of_buffer(target_work, submissions, starts, "min")
        encoding_starts = _fill_unknown(encoding_starts, buffer_starts)
    return encoding_starts


def _is_undivided(target_work: pd.DataFrame) -> Flags:
    """Return which intervals are whole steps: the start of their work is not known."""
    channels = target_work["channel"].astype("string").fillna("")
    return channels.str.endswith(journal.SUBMIT_INCLUDED).to_numpy(dtype=np.bool_)


def _find_encoding_starts(start: Times, submissions: pd.DataFrame | None) -> Times:
    """Return when the call began that handed each over: the last one before it."""
    if submissions is None or submissions.empty:
        return np.full(start.size, NEVER)
    starts, _ = bounds(submissions)
    calls = np.sort(starts)
    earlier_calls = np.concatenate((np.array([NEVER]), calls))
    return earlier_calls[np.searchsorted(calls, start, side="right")]
