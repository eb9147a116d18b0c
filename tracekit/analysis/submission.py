"""The target's submission of work: waits of an iteration, command buffers in flight."""

from contextlib import suppress

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.allocating import Allocating
from tracekit.analysis.idle.cause import Cause, Party
from tracekit.analysis.idle.levers import MANY_WAITS, Habits
from tracekit.analysis.idle.polls import find_polling
from tracekit.analysis.idle.samples import host_words, other_thread
from tracekit.analysis.idle.sums import Gaps, gaps_of, gaps_of_waits, idle_time, loaded_time
from tracekit.analysis.idle.surroundings import find_open_encoders
from tracekit.analysis.idle.threads import threads_of
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import NEVER, IntervalSet, Window, clip, in_order, spans
from tracekit.analysis.iterations import Loop, unit
from tracekit.analysis.memory import Room
from tracekit.analysis.pace import count_presents
from tracekit.analysis.repetition import Structure
from tracekit.analysis.residency import Wired
from tracekit.analysis.rule import Fact
from tracekit.analysis.savings.estimate import Savings
from tracekit.analysis.scope import steady_tokens
from tracekit.analysis.trends import TrendLine, fit_trend
from tracekit.base import units
from tracekit.workload import READBACK

_NEAR = 5_000  # ns: a program's time between its last wait and its mark
_GROWS = 0.5  # share of the host's initial time for a command buffer
_MOST = 0.5  # of the idle time
_MANY_BUFFERS = 4  # buffers per iteration from which launches may share them
_FEW_PIECES = 2.0  # in a command buffer that holds one launch
_LITTLE_WORK = 500_000  # ns in a command buffer, on the device
_FAR_LONGER = 2.0  # ratio of the host's time to the device's above which two in flight hardly help
_SELDOM = 0.5  # largest share of the host's time for encoding
_NEARLY_ALL = 0.8  # share of the iterations without demand for the next one
_RARELY_ASKED = 0.1  # largest share of the loop under load


def describe_rate(number: int, iterations: pd.DataFrame | None) -> str:
    """Return the rate per step or iteration and per token in words; empty if both are unknown."""
    if iterations is None or iterations.empty:
        return ""
    rate = units.count(number / len(iterations))
    rate_text = f", {rate} per {unit(iterations)}"
    try:
        return f"{rate_text} and {units.count(number / steady_tokens(iterations))} per token"
    except Unavailable:
        return rate_text


def rate_facts(number: int, iterations: pd.DataFrame | None) -> tuple[Fact, ...]:
    """Return the facts of a number's rates: per iteration, with its noun, and per token.

    Unknown values are None.
    """
    per_iteration = per_token = name = None
    if iterations is not None and len(iterations):
        name = unit(iterations)
        per_iteration = number / len(iterations)
        with suppress(Unavailable):
            per_token = number / steady_tokens(iterations)
    return (
        Fact("per_iteration", per_iteration, "count"),
        Fact("iteration", name),
        Fact("per_token", per_token, "count"),
    )


