"""Laws that tables keep together: a command buffer is encoded, committed, run, and reported."""

from collections.abc import Mapping
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tracekit.analysis.intervals import NEVER, Times, heads_of
from tracekit.analysis.physics.laws import FEW, Cost, Flags
from tracekit.analysis.physics.rows import (
    ExaminedTable,
    Ids,
    Moments,
    Places,
    first_moments,
    times_of,
)
from tracekit.analysis.physics.times import next_starts

LATE = 100_000
"""The time in ns by which an interval may outlast its report. A report takes at least 52 µs in each
of the real exports, so that clocks which are off by as much would not break the law; an interval
that outlasts its report by less is cut at the report."""
_COMMIT = "CommandBufferSubmission"
_Value = TypeVar("_Value", bound=np.generic)
_FRAMES = 20  # numbers: fewer do not show that each command buffer has one


def judge_lives(tables: Mapping[str, ExaminedTable], created: int | None) -> None:
    """Hold the tables of command buffers against each other; `created` is the target's, ns."""
    if created is not None:
        for rows in tables.values():
            _judge_launch(rows, created)
    work = tables.get("gpu_intervals")
    if work is None or not work.start.size or not work.is_of_the_device.any():
        return
    latency = times_of(work.frame, "start_latency")
    is_negative = (latency < 0) & (latency != NEVER)
    work.accuse("negative-latency", is_negative, excess=-latency)
    started = first_moments(work.buffers, work.start, work.credible)
    commits = _moments_of_commits(tables)
    for name in ("commits", "submissions"):
        if name in tables:
            _judge_commits(tables[name], started)
    if "encoders" in tables:
        _judge_encoders(tables["encoders"], _by_latency(work, latency), commits)
    if "completions" in tables:
        _judge_reports(tables["completions"], started, commits)
        _judge_work(work, tables["completions"])


def possible_time(work: ExaminedTable, completions: ExaminedTable | None) -> int:
    """Return how long the target's intervals whose end is not believed may have run, in ns.

    Each ran at most until its command buffer was reported, and until the next on its lane started.
    """
    unsure = work.credible & ~work.has_end
    if work.has("target"):
        unsure &= work.frame["target"].to_numpy(np.bool_)
    places = np.flatnonzero(unsure)
    if not places.size:
        return 0
    start = work.start[places]
    until = next_starts(work, places)
    if completions is not None:
        reports = Moments.from_ids(completions.buffers, completions.start, completions.credible)
        report = reports.look_up(work.buffers[places])
        limited_until = np.minimum(until, report)
        until = np.where(report > start, limited_until, until)
    last_end = int(work.end[work.credible].max())
    until = np.minimum(until, last_end)
    return int((until - start).sum())


def judge_numbers(work: ExaminedTable, encoders: ExaminedTable) -> None:
    """Find frames of the target that one of the two tables has, and the other does not.

    They are reported if every command buffer has a number of its own, in order, in both tables, as
    in each real export: of 800 numbers one or none is missing in a table. A frame without device
    work may have been empty, which the report says.
    """
    work_frames, work_rows = _find_frames(work)
    encoder_frames, encoder_rows = _find_frames(encoders)
    if work_frames.size < _FRAMES or encoder_frames.size < _FRAMES:
        return
    _find_missing(work, work_frames, work_rows, encoder_frames)
    _find_missing(encoders, encoder_frames, encoder_rows, work_frames)


def _find_missing(
    rows: ExaminedTable, frames: Times, first_rows: Places, counterparts: Times
) -> None:
    """Report the frames of the other table, its `counterparts`, that are missing in this one.

    Only frames between the first and the last of this table are missing; many are not a loss.
    """
    is_between = (counterparts > frames[0]) & (counterparts < frames[-1])
    missing = np.setdiff1d(counterparts[is_between], frames, assume_unique=True)
    if 0 < missing.size <= FEW * frames.size:
        next_rows = first_rows[np.searchsorted(frames, missing)]
        rows.miss("missing-number", next_rows, missing.size, frames.size)


def _find_frames(rows: ExaminedTable) -> tuple[Times, Places]:
    """Return the target's frames in order and the first row of each.

    There are none if a frame has several command buffers or none, or if they do not ascend.
    """
    if not rows.has("frame", "target"):
        return np.empty(0, np.int64), np.empty(0, np.intp)
    frames = rows.cells("frame").to_numpy(dtype=np.int64, na_value=NEVER)
    is_of_target = rows.frame["target"].to_numpy(np.bool_)
    places = np.flatnonzero(is_of_target & (frames != NEVER))
    if (np.diff(rows.start[places]) < 0).any():
        places = places[np.argsort(rows.start[places], kind="stable")]
    frames = frames[places]
    buffers = rows.buffers[places]
    is_new_frame = frames[1:] != frames[:-1]
    is_new_buffer = buffers[1:] != buffers[:-1]
    descends = (frames[1:] < frames[:-1]).any()
    if descends or (is_new_frame != is_new_buffer).any():
        return np.empty(0, np.int64), np.empty(0, np.intp)
    first_rows = heads_of(frames)
    return frames[first_rows], places[first_rows]


