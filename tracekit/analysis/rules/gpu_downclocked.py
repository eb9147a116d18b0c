"""`gpu-downclocked`: the GPU ran below its best clock."""

from collections.abc import Iterator

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window, busy, clip, spans
from tracekit.analysis.machine import Below, Clock, below_best, clock
from tracekit.analysis.rule import Evidence, Finding, finding, longest
from tracekit.analysis.scope import of_target, on_gpu, window_of_target
from tracekit.base import duration, percent, quantity

_ADVICE = (
    "Candidates: plug in the power adapter and switch Low Power Mode off; let the machine cool "
    "down, and look at the thermal state; keep the GPU fed, as it lowers its clock while it "
    "waits for work; warm up for longer. Tokens per second follow the clock, so compare runs only "
    "at equal clocks; Instruments can hold the GPU at one performance state while it records."
)
_FALLS = 0.95  # of the clock at the beginning, from which a clock is said to fall


def gpu_downclocked(
    gpu_intervals: pd.DataFrame,
    targets: pd.DataFrame,
    loop: pd.DataFrame,
    gpu_performance_states: pd.DataFrame | None,
    gauges: pd.DataFrame | None,
    *,
    limit: float = 0.10,
    near: float = 0.90,
    active: float = 0.25,
) -> Iterator[Finding]:
    """The GPU ran below its best clock.

    What it looks for:
        Performance states below the best one (Minimum and Medium below Maximum, low and medium
        below high), in the part of the steady window in which the GPU was awake; and readings of
        a monitor below `near` (90 %) of the highest clock of the whole run, of those in which the
        GPU was `active` for 25 % or more. It fires when either makes up more than `limit` of it
        (default 10 %); a single low reading is chance. Where a monitor reports the clock, the
        saving is the target's device time less what it would have been at the highest clock.

    Why it matters:
        What a GPU computes in a second follows its clock. It goes down with heat, on battery and
        while there is little to do, often without any sign of heat, and two runs at unlike clocks
        say nothing of the code.

    What to do:
        Give it power, cool it, keep it fed; compare only at equal clocks.

    When it abstains:
        When neither performance states nor a monitor's clock are there, when a state has a name
        whose rank is not known, and where a CPU did the work. The numbers of
        `gpu_device_performance_states` are not used: which of them is fast is not established.
    """
    own = of_target(on_gpu(gpu_intervals), targets)
    window = window_of_target(gpu_intervals, targets, loop)
    states, read = _known(gpu_performance_states, gauges, window, active)
    slow_states = states is not None and states.share > limit
    slow_clock = read is not None and read.share_below(near) > limit and read.count_below(near) > 1
    if not slow_states and not slow_clock:
        return
    parts = [_by_states(states, window) if states is not None and slow_states else ""]
    parts += [_by_clock(read, near, window) if read is not None else ""]
    work = busy(*clip(*spans(own), window.start, window.end))
    yield finding(
        message=" ".join(filter(None, parts)),
        advice=_ADVICE,
        evidence=_evidence(states if slow_states else None, read, near),
        saving=None if read is None else round(work * (1 - read.ratio)),
        within="roofline-distance",
    )


def _known(
    states: pd.DataFrame | None, gauges: pd.DataFrame | None, window: Window, active: float
) -> tuple[Below | None, Clock | None]:
    """Return what both sources say; raise Unavailable, with both reasons, if neither does."""
    reasons: list[str] = []
    below, read = None, None
    try:
        below = below_best(states, window)
    except Unavailable as reason:
        reasons.append(str(reason))
    try:
        read = clock(gauges, window, active)
    except Unavailable as reason:
        reasons.append(str(reason))
    if below is None and read is None:
        raise Unavailable(" And ".join(reasons))
    return below, read


def _by_states(below: Below, window: Window) -> str:
    words = ", ".join(f"{name} {duration(lasted)}" for name, lasted in below.states.items())
    asked = " A tool asked for it while it recorded." if below.induced else ""
    return (
        f"The GPU was below its best performance state for {percent(below.share)} of the "
        f"{duration(below.awake)} of {window.name} in which it was awake: {words}.{asked}"
    )


def _by_clock(read: Clock, near: float, window: Window) -> str:
    share, (first, last) = read.share_below(near), read.ends
    fell = (
        f" It fell from {quantity(first, 'Hz')} to {quantity(last, 'Hz')} on the way."
        if last < _FALLS * first
        else ""
    )
    return (
        f"The clock of the GPU was {percent(read.ratio)} of the run's highest, "
        f"{quantity(read.best, 'Hz')}, on average over {window.name}, and below {percent(near)} "
        f"of it in {percent(share)} of {read.hertz.size:,} readings.{fell}"
    )


def _evidence(below: Below | None, read: Clock | None, near: float) -> tuple[Evidence, ...]:
    if below is not None:
        return longest("gpu_performance_states", below.starts, below.ends)
    assert read is not None
    slow = read.hertz < near * read.best
    readings = zip(read.times[slow][:20], read.hertz[slow][:20], strict=True)
    return tuple(
        Evidence("gauges", int(at), int(at), quantity(float(value), "Hz")) for at, value in readings
    )
