"""`tiny-encoders`: much time passes between the encoders of a command buffer."""

import numpy as np
import pandas as pd

from tracekit.analysis.idle.cause import Cause
from tracekit.analysis.idle.sums import gaps_of, loaded_time
from tracekit.analysis.intervals import spans
from tracekit.analysis.iterations import Loop
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.rule import Fact, Findings, finding, longest
from tracekit.analysis.savings.estimate import Savings, without_replay
from tracekit.analysis.scope import Device
from tracekit.analysis.submission import describe_rate, require_buffers


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
        Gaps of the target's device work inside one command buffer, between two of its encoders,
        however long the encoders are. It fires when there are at least `fewest` (8) and they take
        more than `limit` (5 %) of the window. The possible saving is their number times the median
        gap. Bubbles counts the same time.

    Why it matters:
        Each encoder costs its start, whatever it contains. With many encoders, the device spends
        its time between pieces of work instead of in them.

    What to do:
        Put many dispatches into one encoder, fuse kernels, make batches larger.

    When it abstains:
        When the trace does not distinguish command buffers, when the target is not known, and when
        a CPU did the work.
    """
    load = loaded_time(loaded)
    require_buffers(timeline)
    encoder_gaps = gaps_of(gaps, Cause.BETWEEN_ENCODERS)
    if encoder_gaps.count < fewest or encoder_gaps.time <= limit * load:
        return
    starts, ends = spans(loop.rows(gpu.target_intervals[["start", "duration"]]))
    best = savings.encoders if savings else without_replay("encoders", encoder_gaps.time)
    piece_count = int(starts.size)
    rate_words = describe_rate(starts.size, iterations)
    durations = ends - starts
    median_duration = np.median(durations)
    work = float(median_duration)
    lost_share = encoder_gaps.time / load
    facts = (
        Fact("pieces", piece_count),
        Fact("each", rate_words),
        Fact("window", loop.name),
        Fact("work", work, "ns"),
        Fact("boundaries", encoder_gaps.count),
        Fact("median", encoder_gaps.median, "ns"),
        Fact("lost", encoder_gaps.time, "ns"),
        Fact("lost_share", lost_share, "ratio"),
        *best.facts,
    )
    gap_starts = encoder_gaps.starts
    evidence = longest("gpu_intervals", gap_starts, encoder_gaps.ends)
    yield finding(
        wording="tiny-encoders",
        facts=facts,
        lever=Mechanism.BOUNDARIES_BETWEEN_ENCODERS,
        evidence=evidence,
        saving=best.saving,
        within="bubbles",
    )
