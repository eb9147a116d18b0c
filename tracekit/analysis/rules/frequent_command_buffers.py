"""`frequent-command-buffers`: the device pauses between command buffers that were ready."""

import pandas as pd

from tracekit.analysis.idle.cause import Cause
from tracekit.analysis.idle.sources import name_missing_sources
from tracekit.analysis.idle.sums import gaps_of, loaded_time
from tracekit.analysis.iterations import Loop
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.rule import Fact, Findings, finding, longest
from tracekit.analysis.savings.estimate import Savings, without_replay
from tracekit.analysis.scope import Device
from tracekit.analysis.submission import describe_rate, require_buffers, require_commits


def frequent_command_buffers(
    gpu: Device,
    loop: Loop,
    gaps: pd.DataFrame,
    loaded: pd.DataFrame,
    timeline: pd.DataFrame,
    causes: pd.DataFrame,
    iterations: pd.DataFrame | None,
    savings: Savings | None,
    *,
    fewest: int = 8,
    limit: float = 0.03,
) -> Findings:
    """Boundaries between command buffers leave the device idle.

    What it looks for:
        Gaps of the target's device work before which the next command buffer had already been
        committed, and which neither the driver, wiring of memory, another process nor a device that
        powers up explains. It fires when there are at least `fewest` (8) and they take more than
        `limit` (3 %) of the window. The possible saving is that of a replay of the loop without
        them, or their number times the median gap if its schedule is not known. Gaps of over 100 µs
        belong to late-start, unless most boundaries of the loop are as long. Bubbles counts the
        same time.

    Why it matters:
        Each boundary costs tens of microseconds, whatever the command buffer contains. MLX closes a
        command buffer after a certain number of operations or megabytes, so that a token may have
        dozens of them.

    What to do:
        Make fewer, larger command buffers: in MLX by its limits per command buffer, in your own
        program by one commit an iteration. More command buffers in flight do not help here.

    When it abstains:
        When the trace does not distinguish command buffers or does not show when they were
        committed, when the target is not known, and when a CPU did the work.
    """
    load = loaded_time(loaded)
    require_commits(timeline)
    require_buffers(timeline)
    boundaries = gaps_of(gaps, Cause.BETWEEN_BUFFERS)
    if boundaries.count < fewest or boundaries.time <= limit * load:
        return
    buffers = loop.rows(timeline, "started")
    typical_time = round(boundaries.count * boundaries.median)
    simple = min(boundaries.time, typical_time)
    best = savings.boundaries if savings else without_replay("boundaries", simple)
    rate_words = describe_rate(len(buffers), iterations)
    loop_seconds = loop.length / 1e9
    rate = len(buffers) / loop_seconds
    busy_time = buffers["busy"].sum()
    work = float(busy_time / len(buffers))
    lost_share = boundaries.time / load
    missing_sources = name_missing_sources(causes, Cause.BETWEEN_BUFFERS)
    buffer_count = len(buffers)
    facts = (
        Fact("buffers", buffer_count),
        Fact("each", rate_words),
        Fact("window", loop.name),
        Fact("rate", rate, "1/s"),
        Fact("work", work, "ns"),
        Fact("boundaries", boundaries.count),
        Fact("median", boundaries.median, "ns"),
        Fact("lost", boundaries.time, "ns"),
        Fact("lost_share", lost_share, "ratio"),
        Fact("lacking", missing_sources),
        *best.facts,
    )
    evidence = longest("gpu_intervals", boundaries.starts, boundaries.ends)
    yield finding(
        wording="frequent-command-buffers",
        facts=facts,
        lever=Mechanism.BOUNDARIES_BETWEEN_BUFFERS,
        evidence=evidence,
        saving=best.saving,
        within="bubbles",
    )