def between_iterations(waits: Gaps, iterations: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which waits lie between two iterations: a loop that reads each result needs them.

    An iteration starts between the wait and the next commit, or the last one ends there.
    """
    begins, stops = spans(iterations)
    all_marks = np.append(begins, stops.max())
    marks = np.sort(all_marks)
    earlier_marks = np.searchsorted(marks, waits.starts, side="left")
    marks_before_end = np.searchsorted(marks, waits.ends + _NEAR, side="right")
    return marks_before_end > earlier_marks


def per_iteration(waits: Gaps, iterations: pd.DataFrame) -> float:
    """Return the mean number of waits per iteration; of several variants the highest."""
    ordered = in_order(iterations)
    variants = pd.Series("", ordered.index)
    if "variant" in ordered:
        variants = ordered["variant"].fillna("").astype(str)
    codes, names = pd.factorize(variants)
    next_places = np.searchsorted(spans(ordered)[0], waits.starts, side="right")
    places = next_places - 1
    known_places = places[places >= 0]
    counts = np.bincount(known_places, minlength=len(ordered))
    totals = np.bincount(codes, weights=counts, minlength=len(names))
    return float((totals / np.bincount(codes)).max())


def per_step(waits: Gaps, iterations: pd.DataFrame, structure: Structure | None) -> float:
    """Return the mean number of waits per iteration, or per step if an iteration holds many."""
    mean_waits = per_iteration(waits, iterations)
    if structure is not None:
        mean_waits /= structure.steps
    return mean_waits


def habits_of(
    loop: Loop,
    loaded: pd.DataFrame,
    gaps: pd.DataFrame,
    parties: dict[Party, int],
    timeline: pd.DataFrame,
    iterations: pd.DataFrame | None,
    residency: Wired | None,
    room: Room | None,
    submissions: pd.DataFrame | None,
    cpu_profile: pd.DataFrame | None,
    meanwhile: pd.DataFrame | None,
    savings: Savings | None,
    idle_by_cause: dict[Cause, int],
    encoders: pd.DataFrame | None,
    allocating: Allocating | None,
    pauses: pd.DataFrame | None,
    commits: pd.DataFrame | None,
    present_requests: pd.DataFrame | None,
    structure: Structure | None,
) -> Habits:
    """Return the facts on which advice about idle time depends."""
    wait_gaps = gaps_of_waits(gaps, "yes", "unknown")
    buffers = loop.rows(timeline, "started")
    ways = parties[Party.WAY_THERE] + parties[Party.WAY_BACK]
    waits = None if wait_gaps.count else 0.0
    if iterations is not None and not iterations.empty:
        waits = per_step(wait_gaps, iterations, structure)
    idle = idle_time(gaps)
    load = loaded_time(loaded)
    per_wait = None
    if wait_gaps.count:
        per_wait = len(buffers) / wait_gaps.count
    boundaries = gaps_of(gaps, Cause.BETWEEN_BUFFERS)
    encoding = _encoding(encoders, loaded) / max(1, load)
    shown_frames = count_presents(commits, present_requests, loop.start, loop.end)
    draws = iterations is not None and shown_frames >= max(1, len(iterations) // 2)
    encoding_rises = rising_encoding(buffers) is not None
    small_buffers = _are_small(buffers, iterations)
    busy_time = int(buffers["busy"].sum())
    late_commit = _commits_late(idle_by_cause, idle, per_wait)
    period = None
    if wait_gaps.count:
        period = load / wait_gaps.count
    until_encoding = gaps_of(gaps, Cause.HOST).median
    host_longer = host_time(wait_gaps, timeline, loaded) > busy_time
    small_work = ways > parties[Party.WORKS] if savings is None else savings.is_by_round_trips
    lost_wiring = None
    if residency is not None:
        lost_wiring = residency.has_lost_residency
    outgrown = None
    if room is not None:
        outgrown = room.outgrown
    other_stream = other_thread(gaps, cpu_profile, submissions)
    asked_singly = _is_asked_singly(pauses, iterations, load, loop)
    return Habits(
        waits=waits,
        buffers=per_wait,
        encoding=encoding,
        encoding_rises=encoding_rises,
        late_commit=late_commit,
        period=period,
        idle=idle / max(1, load),
        small_buffers=small_buffers,
        apart=small_buffers and _idles_within(gaps, iterations),
        quantum=max((find_polling(thread)[0] for thread in threads_of(timeline)), default=0),
        boundary=boundaries.median,
        until_encoding=until_encoding,
        host_longer=host_longer,
        small_work=small_work,
        lost_wiring=lost_wiring,
        outgrown=outgrown,
        other_stream=other_stream,
        host_activity=host_words(meanwhile),
        host_far_longer=not draws and _is_host_far_longer(parties, encoding * load),
        allocating=allocating is not None and allocating.is_most,
        allocating_rarely=_allocates_rarely(allocating, iterations),
        asked_singly=asked_singly,
    )


def _allocates_rarely(allocating: Allocating | None, iterations: pd.DataFrame | None) -> bool:
    """Return whether the host allocates before few iterations only, such as those of a request."""
    return allocating is not None and allocating.is_rare(iterations)


def _is_host_far_longer(parties: dict[Party, int], encoding: float) -> bool:
    """Return whether the host takes far longer than the device, mostly for other than encoding.

    Submitting work ahead then saves only the device's time, which is the lesser part. The habits of
    a program that shows frames are less certain: it may wait for the display.
    """
    host = parties[Party.HOST]
    longest_device_time = _FAR_LONGER * parties[Party.WORKS]
    return host > longest_device_time and encoding < _SELDOM * host


def _is_asked_singly(
    pauses: pd.DataFrame | None, iterations: pd.DataFrame | None, load: int, loop: Loop
) -> bool:
    """Return whether nearly every iteration is requested alone, with a pause after it.

    The time of a round trip is then free, and more work in flight does not save it.
    """
    if pauses is None or iterations is None or iterations.empty:
        return False
    least_pauses = _NEARLY_ALL * (len(iterations) - 1)
    return len(pauses) >= least_pauses and load < _RARELY_ASKED * loop.length


def _encoding(encoders: pd.DataFrame | None, loaded: pd.DataFrame) -> int:
    """Return the time under load for which the busiest encoding thread had an encoder open; ns."""
    windows = spans(loaded)
    open_times = find_open_encoders(encoders).values()
    times = [int(intervals.measure_within(*windows).sum()) for intervals in open_times]
    return max(times, default=0)


def rising_encoding(buffers: pd.DataFrame) -> TrendLine | None:
    """Return the rise of the host's time for a command buffer; None if it does not rise.

    It must rise all the time, with certainty and by half of its initial value.
    """
    timed_buffers = buffers.dropna(subset=["encoding_start", "committed"]).sort_values("committed")
    commit_times = timed_buffers["committed"].to_numpy(dtype=np.float64)
    encoding_times = commit_times - timed_buffers["encoding_start"].to_numpy(dtype=np.float64)
    line = fit_trend(encoding_times)
    if line is None or not line.is_steady or line.first_value <= 0:
        return None
    return line if line.least_share >= _GROWS else None


def _commits_late(idle_by_cause: dict[Cause, int], idle: int, buffers: float | None) -> bool:
    """Return whether most idle time is that of a host that encodes one command buffer per wait."""
    has_one_buffer = buffers is not None and buffers <= MANY_WAITS
    return has_one_buffer and idle_by_cause[Cause.ENCODING] > _MOST * idle


def _are_small(buffers: pd.DataFrame, iterations: pd.DataFrame | None) -> bool:
    """Return whether an iteration has many command buffers of one launch with little work each."""
    if buffers.empty or iterations is None or iterations.empty:
        return False
    number = len(buffers) / len(iterations)
    pieces = float(buffers["encoders"].median())
    little = float(buffers["busy"].median()) <= _LITTLE_WORK
    return number >= _MANY_BUFFERS and pieces <= _FEW_PIECES and little


def _idles_within(gaps: pd.DataFrame, iterations: pd.DataFrame | None) -> bool:
    """Return whether most of the idle time lies within iterations."""
    if iterations is None:
        return False
    all_gaps = gaps_of(gaps, *Cause)
    inner = ~between_iterations(all_gaps, iterations)
    inner_time = int(all_gaps.lost_times[inner].sum())
    total_lost_time = int(all_gaps.lost_times.sum())
    return inner_time > _MOST * total_lost_time


def host_time(waits: Gaps, timeline: pd.DataFrame, loaded: pd.DataFrame) -> int:
    """Return the least time for which the host prepared work under load; ns.

    In each gap after a wait it lasts from the report of all earlier work to the next commit;
    elsewhere from the beginning of each command buffer's encoding to its commit.
    """
    begin_times, committed, completed = (
        timeline[name].to_numpy(dtype=np.int64, na_value=NEVER)
        for name in ("encoding_start", "committed", "completed")
    )
    started = timeline["started"].to_numpy(dtype=np.int64)
    reported = np.maximum.accumulate(completed)
    next_starts = np.searchsorted(started, waits.ends, side="left")
    next_rows = np.minimum(next_starts, started.size - 1)
    prepared = reported[np.maximum(next_rows - 1, 0)], committed[next_rows]
    host_starts = np.where(begin_times == NEVER, committed, begin_times)
    starts = np.concatenate((host_starts, prepared[0]))
    ends = np.concatenate((committed, prepared[1]))
    first_start = int(started[0])
    last_end = int(ends.max())
    prepared = clip(starts, ends, first_start, last_end)
    host_work = IntervalSet.from_spans(*prepared)
    return int(host_work.measure_within(*spans(loaded)).sum())


def annotated_readbacks(annotations: pd.DataFrame | None, window: Window) -> Gaps | None:
    """Return the annotated readbacks in the window; None if the workload annotates none at all.

    A span begins when the program begins to wait, long before the device is done. The device runs
    out of work at the span's end, so the wait is placed there.
    """
    if annotations is None:
        return None
    readbacks = annotations[annotations["name"] == READBACK]
    rows = readbacks.sort_values("start", kind="stable")
    ends = spans(rows)[1]
    if ends.size == 0:
        return None
    is_within = (ends > window.start) & (ends <= window.end)
    ends = ends[is_within]
    counts = np.ones(ends.size, np.int64)
    return Gaps(ends - 1, ends, counts)


def in_flight(timeline: pd.DataFrame, window: Window) -> float:
    """Return the mean number of command buffers that are committed and not complete."""
    committed = timeline["committed"].to_numpy(dtype=np.int64, na_value=NEVER)
    completed = timeline["completed"].to_numpy(dtype=np.int64, na_value=NEVER)
    has_both_times = (committed != NEVER) & (completed >= committed)
    require_lives(timeline)
    committed_times = committed[has_both_times]
    completed_times = completed[has_both_times]
    starts, ends = clip(committed_times, completed_times, window.start, window.end)
    latencies = ends - starts
    return float(latencies.sum() / window.length)


def require_lives(timeline: pd.DataFrame) -> None:
    """Raise Unavailable if no command buffer has both a commit and a completion."""
    is_after_commit = timeline["completed"] >= timeline["committed"]
    if not is_after_commit.fillna(value=False).any():
        raise Unavailable("no command buffer of the target has both a commit and a completion.")


def require_commits(timeline: pd.DataFrame) -> None:
    """Raise Unavailable if the commits of the target's work are unknown."""
    if timeline["committed"].isna().all():
        raise Unavailable(
            "when work was committed is not known: no interval of the target has a start latency, "
            "and neither commits nor submissions of command buffers were recorded."
        )


def require_buffers(timeline: pd.DataFrame) -> None:
    """Raise Unavailable if the trace does not distinguish command buffers."""
    if not timeline["known"].any():
        raise Unavailable("the trace does not say to which command buffers the work belongs.")