def _moments_of_commits(tables: Mapping[str, ExaminedTable]) -> list[Moments]:
    """Return when command buffers were committed, by their commits and by their submissions."""
    moments = list[Moments]()
    if "commits" in tables:
        rows = tables["commits"]
        committed = times_of(rows.frame, "committed")
        committed_moments = Moments.from_ids(rows.buffers, committed, rows.credible)
        moments.append(committed_moments)
    if "submissions" in tables:
        rows = tables["submissions"]
        usable = rows.credible & _are_commits(rows)
        end_moments = Moments.from_ids(rows.buffers, rows.end, usable)
        moments.append(end_moments)
    return moments


def _are_commits(rows: ExaminedTable) -> Flags:
    if "event" not in rows.frame:
        return np.ones(rows.start.size, np.bool_)
    is_commit = rows.frame["event"].fillna("") == _COMMIT
    return is_commit.to_numpy(np.bool_)


def _first_moment(moments: list[Moments], ids: Ids) -> Times:
    """Return the moment of each id, by the first of the tables that has it."""
    times = np.full(ids.size, NEVER)
    for source in moments:
        source_times = source.look_up(ids)
        times = np.where(times == NEVER, source_times, times)
    return times


def _judge_launch(rows: ExaminedTable, created: int) -> None:
    if not rows.has("target") or rows.table not in {"gpu_intervals", "encoders", "submissions"}:
        return
    is_of_target = rows.frame["target"].to_numpy(np.bool_)
    rows.accuse(
        "before-launch",
        is_of_target & rows.is_of_the_device & (rows.start < created),
        population=int(np.count_nonzero(is_of_target)),
        excess=created - rows.start,
        witness="life_cycles",
    )


def _judge_commits(rows: ExaminedTable, started: Moments) -> None:
    if rows.table == "commits":
        committed = times_of(rows.frame, "committed")
        usable = rows.credible
    else:
        committed = rows.end
        usable = rows.credible & _are_commits(rows)
    commits = Moments.from_ids(rows.buffers, committed, usable)
    start = started.look_up(commits.ids)
    is_known = start != NEVER
    is_late = is_known & (commits.times > start)
    lateness = np.where(is_known, commits.times - start, 0)
    rows.accuse(
        "committed-after-start",
        _spread(rows, commits.places, is_late),
        population=int(np.count_nonzero(is_known)),
        excess=_spread(rows, commits.places, lateness),
        witness="gpu_intervals",
    )


def _spread(rows: ExaminedTable, places: Places, values: NDArray[_Value]) -> NDArray[_Value]:
    """Return values of some rows as values of all rows, 0 or false for the others."""
    spread_values = np.zeros(rows.start.size, values.dtype)
    spread_values[places] = values
    return spread_values


def _by_latency(work: ExaminedTable, latency: Times) -> Moments:
    """Return when command buffers were committed, by the latency of their first interval."""
    is_known = work.credible & (latency != NEVER)
    committed = np.where(is_known, work.start - latency, NEVER)
    return first_moments(work.buffers, committed, is_known)


def _judge_encoders(rows: ExaminedTable, by_latency: Moments, commits: list[Moments]) -> None:
    """Find encoders that begin after the commit of their command buffer.

    If an id has several commits, the latency of an interval does not show which one is meant.
    """
    by_commits = _first_moment(commits, rows.buffers)
    has_several_commits = np.zeros(rows.buffers.size, np.bool_)
    for source in commits:
        has_several_commits |= np.isin(rows.buffers, source.repeated)
    other_times = np.where(has_several_commits, NEVER, by_latency.look_up(rows.buffers))
    committed = np.where(by_commits == NEVER, other_times, by_commits)
    is_known = committed != NEVER
    rows.accuse(
        "encoded-after-commit",
        is_known & (rows.start > committed),
        population=int(np.count_nonzero(is_known)),
        excess=np.where(is_known, rows.start - committed, 0),
        witness="commits",
    )


def _judge_reports(rows: ExaminedTable, started: Moments, commits: list[Moments]) -> None:
    reports = Moments.from_ids(rows.buffers, rows.start, rows.credible)
    committed = _first_moment(commits, reports.ids)
    _judge_early(rows, reports, "reported-before-commit", committed, "commits")
    first_starts = started.look_up(reports.ids)
    _judge_early(rows, reports, "reported-before-start", first_starts, "gpu_intervals")


def _judge_early(
    rows: ExaminedTable, reports: Moments, law: str, earliest: Times, witness: str
) -> None:
    """Find reports that come before the earliest moment that is possible for each."""
    is_known = earliest != NEVER
    is_early = is_known & (reports.times < earliest)
    earliness = np.where(is_known, earliest - reports.times, 0)
    rows.accuse(
        law,
        _spread(rows, reports.places, is_early),
        population=int(np.count_nonzero(is_known)),
        excess=_spread(rows, reports.places, earliness),
        witness=witness,
    )


def _judge_work(work: ExaminedTable, completions: ExaminedTable) -> None:
    """Find intervals that run when their command buffer is reported, and go on for long.

    One that starts behind the report is not judged: an id may be used again.
    """
    reports = Moments.from_ids(completions.buffers, completions.start, completions.credible)
    report = reports.look_up(work.buffers)
    is_known = work.is_of_the_device & (report > work.start)
    report = np.where(is_known, report, 0)  # of the others it may be NEVER
    work.accuse(
        "outlasts-report",
        is_known & (work.end > report + LATE),
        population=int(np.count_nonzero(is_known)),
        excess=np.where(is_known, work.end - report, 0),
        witness="completions",
        cost=Cost.LENGTH,
    )
