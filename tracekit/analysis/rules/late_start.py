"""`late-start`: committed work waits although the device is idle."""

import numpy as np
import pandas as pd

from tracekit.analysis.idle.cause import Cause
from tracekit.analysis.idle.causes import LATE
from tracekit.analysis.idle.levers import Habits, mechanism
from tracekit.analysis.idle.sources import name_missing_sources
from tracekit.analysis.idle.sums import gaps_of, loaded_time
from tracekit.analysis.iterations import Loop
from tracekit.analysis.rule import Fact, Findings, finding, longest
from tracekit.analysis.savings.estimate import Savings, without_replay
from tracekit.analysis.scope import Device
from tracekit.analysis.submission import require_commits


def late_start(
    gpu: Device,
    loop: Loop,
    gaps: pd.DataFrame,
    loaded: pd.DataFrame,
    timeline: pd.DataFrame,
    causes: pd.DataFrame,
    habits: Habits,
    savings: Savings | None,
    *,
    limit: float = 0.05,
) -> Findings:
    """Committed work starts late on an idle device.

    What it looks for:
        Gaps of the target's device work in which work had been committed for more than 100 µs, and
        which neither the driver, wiring of memory, another process nor a device that powers up
        explains. Shorter gaps are boundaries between command buffers, and so are longer ones if
        most boundaries of a loop are as long. It fires when they take more than `limit` of the
        window (5 %). Bubbles counts the same time.

    Why it matters:
        A device that has work and does not begin it waits for something that the recording does not
        name, such as an event that another stream signals.

    What to do:
        Keep the operations of the loop on one stream, and give the driver less to process for
        each command buffer.

    When it abstains:
        When the recording does not show when work was committed, when the target is not known, and
        when a CPU did the work.
    """
    load = loaded_time(loaded)
    require_commits(timeline)
    late_gaps = gaps_of(gaps, Cause.LATE_START)
    if late_gaps.time <= limit * load:
        return
    lost_times = late_gaps.lost_times
    p50, p99 = np.percentile(lost_times, (50, 99))
    name = mechanism(Cause.LATE_START, habits)
    best = savings.late_starts if savings else without_replay("late-starts", late_gaps.time)
    lost_share = late_gaps.time / load
    missing_sources = name_missing_sources(causes, Cause.LATE_START)
    p50_time = float(p50)
    p99_time = float(p99)
    facts = (
        Fact("lost_share", lost_share, "ratio"),
        Fact("lost", late_gaps.time, "ns"),
        Fact("window", loop.name),
        Fact("late_starts", late_gaps.count),
        Fact("late", LATE, "ns"),
        Fact("p50", p50_time, "ns"),
        Fact("p99", p99_time, "ns"),
        Fact("lacking", missing_sources),
        *best.facts,
    )
    evidence = longest("gpu_intervals", late_gaps.starts, late_gaps.ends)
    yield finding(
        wording="late-start",
        facts=facts,
        lever=name,
        evidence=evidence,
        saving=best.saving,
        within="bubbles",
    )
