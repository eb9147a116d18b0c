"""`frequent-readback`: the program waits for the device several times in an iteration."""

import numpy as np
import pandas as pd

from tracekit.analysis.idle.cause import Cause
from tracekit.analysis.idle.levers import MANY_WAITS, Habits
from tracekit.analysis.idle.sums import Gaps, gaps_of, gaps_of_waits, loaded_time
from tracekit.analysis.inject import NotApplicable
from tracekit.analysis.iterations import Loop, steady_iterations, unit
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.repetition import Structure
from tracekit.analysis.rule import Fact, Findings, finding, longest
from tracekit.analysis.savings.estimate import Savings, without_replay
from tracekit.analysis.scope import Device
from tracekit.analysis.submission import (
    annotated_readbacks,
    between_iterations,
    per_step,
    require_lives,
)


def frequent_readback(
    device: Device,
    loop: Loop,
    gaps: pd.DataFrame,
    loaded: pd.DataFrame,
    timeline: pd.DataFrame,
    iterations: pd.DataFrame,
    spans: pd.DataFrame | None,
    savings: Savings | None,
    habits: Habits | None,
    structure: Structure | None,
    *,
    most: float = MANY_WAITS,
    limit: float = 0.025,
) -> Findings:
    """The program waits for the device several times in an iteration.

    What it looks for:
        Waits: gaps in which all commits of the host were reported complete before it committed the
        next one, unless the host is known to have gone on without the report. If a CPU did the
        work, spans of the workload named `readback`. It fires when there are more than `most` (1.5)
        in an iteration on average and the device is idle for more than `limit` (2.5 %) of the
        window after those that do not lie between two iterations. The possible saving is that of a
        replay of the recording's own schedule with one wait an iteration. Bubbles counts the same
        idle time.

    Why it matters:
        Each wait drains the queue: the device is idle while the host wakes up, decides, encodes and
        commits.

    What to do:
        Keep intermediate results on the device and read once an iteration.

    When it abstains:
        When the program marks no steps and no loop is found, when no command buffer has both a
        commit and a completion, and on a CPU when the workload has no spans of readbacks.
    """
    load = loaded_time(loaded)
    rows = steady_iterations(iterations)
    if device.on_the_host:
        waits = annotated_readbacks(spans, loop)
        if waits is None:
            raise NotApplicable(
                "which waits the program made is not known: the work ran on the CPU, and the "
                "workload has no spans `readback`."
            )
        wait_gaps = _around(gaps, waits)
    else:
        require_lives(timeline)
        waits = wait_gaps = gaps_of_waits(gaps, "yes", "unknown")
    waits_per_iteration = per_step(waits, rows, structure)
    within_iterations = ~between_iterations(wait_gaps, rows)
    lost_times = wait_gaps.lost_times[within_iterations]
    lost_time = int(lost_times.sum())
    if waits_per_iteration <= most or lost_time <= limit * load or loop.paced:
        return
    if habits is not None and habits.asked_singly:
        return
    best = without_replay("one-wait", lost_time)
    if savings is not None and not device.on_the_host:
        best = savings.one_wait
    wait_count = float(np.round(waits_per_iteration, 1))
    gap_count = int(within_iterations.sum())
    unit_name = unit(rows)
    lost_share = lost_time / load
    facts = (
        Fact("waits", wait_count),
        Fact("unit", unit_name),
        Fact("lost", lost_time, "ns"),
        Fact("lost_share", lost_share, "ratio"),
        Fact("window", loop.name),
        Fact("gaps", gap_count),
        *best.facts,
    )
    gap_starts = wait_gaps.starts[within_iterations]
    gap_ends = wait_gaps.ends[within_iterations]
    evidence = longest("gpu_intervals", gap_starts, gap_ends)
    yield finding(
        wording="frequent-readback",
        facts=facts,
        lever=Mechanism.SEVERAL_WAITS,
        evidence=evidence,
        saving=best.saving,
        within="bubbles",
    )


def _around(gaps: pd.DataFrame, waits: Gaps) -> Gaps:
    """Return the gaps that contain one of the waits."""
    all_gaps = gaps_of(gaps, *Cause)
    next_places = np.searchsorted(all_gaps.starts, waits.starts, side="right")
    places = next_places - 1
    places = (
        np.unique(places[(places >= 0) & (all_gaps.ends[places] > waits.starts)])
        if all_gaps.count
        else places[:0]
    )
    wait_starts = all_gaps.starts[places]
    wait_ends = all_gaps.ends[places]
    wait_times = all_gaps.lost_times[places]
    return Gaps(wait_starts, wait_ends, wait_times)
