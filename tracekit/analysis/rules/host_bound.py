"""`host-bound`: the device waits while the host encodes."""

import pandas as pd

from tracekit.analysis.idle.gaps import gaps_in, loaded_time
from tracekit.analysis.idle.levers import Habits, lever
from tracekit.analysis.idle.pieces import Cause, State
from tracekit.analysis.iterations import Loop
from tracekit.analysis.rule import Findings, finding, longest
from tracekit.analysis.scope import Device
from tracekit.analysis.submission import each, require_commits
from tracekit.base import duration, percent


def host_bound(
    gpu: Device,
    loop: Loop,
    gaps: pd.DataFrame,
    loaded: pd.DataFrame,
    timeline: pd.DataFrame,
    iterations: pd.DataFrame | None,
    habits: Habits,
    *,
    limit: float = 0.05,
) -> Findings:
    """The device waits while the host encodes.

    What it looks for:
        Gaps of the target's device work in which nothing was committed, and the host had begun to
        encode the next work before all earlier work was reported complete: it had not waited, it
        was not done. It fires when they take more than `limit` of the window (5 %). Bubbles counts
        the same time.

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
    found = gaps_in(gaps, State.ENCODING)
    if found.time <= limit * load:
        return
    pieces = int(loop.rows(timeline, "started")["intervals"].sum())
    yield finding(
        message=(
            f"The device was idle for {percent(found.time / load)} of {loop.name} "
            f"({duration(found.time)}, in {found.count:,} gaps) while the host encoded the next "
            f"work. The target has {pieces:,} pieces of device work{each(pieces, iterations)}."
            f"{habits.meanwhile}"
        ),
        advice=lever(Cause.ENCODING, habits),
        evidence=longest("gpu_intervals", found.starts, found.ends),
        saving=found.time,
        within="bubbles",
    )
