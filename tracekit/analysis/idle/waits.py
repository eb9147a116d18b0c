"""Did the host wait for a report? By its own encoding, by how its commits move, by samples.

A command buffer that had ended and was not yet reported does not show that the host waited for the
report. Each thread that commits is judged by itself, by the first of these that decides:

1. The report came after the commit, or before the last commit of the thread, the thread had an
   encoder open when the report came, or the host wired memory then that was for no command buffer
   on its way: it did not wait for it.
2. How the next commit moves with the reports, see `slopes`, for each place in the iteration by
   itself, and for early and late reports by themselves, as a host that computes meanwhile waits
   only for the late ones. All commits of a place count: those that came after the report alone
   would move with it by choice. This distinguishes a thread that keeps two in flight from one that
   waits for the latest: its commits move with the latest report but one. It also shows the wait of
   a thread that encodes ahead, and that a thread which sleeps by a timer waits for no report.
3. Samples: if the thread that commits is seen at work in more than three quarters of the time
   between end and report, it did not wait. If it is seen in less than a tenth, and so are all
   threads of the target together, it did: a thread that sleeps while another one computes waits for
   that one. Both by the 95 % interval. A thread at work whose commits surely move with the reports
   may spin, or wait at times: that is not known.
4. The host began to encode before the report, and its commits do not surely move: it did not wait.
5. A thread that looks by a timer whether the device is done waits, see `polls`, although its
   commits move by whole quanta only.

If none decides, it is not known.
"""

from collections.abc import Mapping

import numpy as np
import pandas as pd

from tracekit.analysis.idle.lives import Lives
from tracekit.analysis.idle.polls import find_polling
from tracekit.analysis.idle.sampled_waits import Waits, sampled_waits
from tracekit.analysis.idle.slopes import Places, Slope, Wait, slopes_of
from tracekit.analysis.idle.surroundings import Surroundings, find_open_encoders
from tracekit.analysis.idle.threads import Flags, Thread, threads_of
from tracekit.analysis.intervals import NEVER, IntervalSet, Times, spans
from tracekit.analysis.scope import Device

FEWEST = 16
"""Fewer commits than this at a place of the iteration show no habit."""
_FEWEST_A_REPORT = 5
_MOST_PARTS = 4
_PROMPT = (0.05, 0.25)  # quantiles of the times from report to commit, which a wait has
_LATE = 6.0  # times their distance, beyond the second

NOTHING = IntervalSet.empty()


def waits_table(
    timeline: pd.DataFrame,
    device: Device,
    iterations: pd.DataFrame | None,
    around: Surroundings,
    encoders: pd.DataFrame | None,
    cpu_profile: pd.DataFrame | None,
) -> Waits:
    """Return for each row of the table `timeline` the report before it that its thread waited for.

    For work on a CPU, the workload's own calls show it.
    """
    if device.on_the_host:
        return waits_by_calls(timeline)
    wiring = around.wiring.without(Lives.from_timeline(timeline).on_the_way_there)
    by_samples = sampled_waits(timeline, cpu_profile)
    return waits_of(timeline, iterations, wiring, by_samples, find_open_encoders(encoders))


def waits_of(
    timeline: pd.DataFrame,
    iterations: pd.DataFrame | None,
    wiring: IntervalSet,
    by_samples: Wait | Waits = Wait.UNKNOWN,
    encoding: Mapping[int, IntervalSet] | None = None,
) -> Waits:
    """Return for each command buffer the report before it that its thread waited for, see `Wait`.

    `timeline` is the table of that name; the result has its order. `wiring` is when the host wired
    memory while nothing was on its way, `by_samples` the verdict of the samples, see
    `sampled_waits`, for all or for each, `encoding` when each thread had an encoder open.
    """
    result = np.full(len(timeline), Wait.UNKNOWN, np.int8)
    encoding = encoding or {}
    verdicts = np.asarray(by_samples, np.int8)
    sampled = np.broadcast_to(verdicts, result.shape)
    for thread in threads_of(timeline):
        places = _places(thread, iterations)
        moves, waits = _by_slopes(thread, places)
        sample_verdicts = sampled[thread.rows]
        is_excluded = moves & (sample_verdicts == Wait.NO)
        unsure = (waits == Wait.UNKNOWN) & ~is_excluded
        is_contradicted = (waits > 0) & (sample_verdicts == Wait.NO)
        waits[is_contradicted] = Wait.UNKNOWN
        waits[unsure] = sample_verdicts[unsure]
        busy = [wiring, encoding.get(thread.name, NOTHING)]
        waits = _correct_waits(waits, thread, busy, ~moves)
        _, after_poll = find_polling(thread)
        waits[after_poll] = Wait.YES
        result[thread.rows] = waits
    return result


def waits_by_calls(timeline: pd.DataFrame) -> Waits:
    """Return the same for work on a CPU: a call behind the end of all earlier work waited.

    It is NONE if the call is not known, or is the work itself.
    """
    call_starts = timeline["encoding_start"].to_numpy(dtype=np.int64, na_value=NEVER)
    ends = timeline["ended"].to_numpy(dtype=np.int64)
    running_ends = np.maximum.accumulate(ends)[:-1]
    latest_ends = np.concatenate(([NEVER], running_ends))[: ends.size]
    is_after_all = call_starts >= latest_ends
    waits = np.where(is_after_all, Wait.YES, Wait.NO).astype(np.int8)
    waits[call_starts == NEVER] = Wait.NONE
    waits[:1] = Wait.NONE
    return waits


