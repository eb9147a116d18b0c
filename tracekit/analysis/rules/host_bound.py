"""`host-bound`: the device waits while the host encodes."""

from dataclasses import replace

import pandas as pd

from tracekit.analysis.idle.cause import Cause
from tracekit.analysis.idle.levers import Habits, mechanism
from tracekit.analysis.idle.sums import (
    Gaps,
    gaps_of,
    host_time_without_wait,
    idle_time,
    loaded_time,
)
from tracekit.analysis.idle.surroundings import find_encoding
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import spans
from tracekit.analysis.iterations import Loop
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.rule import Fact, Findings, finding, longest
from tracekit.analysis.savings.estimate import Savings, without_replay
from tracekit.analysis.scope import Device
from tracekit.analysis.submission import describe_rate, require_commits, rising_encoding


def host_bound(
    gpu: Device,
    loop: Loop,
    gaps: pd.DataFrame,
    loaded: pd.DataFrame,
    timeline: pd.DataFrame,
    iterations: pd.DataFrame | None,
    habits: Habits,
    savings: Savings | None,
    encoders: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
    *,
    limit: float = 0.05,
) -> Findings:
    """The device waits while the host encodes.

    What it looks for:
        Idle time in which nothing was committed, before command buffers for which the host is known
        not to have waited: it had begun to encode them before all earlier work was reported
        complete, samples show it at work, or its commits do not move with the reports. If the host
        encodes for at least three quarters of the time, all idle time of the host and of starts
        counts, because nothing else sets the pace. If the host waits, encodes all the work that it
        waits for as one command buffer, and most of the idle time is of that kind, the time in
        which it encoded counts. The finding also reports a host that takes more and more time for a
        command buffer. It fires when such time is more than `limit` of the window (5 %). It is
        silent when something outside paces the loop. Bubbles counts the same time.

    Why it matters:
        A faster kernel saves nothing here: the loop goes as fast as the host builds and encodes it.

    What to do:
        Give the host less to do: fewer operations, larger command buffers. If it encodes one
        command buffer for each wait, commit a part of it earlier.

    When it abstains:
        When the recording does not show when work was committed, when the target is not known, and
        when a CPU did the work; without encoders, if the host may have encoded for three quarters
        of the time.
    """
    load = loaded_time(loaded)
    require_commits(timeline)
    lost_gaps = _find_lost_gaps(gaps, habits)
    # Starts have no cost of their own if the host encodes the next one meanwhile.
    starts = 0
    if habits.host_sets_the_pace:
        starts = gaps_of(gaps, Cause.START).time
    if loop.paced:
        return
    if lost_gaps.time + starts <= limit * load:
        host_gaps = gaps_of(gaps, Cause.ENCODING, Cause.HOST)
        if host_gaps.time > limit * load:
            _require_known_pace(encoders, submissions, loaded, habits)
        return
    buffers = loop.rows(timeline, "started")
    pieces = int(buffers["intervals"].sum())
    busy_time = float(buffers["busy"].sum())
    name = mechanism(Cause.ENCODING, habits)
    growth = None
    at_most = lost_gaps.time
    if habits.host_sets_the_pace:
        growth = rising_encoding(buffers)
        at_most = idle_time(gaps)
    best = savings.host if savings else without_replay("host", at_most)
    if name is Mechanism.COMMIT_EARLIER:
        winnable_time = min(lost_gaps.time, int(busy_time))
        best = without_replay("commit-earlier", winnable_time)
    buffer_count = len(buffers)
    divisor = max(1, buffer_count)
    lost_share = lost_gaps.time / load
    rate_words = describe_rate(pieces, iterations)
    host_activity = habits.host_activity.strip()
    is_late_commit = habits.late_commit and not habits.host_sets_the_pace
    encoding_time = habits.encoding * load
    encoding_each = encoding_time / divisor
    work_each = busy_time / divisor
    encoding_first = growth and growth.first_value
    encoding_last = growth and growth.last_value
    facts = (
        Fact("lost_share", lost_share, "ratio"),
        Fact("lost", lost_gaps.time, "ns"),
        Fact("window", loop.name),
        Fact("gaps", lost_gaps.count),
        Fact("pieces", pieces),
        Fact("each", rate_words),
        Fact("meanwhile", host_activity),
        Fact("sets_the_pace", habits.host_sets_the_pace),
        Fact("late_commit", is_late_commit),
        Fact("encoding_share", habits.encoding, "ratio"),
        Fact("encoding_each", encoding_each, "ns"),
        Fact("work_each", work_each, "ns"),
        Fact("buffers", buffer_count),
        Fact("encoding_first", encoding_first, "ns"),
        Fact("encoding_last", encoding_last, "ns"),
        *best.facts,
    )
    evidence = longest("gpu_intervals", lost_gaps.starts, lost_gaps.ends)
    yield finding(
        wording="host-bound",
        facts=facts,
        lever=name,
        evidence=evidence,
        saving=best.saving,
        within="bubbles",
    )


def _require_known_pace(
    encoders: pd.DataFrame | None,
    submissions: pd.DataFrame | None,
    loaded: pd.DataFrame,
    habits: Habits,
) -> None:
    """Raise Unavailable if only encoders would show whether the host sets the pace.

    Submissions show the time that encoders took, and not the thread that encoded.
    """
    if encoders is not None and encoders["target"].any():
        return
    encoding_intervals = find_encoding(None, submissions)
    load_spans = spans(loaded)
    encoded_times = encoding_intervals.measure_within(*load_spans)
    encoding_time = encoded_times.sum()
    encoding = encoding_time / loaded_time(loaded)
    changed_habits = replace(habits, encoding=encoding)
    if changed_habits.host_sets_the_pace:
        raise Unavailable(
            "whether the host encodes all the time is not known: encoders "
            "(metal-application-encoders-list) were not recorded."
        )


def _find_lost_gaps(gaps: pd.DataFrame, habits: Habits) -> Gaps:
    """Return the gaps with time of a host that is behind; see the rule."""
    if habits.host_sets_the_pace:
        return gaps_of(gaps, Cause.ENCODING, Cause.HOST)
    if habits.late_commit:
        return gaps_of(gaps, Cause.ENCODING)
    return host_time_without_wait(gaps)
