"""Laws that tables keep together: a command buffer is encoded, committed, run, and reported."""

from collections.abc import Mapping

import numpy as np

from tracekit.analysis.intervals import NEVER, Times
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
_FRAMES = 20  # numbers: fewer do not show that each command buffer has one


def judge_lives(tables: Mapping[str, ExaminedTable], created: int | None) -> None:
    """Hold the tables of command buffers against each other; `created` is the target's, ns."""
    work = tables.get("gpu_intervals")
    commits = _moments_of_commits(tables)
    if created is not None:
        for rows in tables.values():
            _judge_launch(rows, created)
    if work is None or not work.start.size or not work.is_of_the_device.any():
        return
    latency = times_of(work.frame, "start_latency")
    is_negative = (latency < 0) & (latency != NEVER)
    work.accuse("negative-latency", is_negative, excess=-latency)
    started = first_moments(work.buffers, work.start, work.credible)
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
    work_frames, work_heads = _numbers(work)
    encoder_frames, encoder_heads = _numbers(encoders)
    if work_frames.size < _FRAMES or encoder_frames.size < _FRAMES:
        return
    _find_missing(work, work_frames, work_heads, encoder_frames)
    _find_missing(encoders, encoder_frames, encoder_heads, work_frames)


def _find_missing(rows: ExaminedTable, frames: Times, heads: Places, counterparts: Times) -> None:
    """Report the frames of the other table, its `counterparts`, that are missing in between."""
    is_between = (counterparts > frames[0]) & (counterparts < frames[-1])
    candidates = counterparts[is_between]
    holes = np.setdiff1d(candidates, frames, assume_unique=True)
    if 0 < holes.size <= FEW * frames.size:
        behind = heads[np.searchsorted(frames, holes)]
        rows.miss("missing-number", behind, holes.size, frames.size)


def _numbers(rows: ExaminedTable) -> tuple[Times, Places]:
    """Return the target's frames in order and the first row of each.

    There are none if a frame has several command buffers or none, or if they do not ascend.
    """
    empty = np.empty(0, np.int64), np.empty(0, np.intp)
    if not rows.has("frame", "target"):
        return empty
    frame = times_of(rows.frame, "frame")
    is_of_target = rows.frame["target"].to_numpy(np.bool_)
    of_target = is_of_target & (frame != NEVER)
    places = np.flatnonzero(of_target)
    steps = np.diff(rows.start[places])
    if (steps < 0).any():
        order = np.argsort(rows.start[places], kind="stable")
        places = places[order]
    frame = frame[places]
    buffers = rows.buffers[places]
    is_new_frame = frame[1:] != frame[:-1]
    is_new_buffer = buffers[1:] != buffers[:-1]
    descends = (frame[1:] < frame[:-1]).any()
    if descends or (is_new_frame != is_new_buffer).any():
        return empty
    is_head = np.append(np.array([True]), is_new_frame)
    heads = is_head[: frame.size]
    return frame[heads], places[heads]


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
    of_target = rows.frame["target"].to_numpy(np.bool_)
    is_before = rows.start < created
    early = of_target & rows.is_of_the_device & is_before
    population = int(np.count_nonzero(of_target))
    rows.accuse(
        "before-launch",
        early,
        population=population,
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
    unique = Moments.from_ids(rows.buffers, committed, usable)
    start = started.look_up(unique.ids)
    is_known = start != NEVER
    late = np.zeros(rows.start.size, np.bool_)
    late[unique.places] = is_known & (unique.times > start)
    excess = np.zeros(rows.start.size, np.int64)
    lateness = unique.times - start
    excess[unique.places] = np.where(is_known, lateness, 0)
    population = int(np.count_nonzero(is_known))
    rows.accuse(
        "committed-after-start",
        late,
        population=population,
        excess=excess,
        witness="gpu_intervals",
    )


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
    late = is_known & (rows.start > committed)
    population = int(np.count_nonzero(is_known))
    excess = np.where(is_known, rows.start - committed, 0)
    rows.accuse(
        "encoded-after-commit",
        late,
        population=population,
        excess=excess,
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
    early = np.zeros(rows.start.size, np.bool_)
    early[reports.places] = is_known & (reports.times < earliest)
    excess = np.zeros(rows.start.size, np.int64)
    earliness = earliest - reports.times
    excess[reports.places] = np.where(is_known, earliness, 0)
    population = int(np.count_nonzero(is_known))
    rows.accuse(law, early, population=population, excess=excess, witness=witness)


def _judge_work(work: ExaminedTable, completions: ExaminedTable) -> None:
    """Find intervals that run when their command buffer is reported, and go on for long.

    One that starts behind the report is not judged: an id may be used again.
    """
    reports = Moments.from_ids(completions.buffers, completions.start, completions.credible)
    report = reports.look_up(work.buffers)
    is_known = work.is_of_the_device & (report > work.start)
    report = np.where(is_known, report, 0)
    is_longer = work.end > report + LATE
    longer = is_known & is_longer
    excess = np.where(is_known, work.end - report, 0)
    population = int(np.count_nonzero(is_known))
    work.accuse(
        "outlasts-report",
        longer,
        population=population,
        excess=excess,
        witness="completions",
        cost=Cost.LENGTH,
    )