def _correct_waits(waits: Waits, thread: Thread, busy: list[IntervalSet], is_still: Flags) -> Waits:
    """Take back waits that single commits show to be wrong, and decide some that nothing else does.

    If commits do not surely move (`is_still`), an encoding that began before the report decides.
    """
    shifted_commits = np.append(NEVER, thread.committed[:-1])
    previous_commits = shifted_commits[: thread.rows.size]
    unsure = waits == Wait.UNKNOWN
    no_wait = unsure.copy()
    for lag in range(1, thread.reports + 1):
        report = thread.report(lag)
        is_before_report = thread.committed < report
        not_awaited = is_before_report & (thread.committed != NEVER)
        is_reported_before = report <= previous_commits
        not_awaited |= is_reported_before & thread.has_known_reports(lag)
        for intervals in busy:
            not_awaited |= intervals.contains(report)
        is_refuted = not_awaited & (waits == lag)
        waits[is_refuted] = Wait.NO
        has_encoding_start = thread.encoding_starts != NEVER
        encoded_before = has_encoding_start & (thread.encoding_starts < report)
        no_wait &= not_awaited | (is_still & encoded_before)
    waits[no_wait] = Wait.NO
    waits[:1] = Wait.NONE
    return waits


def _places(thread: Thread, iterations: pd.DataFrame | None) -> Times:
    """Return a number for each commit: the same for those at one place of their iterations.

    A place is the device, and the position of the command buffer in its iteration on that device.
    """
    position = np.zeros(thread.rows.size, np.int64)
    if iterations is not None and not iterations.empty:
        starts = np.sort(spans(iterations)[0])
        iteration = np.searchsorted(starts, thread.committed, side="right")
        commits = pd.DataFrame({"device": thread.device, "iteration": iteration})
        position = commits.groupby(["device", "iteration"]).cumcount().to_numpy()
    device_count = 1 + thread.device.max(initial=0)
    combined_places = position * device_count + thread.device
    return pd.factorize(combined_places)[0]


def _by_slopes(thread: Thread, places: Times) -> tuple[Flags, Waits]:
    """Judge the commits of each place together, and those of rare places all together.

    Return whether those of the place of each surely move with a report, and whether each waited.
    """
    moves = np.zeros(thread.rows.size, bool)
    waits = np.full(thread.rows.size, Wait.UNKNOWN, np.int8)
    lags = range(1, thread.reports + 1)
    reports = [thread.report(lag) for lag in lags]
    usable = thread.has_known_reports(thread.reports)
    has_all_reports = np.arange(thread.rows.size) >= thread.reports
    usable &= has_all_reports
    usable &= thread.committed != NEVER
    usable[1:] &= thread.committed[:-1] != NEVER
    fewest = max(FEWEST, _FEWEST_A_REPORT * len(reports))
    group_count = int(places.max(initial=0)) + 1
    numbers = np.bincount(places[usable], minlength=group_count)
    is_small = numbers[places] < fewest
    groups = np.where(is_small, -1, places)
    for group in np.unique(groups).tolist():
        in_group = groups == group
        members = np.flatnonzero(usable & in_group)
        if members.size >= fewest:
            slopes = slopes_of(thread.committed, reports, members)
            habit = _habit(slopes)
            can_be_zero = [slope.may_be(0) for slope in slopes or []]
            moves[in_group] = not all(can_be_zero)
            waits[in_group] = habit
            waits[members] = _by_parts(thread.committed, reports, members, habit, fewest)
    return moves, waits


def _by_parts(
    commits: Times, reports: list[Times], members: Places, habit: int, fewest: int
) -> Waits:
    """Judge early and late reports each by themselves, if there are enough of them.

    A host that computes meanwhile waits only for the late ones. A part that shows nothing, and does
    not contradict, has the habit of all. If a commit comes long after its report, the report may
    have come before the host was through.
    """
    waits = np.full(members.size, habit, np.int8)
    number = min(_MOST_PARTS, members.size // fewest)
    lag = max(habit, 1)
    lag_reports = reports[lag - 1][members]
    order = np.argsort((lag_reports - commits[members - 1]), kind="stable")
    if number > 1:
        for part in np.array_split(order, number):
            part_members = np.sort(members[part])
            slopes = slopes_of(commits, reports, part_members)
            part_habit = _habit(slopes)
            if part_habit != Wait.UNKNOWN:
                waits[part] = part_habit
            elif slopes and habit >= 0 and slopes[lag - 1].contradicts(min(habit, 1)):
                waits[part] = Wait.UNKNOWN
    lags = np.unique(waits[waits > 0])
    for lag in lags.tolist():
        delays = commits[members] - reports[lag - 1][members]
        delays_of_lag = delays[waits == lag]
        short_delay, usual_delay = np.quantile(delays_of_lag, _PROMPT).tolist()
        longest_delay = usual_delay + _LATE * (usual_delay - short_delay)
        is_too_long = (waits == lag) & (delays > longest_delay)
        waits[is_too_long] = Wait.UNKNOWN
    return waits


def _habit(slopes: list[Slope] | None) -> int:
    """Return by the slopes which report is awaited: the latest that a commit follows."""
    if not slopes:
        return Wait.UNKNOWN
    for lag, slope in enumerate(slopes, start=1):
        if slope.wait is Wait.YES:
            return lag
        if slope.wait is Wait.UNKNOWN:
            return Wait.UNKNOWN
    return Wait.NO
