"""`host-bound`: the device waits while the host encodes."""

import pandas as pd

from tracekit.analysis.idle.gaps import host_time_without_wait, loaded_time
from tracekit.analysis.idle.levers import Habits, mechanism
from tracekit.analysis.idle.pieces import Cause
from tracekit.analysis.iterations import Loop
from tracekit.analysis.rule import Fact, Findings, finding, longest
from tracekit.analysis.savings.estimate import Savings, without_replay
from tracekit.analysis.scope import Device
from tracekit.analysis.submission import each, require_commits


def host_bound(
    gpu: Device,
    loop: Loop,
    gaps: pd.DataFrame,
    loaded: pd.DataFrame,
    timeline: pd.DataFrame,
    iterations: pd.DataFrame | None,
    habits: Habits,
    savings: Savings | None,
    *,
    limit: float = 0.05,
) -> Findings:
    """The device waits while the host encodes.

    What it looks for:
        Idle time in which nothing was committed, before command buffers for which the host is
        known not to have waited: it had begun to encode them before all earlier work was reported
        complete, was sampled at work, or its commits do not move with the reports. It fires when
        that takes more than `limit` of the window (5 %). It is silent where something outside
        paces the loop. Bubbles counts the same time.

    Why it matters:
        A faster kernel wins nothing here: the loop goes as fast as the host builds and encodes it.

    What to do:
        Give the host less to do: mx.compile, fewer operations, larger command buffers. Where it
        encodes one command buffer for each wait, commit a part of it earlier.

    When it abstains:
        When nothing tells when work was committed, when the target is not known, and where a CPU
        did the work.
    """
    load = loaded_time(loaded)
    require_commits(timeline)
    found = host_time_without_wait(gaps)
    if found.time <= limit * load or loop.paced:
        return
    pieces = int(loop.rows(timeline, "started")["intervals"].sum())
    name = mechanism(Cause.ENCODING, habits)
    best = savings.host if savings else without_replay("host", found.time)
    yield finding(
        wording="host-bound",
        facts=(
            Fact("lost_share", found.time / load, "ratio"),
            Fact("lost", found.time, "ns"),
            Fact("window", loop.name),
            Fact("gaps", found.count),
            Fact("pieces", pieces),
            Fact("each", each(pieces, iterations)),
            Fact("meanwhile", habits.meanwhile.strip()),
            *best.facts,
        ),
        lever=name,
        evidence=longest("gpu_intervals", found.starts, found.ends),
        saving=best.saving,
        within="bubbles",
    )
