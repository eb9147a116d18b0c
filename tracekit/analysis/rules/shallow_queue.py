"""`shallow-queue`: each iteration makes a round trip between host and device."""

import numpy as np
import pandas as pd

from tracekit.analysis.idle.gaps import gaps_of_waits, loaded_time
from tracekit.analysis.idle.levers import RARE, ROUND_TRIP
from tracekit.analysis.idle.pieces import Party
from tracekit.analysis.iterations import Loop, unit
from tracekit.analysis.rule import Findings, finding, longest
from tracekit.analysis.scope import Device
from tracekit.analysis.submission import between_iterations, host_time, in_flight, per_iteration
from tracekit.base import duration, percent

_TURN = (Party.WAY_THERE, Party.WAY_BACK, Party.HOST)


def shallow_queue(
    gpu: Device,
    loop: Loop,
    gaps: pd.DataFrame,
    loaded: pd.DataFrame,
    timeline: pd.DataFrame,
    iterations: pd.DataFrame,
    parties: dict[Party, int],
    *,
    limit: float = 0.05,
) -> Findings:
    """Host and device take turns: each iteration is a round trip.

    What it looks for:
        Idle time in which the device had run dry between iterations: on the way back to the host,
        in the host's time, and on the way there, before command buffers for which the host may
        have waited. It fires when more than `limit` of the window (5 %) could be won by one more
        iteration in flight. With two in flight and no result needed in between, an iteration takes
        the longest of the host's time, the device's time, and half of what it takes now; the rest
        is the saving. Where iterations are known, waits inside of them are frequent-readback's,
        and waits in few of them no habit. It is silent where something outside paces the loop.
        Bubbles counts the same idle time.

    Why it matters:
        A command buffer takes time to start, and its report takes time to reach the host. An
        iteration that waits for its own report pays both, and the host's time, one after the other.

    What to do:
        Make fewer round trips, or have the next one under way meanwhile.

    When it abstains:
        When no command buffer has both a commit and a completion, and where a CPU did the work.
    """
    depth, load = in_flight(timeline, loop), loaded_time(loaded)
    turns = gaps_of_waits(gaps, "yes", "unknown")
    chosen = np.ones(turns.count, bool)
    if not iterations.empty:
        chosen = between_iterations(turns, iterations)
        if per_iteration(turns, iterations) < RARE:
            return
    idle = int(turns.lost[chosen].sum())
    ran = gpu.ran(loop)
    longest_part = max(ran, host_time(turns, timeline, loaded), (idle + ran) // 2)
    saving = idle + ran - longest_part
    if saving <= limit * load or loop.paced:
        return
    yield finding(
        message=(
            f"Each {_name(iterations)} is a round trip, {int(chosen.sum()):,} in {loop.name}. "
            f"{_parts(parties, load, len(iterations))} "
            f"{_wait_words(gaps)} On average {depth:.2f} command buffers were in flight."
        ),
        advice=ROUND_TRIP,
        evidence=longest("gpu_intervals", turns.starts[chosen], turns.ends[chosen]),
        saving=saving,
        within="bubbles",
    )


def _name(iterations: pd.DataFrame) -> str:
    return "command buffer" if iterations.empty else unit(iterations)


def _parts(parties: dict[Party, int], load: int, number: int) -> str:
    """Say what an iteration consists of, or the window where none is known."""
    whole = f"Of {duration(load / number)}" if number else f"Of {duration(load)}"
    share = {party: parties[party] / max(1, number) for party in parties}
    works, there, back, host = (
        f"{duration(share[party])} ({percent(parties[party] / load)})"
        for party in (Party.WORKS, *_TURN)
    )
    return (
        f"{whole} the device works {works}; the way to the device takes {there}, the way back "
        f"{back}, the host from report to commit {host}."
    )


def _wait_words(gaps: pd.DataFrame) -> str:
    back = gaps[gaps["party"] == str(Party.WAY_BACK)]
    sums = back.groupby("waited", observed=False)["duration"].sum()
    if sums.sum() and sums["yes"] >= sums.sum() / 2:
        return "The host waits for the report."
    return "Whether the host waits for the report is not known."
