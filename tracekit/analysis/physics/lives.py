"""Laws that tables keep together: a command buffer is encoded, committed, run, and reported."""

from collections.abc import Mapping

import numpy as np

from tracekit.analysis.intervals import NEVER, Times
from tracekit.analysis.physics.laws import FEW, Cost, Flags
from tracekit.analysis.physics.rows import Ids, Moments, Places, Rows, first_of, times_of
from tracekit.analysis.physics.times import next_starts

LATE = 100_000
"""ns by which an interval may outlast its report. A report takes at least 52 µs in each of the
real exports, so that even clocks which are off by as much would not bring an interval here; less
than this is cut at the report."""
_COMMIT = "CommandBufferSubmission"
_FRAMES = 20  # numbers: fewer do not show that each command buffer has one


def judge_lives(tables: Mapping[str, Rows], created: int | None) -> None:
    """Hold the tables of command buffers against each other; `created` is the target's, ns."""
    work = tables.get("gpu_intervals")
    commits = _moments_of_commits(tables)
    if created is not None:
        for rows in tables.values():
            _judge_launch(rows, created)
    if work is None or not work.start.size or not work.is_of_the_device.any():
        return
    latency = times_of(work.frame, "start_latency")
    work.accuse("negative-latency", (latency < 0) & (latency != NEVER), excess=-latency)
    started = first_of(work.buffers, work.start, work.kept)
    for name in ("commits", "submissions"):
        if name in tables:
            _judge_commits(tables[name], started)
    if "encoders" in tables:
        _judge_encoders(tables["encoders"], _by_latency(work, latency), commits)
    if "completions" in tables:
        _judge_reports(tables["completions"], started, commits)
        _judge_work(work, tables["completions"])


def possible_time(work: Rows, completions: Rows | None) -> int:
    """Return for how long the target's intervals whose end is not believed may have run, ns.

    Each ran at most until its command buffer was reported, and until the next on its lane started.
    """
    own = work.frame["target"].to_numpy(np.bool_) if work.has("target") else work.kept
    places = np.flatnonzero(own & work.kept & ~work.ended)
    if not places.size:
        return 0
    start, until = work.start[places], next_starts(work, places)
    if completions is not None:
        reports = Moments.of(completions.buffers, completions.start, completions.kept)
        report = reports.at(work.buffers[places])
        until = np.where(report > start, np.minimum(until, report), until)
    until = np.minimum(until, int(work.end[work.kept].max()))
    return int((until - start).sum())


def judge_numbers(work: Rows, encoders: Rows) -> None:
    """Find frames of the target that one of the two tables has, and the other does not.

    They are claimed where every command buffer has a number of its own, in order, in both tables.
    So it is in each real export: of 800 numbers one or none is missing in a table. A frame without
    device work may have been empty, which is said.
    """
    numbers = _numbers(work), _numbers(encoders)
    if any(frames.size < _FRAMES for frames, _ in numbers):
        return
    for rows, (frames, first), (others, _) in (
        (work, *numbers),
        (encoders, *reversed(numbers)),
    ):
        inside = others[(others > frames[0]) & (others < frames[-1])]
        absent = np.setdiff1d(inside, frames, assume_unique=True)
        if 0 < absent.size <= FEW * frames.size:
            behind = first[np.searchsorted(frames, absent)]
            rows.miss("missing-number", behind, absent.size, frames.size)


def _numbers(rows: Rows) -> tuple[Times, Places]:
    """Return the target's frames in order and the first row of each.

    There are none where a frame is not that of one command buffer, or where they do not ascend.
    """
    none = np.empty(0, np.int64), np.empty(0, np.intp)
    if not rows.has("frame", "target"):
        return none
    frame = times_of(rows.frame, "frame")
    own = rows.frame["target"].to_numpy(np.bool_) & (frame != NEVER)
    places = np.flatnonzero(own)
    if (np.diff(rows.start[places]) < 0).any():
        places = places[np.argsort(rows.start[places], kind="stable")]
    frame, buffers = frame[places], rows.buffers[places]
    fresh = frame[1:] != frame[:-1]
    if (frame[1:] < frame[:-1]).any() or (fresh != (buffers[1:] != buffers[:-1])).any():
        return none
    first = np.append(np.array([True]), fresh)[: frame.size]
    return frame[first], places[first]


