"""`frequent-readback`: the program waits for the device several times in an iteration."""

import numpy as np
import pandas as pd

from tracekit.analysis.idle.gaps import Gaps, gaps_of, gaps_of_waits, loaded_time
from tracekit.analysis.idle.levers import MANY_WAITS
from tracekit.analysis.idle.pieces import Cause
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.iterations import Loop, steady_iterations, unit
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.rule import Fact, Findings, finding, longest
from tracekit.analysis.savings.estimate import Savings, without_replay
from tracekit.analysis.scope import Device
from tracekit.analysis.submission import (
    annotated_readbacks,
    between_iterations,
    per_iteration,
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
    *,
    most: float = MANY_WAITS,
    limit: float = 0.025,
) -> Findings:
    """The program waits for the device several times in an iteration.

    What it looks for:
        Waits: gaps in which everything that the host had committed was reported complete before it
        committed the next, and before which it is not known to have gone on without the report.
        Where a CPU did the work, spans of the workload named
        `readback`. It fires when there are more than `most` (1.5) in an iteration on average and
        the device is idle for more than `limit` (2.5 %) of the window after those that do not lie
        between two iterations. What could be saved is what a replay of the recording's own
        schedule with one wait an iteration wins. Bubbles counts the same idle time.

    Why it matters:
        Each wait drains the queue: the device idles while the host is woken, decides, encodes
        and commits.

    What to do:
        Keep intermediate results on the device and read once an iteration.

    When it abstains:
        When the program marks no steps and no loop is found, when no command buffer has both a
        commit and a completion, and on a CPU when the workload has no spans of readbacks.
    """
    load = loaded_time(loaded)
    rows = steady_iterations(iterations)
    if device.on_the_host:
        held = annotated_readbacks(spans, loop)
        if held is None:
            raise Unavailable(
                "which waits the program made is not known: the work ran on the CPU, and the "
                "workload has no spans `readback`."
            )
        found = _around(gaps, held)
    else:
        require_lives(timeline)
        held = found = gaps_of_waits(gaps, "yes", "unknown")
    often = per_iteration(held, rows)
    inside = ~between_iterations(found, rows)
    lost = int(found.lost[inside].sum())
    if often <= most or lost <= limit * load or loop.paced:
        return
    best = without_replay("one-wait", lost)
    if savings is not None and not device.on_the_host:
        best = savings.one_wait
    yield finding(
        wording="frequent-readback",
        facts=(
            Fact("waits", float(np.round(often, 1))),
            Fact("unit", unit(rows)),
            Fact("lost", lost, "ns"),
            Fact("lost_share", lost / load, "ratio"),
            Fact("window", loop.name),
            Fact("gaps", int(inside.sum())),
            *best.facts,
        ),
        lever=Mechanism.SEVERAL_WAITS,
        evidence=longest("gpu_intervals", found.starts[inside], found.ends[inside]),
        saving=best.saving,
        within="bubbles",
    )


def _around(gaps: pd.DataFrame, held: Gaps) -> Gaps:
    """Return the gaps that hold one of the waits."""
    whole = gaps_of(gaps, *Cause)
    at = np.searchsorted(whole.starts, held.starts, side="right") - 1
    at = np.unique(at[(at >= 0) & (whole.ends[at] > held.starts)]) if whole.count else at[:0]
    return Gaps(whole.starts[at], whole.ends[at], whole.lost[at])
