"""`shallow-queue`: each iteration makes a round trip between host and device."""

import numpy as np
import pandas as pd

from tracekit.analysis.idle.cause import Cause, Party
from tracekit.analysis.idle.levers import RARE, Habits, mechanism
from tracekit.analysis.idle.sums import gaps_of_waits, idle_time, loaded_time
from tracekit.analysis.iterations import Loop, unit
from tracekit.analysis.rule import Fact, Findings, finding, longest
from tracekit.analysis.savings.estimate import Savings
from tracekit.analysis.scope import Device
from tracekit.analysis.submission import between_iterations, in_flight, per_iteration

_TURN = (Party.WAY_THERE, Party.WAY_BACK, Party.HOST)


def shallow_queue(
    gpu: Device,
    loop: Loop,
    gaps: pd.DataFrame,
    loaded: pd.DataFrame,
    timeline: pd.DataFrame,
    iterations: pd.DataFrame,
    parties: dict[Party, int],
    habits: Habits,
    savings: Savings,
    *,
    limit: float = 0.05,
) -> Findings:
    """Host and device take turns: each iteration is a round trip.

    What it looks for:
        Idle time in which the device had run out of work between iterations: on the way back to the
        host, in the host's time, and on the way to the device, before command buffers for which the
        host may have waited. It fires when more than `limit` of the window (5 %) could be saved, in
        a replay of the recording's own schedule. With two or three iterations in flight, an
        iteration takes the longest of three times: the host's, the device's, and a half or third of
        its present time. Nothing is saved if each iteration needs the result of the previous one.
        If more than three iterations would have to be in flight to hide the ways there and back,
        ten iterations behind one wait save nine tenths of these ways. If iterations are known,
        waits inside them belong to frequent-readback, and waits in only a few of them do not count
        as a habit. It is silent when something outside paces the loop or requests single
        iterations. Bubbles counts the same idle time.

    Why it matters:
        A command buffer takes time to start, and its report takes time to reach the host. An
        iteration that waits for its own report pays for both, and for the host's time, one after
        the other.

    What to do:
        Make fewer round trips, or keep the next one in flight meanwhile.

    When it abstains:
        When no command buffer has both a commit and a completion, and when a CPU did the work.
    """
    depth = in_flight(timeline, loop)
    load = loaded_time(loaded)
    turns = gaps_of_waits(gaps, "yes", "unknown")
    chosen = np.ones(turns.count, bool)
    if not iterations.empty:
        chosen = between_iterations(turns, iterations)
        if per_iteration(turns, iterations) < RARE:
            return
    # A replay may run work of several threads at once; one device saves at most its idle time.
    idle = idle_time(gaps)
    best = savings.round_trips.at_most(idle)
    in_flight_prospect = savings.in_flight.at_most(idle)
    batch = savings.batch.at_most(idle)
    if not chosen.any() or best.saving <= limit * load or loop.paced or habits.asked_singly:
        return
    number = max(1, len(iterations))
    shown_parties = (Party.WORKS, *_TURN)
    parts = {party: parties[party] / number for party in shown_parties}
    name = mechanism(Cause.REPORT, habits)
    unit_name = "command buffer"
    if not iterations.empty:
        unit_name = unit(iterations)
    round_trip_count = int(chosen.sum())
    work_time = parts[Party.WORKS]
    way_there_time = parts[Party.WAY_THERE]
    way_back_time = parts[Party.WAY_BACK]
    host_time = parts[Party.HOST]
    overlapped_period = (load - in_flight_prospect.saving) / number
    batched_period = (load - batch.saving) / number
    iteration_count = len(iterations)
    period = load / number
    is_waiting = _waits(gaps)
    facts = (
        Fact("unit", unit_name),
        Fact("window", loop.name),
        Fact("iterations", iteration_count),
        Fact("round_trips", round_trip_count),
        Fact("period", period, "ns"),
        Fact("works", work_time, "ns"),
        Fact("way_there", way_there_time, "ns"),
        Fact("way_back", way_back_time, "ns"),
        Fact("host", host_time, "ns"),
        *(
            Fact(f"{party.replace('-', '_')}_share", parties[party] / load, "ratio")
            for party in shown_parties
        ),
        Fact("in_flight", depth, "buffers"),
        Fact("several", in_flight_prospect.number),
        Fact("period_several", overlapped_period, "ns"),
        Fact("batch", batch.number),
        Fact("period_batch", batched_period, "ns"),
        Fact("hiding", savings.hiding, "buffers"),
        *best.facts,
        Fact("waits", is_waiting),
    )
    turn_starts = turns.starts[chosen]
    turn_ends = turns.ends[chosen]
    evidence = longest("gpu_intervals", turn_starts, turn_ends)
    yield finding(
        wording="shallow-queue",
        facts=facts,
        lever=name,
        evidence=evidence,
        saving=best.saving,
        within="bubbles",
    )


def _waits(gaps: pd.DataFrame) -> bool:
    """Return whether the host is known to wait for the report; False if that is unknown."""
    back = gaps[gaps["party"] == str(Party.WAY_BACK)]
    sums = back.groupby("waited", observed=False)["duration"].sum()
    total_time = sums.sum()
    return bool(total_time) and bool(sums["yes"] >= total_time / 2)
