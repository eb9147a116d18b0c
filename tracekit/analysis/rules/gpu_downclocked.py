"""`gpu-downclocked`: the GPU ran below its best clock."""

from contextlib import suppress
from enum import StrEnum

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window, busy, overlap, spans
from tracekit.analysis.iterations import Loop
from tracekit.analysis.machine import Below, Clock, Machine, below_best, clock, held_state
from tracekit.analysis.rule import Evidence, Findings, Severity, finding, longest, moments
from tracekit.analysis.scope import Device
from tracekit.base import duration, percent, quantity


class _Course(StrEnum):
    """How the clock went in the loop; the value is what to do."""

    HELD = (
        "The recording held the GPU at a state: record with the setting Default, unless you "
        "compare recordings that hold it at the same one."
    )
    RAMP = (
        "Warm up for half a second and more before you measure: the GPU raises its clock by then."
    )
    NEVER = (
        "Look at the power mode: switch Low Power Mode off (System Settings > Battery, or "
        "sudo pmset -a lowpowermode 0), and plug in the power adapter; on battery the GPU may not "
        "come to its best state. If it is on mains and in no such mode, let the machine cool down."
    )
    BURSTS = (
        "Keep the GPU fed, as it lowers its clock while it waits for work: close the gaps first, "
        "see bubbles, and measure the clock again."
    )
    HOT = (
        "Let the machine cool down, and give it air: it lowered the GPU's clock because it was "
        "hot. Pause between runs, and for a long run give the speed by the minute."
    )
    FALLS = (
        "The machine was not hot, and still its clock fell: its power limit was reached. Choose "
        "High Power mode where the Mac has one, let the fans run, plug in the power adapter, and "
        "compare runs of the same length."
    )
    UNKNOWN = (
        "Plug in the power adapter, switch Low Power Mode off, choose High Power mode where the "
        "Mac has one, and let it cool down: thermal states, which would tell heat from a limit of "
        "power, were not recorded."
    )


_COMPARE = " Compare runs only at equal clocks."
_FALLS = 0.95  # of the clock at the beginning, from which a clock is said to fall
_RAMP = 500_000_000  # ns of work, within which the GPU comes to its best state
_BUSY = 0.5  # of the window, from which the GPU is kept busy
_HOT = ("Serious", "Critical")


def gpu_downclocked(
    gpu: Device,
    loop: Loop,
    gpu_performance_states: pd.DataFrame | None,
    gauges: pd.DataFrame | None,
    thermal_states: pd.DataFrame | None,
    gpu_performance_settings: pd.DataFrame | None,
    settings: pd.DataFrame | None,
    machine: Machine,
    *,
    limit: float = 0.10,
    near: float = 0.90,
    active: float = 0.25,
) -> Findings:
    """The GPU ran below its best clock.

    What it looks for:
        Performance states below the best one (Minimum and Medium below Maximum, low and medium
        below high), in the part of the window in which the GPU was awake; and readings of a
        monitor below `near` (90 %) of the highest clock of the whole run, of those in which the
        GPU was `active` for 25 % or more. It fires when either makes up more than `limit` of it
        (default 10 %); a single low reading is chance. The course of the clock tells why: it never
        came to the best state, it fell while the machine was hot or was not, the GPU had little to
        do. A ramp within the first half second of work is a note, and so is a state that the
        recording's settings held, and a low clock in a loop that something outside paces. Where a
        monitor reports the clock, the saving is the target's device time less what it would have
        been at the highest clock.

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
    states, read = _known(gpu_performance_states, gauges, loop, active)
    slow_states = states is not None and states.share > limit
    slow_clock = read is not None and read.share_below(near) > limit and read.count_below(near) > 1
    if not slow_states and not slow_clock:
        return
    course = _Course.UNKNOWN
    if held_state(settings, gpu_performance_settings):
        course = _Course.HELD
    elif states is not None and slow_states:
        course = _course(states, gpu, loop, thermal_states)
    noted = course in {_Course.RAMP, _Course.HELD} or bool(loop.paced)
    powered = ["in Low Power Mode"] if machine.get("low_power") else []
    powered += ["on battery"] if machine.get("mains") == 0 else []
    parts = [_by_states(states, loop) if states is not None and slow_states else ""]
    parts += [_by_clock(read, near, loop)] if read is not None else []
    parts += [f"The machine was {' and '.join(powered)}."] if powered else []
    yield finding(
        message=" ".join(filter(None, parts)),
        advice=course.value + _COMPARE,
        evidence=_evidence(states if slow_states else None, read, near),
        severity=Severity.NOTE if noted else Severity.WARNING,
        saving=None if read is None else round(gpu.ran(loop) * (1 - read.ratio)),
        within="roofline-distance",
    )


def _course(below: Below, gpu: Device, loop: Loop, thermal: pd.DataFrame | None) -> _Course:
    """Tell how the clock went in the loop."""
    best = below.best
    rises = best is not None and (below.starts < best[0]).all()
    if best is not None and rises and gpu.ran(Window(loop.start, best[0])) <= _RAMP:
        return _Course.RAMP
    if thermal is not None and len(thermal):
        names = thermal["state"].fillna("").astype(str).str.capitalize()
        hot = spans(thermal[names.isin(_HOT)])
        if overlap(below.starts, below.ends, *hot) > busy(below.starts, below.ends) / 2:
            return _Course.HOT
    if gpu.ran(loop) < _BUSY * loop.length:
        return _Course.BURSTS
    if below.best is None:
        return _Course.NEVER
    return _Course.UNKNOWN if thermal is None or thermal.empty else _Course.FALLS


def _known(
    states: pd.DataFrame | None, gauges: pd.DataFrame | None, window: Window, active: float
) -> tuple[Below | None, Clock | None]:
    """Return what both sources say; raise Unavailable, with both reasons, if neither does."""
    try:
        below = below_best(states, window)
    except Unavailable as lacking:
        try:
            return None, clock(gauges, window, active)
        except Unavailable as reason:
            raise Unavailable(f"{lacking} And {reason}") from reason
    with suppress(Unavailable):
        return below, clock(gauges, window, active)
    return below, None


def _by_states(below: Below, window: Window) -> str:
    words = ", ".join(f"{name} {duration(lasted)}" for name, lasted in below.states.items())
    never = "" if below.best is not None else " It never came to the best one."
    return (
        f"The GPU was below its best performance state for {percent(below.share)} of the "
        f"{duration(below.awake)} of {window.name} in which it was awake: {words}.{never}"
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
    hertz = (quantity(float(value), "Hz") for value in read.hertz[slow])
    return moments("gauges", read.times[slow], hertz)