def _moments_of_commits(tables: Mapping[str, Rows]) -> list[Moments]:
    """Return when command buffers were committed, by their commits and by their submissions."""
    found = list[Moments]()
    if "commits" in tables:
        rows = tables["commits"]
        found.append(Moments.of(rows.buffers, times_of(rows.frame, "committed"), rows.kept))
    if "submissions" in tables:
        rows = tables["submissions"]
        found.append(Moments.of(rows.buffers, rows.end, rows.kept & _are_commits(rows)))
    return found


def _are_commits(rows: Rows) -> Flags:
    if "event" not in rows.frame:
        return np.ones(rows.start.size, np.bool_)
    return (rows.frame["event"].fillna("") == _COMMIT).to_numpy(np.bool_)


def _first(moments: list[Moments], ids: Ids) -> Times:
    """Return the moment of each id, by the first of the tables that has it."""
    times = np.full(ids.size, NEVER)
    for each in moments:
        times = np.where(times == NEVER, each.at(ids), times)
    return times


def _judge_launch(rows: Rows, created: int) -> None:
    if not rows.has("target") or rows.table not in {"gpu_intervals", "encoders", "submissions"}:
        return
    own = rows.frame["target"].to_numpy(np.bool_)
    early = own & rows.is_of_the_device & (rows.start < created)
    asked = int(np.count_nonzero(own))
    rows.accuse(
        "before-launch", early, asked=asked, excess=created - rows.start, witness="life_cycles"
    )


def _judge_commits(rows: Rows, started: Moments) -> None:
    commit = times_of(rows.frame, "committed") if rows.table == "commits" else rows.end
    usable = rows.kept & (_are_commits(rows) if rows.table == "submissions" else rows.kept)
    once = Moments.of(rows.buffers, commit, usable)
    start = started.at(once.ids)
    late = np.zeros(rows.start.size, np.bool_)
    late[once.places] = (start != NEVER) & (once.times > start)
    excess = np.zeros(rows.start.size, np.int64)
    excess[once.places] = np.where(start == NEVER, 0, once.times - start)
    asked = int(np.count_nonzero(start != NEVER))
    rows.accuse("committed-after-start", late, asked=asked, excess=excess, witness="gpu_intervals")


def _by_latency(work: Rows, latency: Times) -> Moments:
    """Return when command buffers were committed, by the latency of their first interval."""
    known = work.kept & (latency != NEVER)
    return first_of(work.buffers, np.where(known, work.start - latency, NEVER), known)


def _judge_encoders(rows: Rows, by_latency: Moments, commits: list[Moments]) -> None:
    committed = _first([*commits, by_latency], rows.buffers)
    known = committed != NEVER
    late = known & (rows.start > committed)
    asked = int(np.count_nonzero(known))
    rows.accuse(
        "encoded-after-commit",
        late,
        asked=asked,
        excess=np.where(known, rows.start - committed, 0),
        witness="commits",
    )


def _judge_reports(rows: Rows, started: Moments, commits: list[Moments]) -> None:
    reports = Moments.of(rows.buffers, rows.start, rows.kept)
    for law, moments, witness in (
        ("reported-before-commit", _first(commits, reports.ids), "commits"),
        ("reported-before-start", started.at(reports.ids), "gpu_intervals"),
    ):
        known = moments != NEVER
        early = np.zeros(rows.start.size, np.bool_)
        early[reports.places] = known & (reports.times < moments)
        excess = np.zeros(rows.start.size, np.int64)
        excess[reports.places] = np.where(known, moments - reports.times, 0)
        asked = int(np.count_nonzero(known))
        rows.accuse(law, early, asked=asked, excess=excess, witness=witness)


def _judge_work(work: Rows, completions: Rows) -> None:
    """Find intervals that run when their command buffer is reported, and go on for long.

    One that starts behind the report is not judged: an id may be used again.
    """
    reports = Moments.of(completions.buffers, completions.start, completions.kept)
    report = reports.at(work.buffers)
    known = work.is_of_the_device & (report > work.start)
    longer = known & (work.end > np.where(known, report, 0) + LATE)
    excess = np.where(known, work.end - np.where(known, report, 0), 0)
    asked = int(np.count_nonzero(known))
    work.accuse(
        "outlasts-report",
        longer,
        asked=asked,
        excess=excess,
        witness="completions",
        cost=Cost.LENGTH,
    )
