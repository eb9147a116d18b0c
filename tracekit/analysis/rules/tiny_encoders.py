"""`tiny-encoders`: much time passes between the encoders of a command buffer."""

import numpy as np
import pandas as pd

from tracekit.analysis.idle.gaps import gaps_of, loaded_time
from tracekit.analysis.idle.pieces import Cause
from tracekit.analysis.intervals import spans
from tracekit.analysis.iterations import Loop
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.rule import Fact, Findings, finding, longest
from tracekit.analysis.savings.estimate import Savings, without_replay
from tracekit.analysis.scope import Device
from tracekit.analysis.submission import each, require_buffers


def tiny_encoders(
    gpu: Device,
    loop: Loop,
    gaps: pd.DataFrame,
    loaded: pd.DataFrame,
    timeline: pd.DataFrame,
    iterations: pd.DataFrame | None,
    savings: Savings | None,
    *,
    fewest: int = 8,
    limit: float = 0.05,
) -> Findings:
    """Boundaries between encoders leave the device idle.

    What it looks for:
        Gaps of the target's device work inside of one command buffer, between two of its encoders,
        however long the encoders are. It fires when there are at least `fewest` (8) and they take
        more than `limit` (5 %) of the window. What could be saved is their number times the
        median gap. Bubbles counts the same time.

    Why it matters:
        Each encoder costs its start, whatever it does. With many of them the device spends its
        time between pieces of work instead of in them.

    What to do:
        Put many dispatches into one encoder, fuse kernels, make batches larger.

    When it abstains:
        When the trace does not tell command buffers apart, when the target is not known, and where
        a CPU did the work.
    """
    load = loaded_time(loaded)
    require_buffers(timeline)
    found = gaps_of(gaps, Cause.BETWEEN_ENCODERS)
    if found.count < fewest or found.time <= limit * load:
        return
    starts, ends = spans(loop.rows(gpu.own[["start", "duration"]]))
    simple = min(found.time, round(found.count * found.median))
    best = savings.encoders if savings else without_replay("encoders", simple)
    yield finding(
        wording="tiny-encoders",
        facts=(
            Fact("pieces", int(starts.size)),
            Fact("each", each(starts.size, iterations)),
            Fact("window", loop.name),
            Fact("work", float(np.median(ends - starts)), "ns"),
            Fact("boundaries", found.count),
            Fact("median", found.median, "ns"),
            Fact("lost", found.time, "ns"),
            Fact("lost_share", found.time / load, "ratio"),
            *best.facts,
        ),
        lever=Mechanism.BOUNDARIES_BETWEEN_ENCODERS,
        evidence=longest("gpu_intervals", found.starts, found.ends),
        saving=best.saving,
        within="bubbles",
    )
