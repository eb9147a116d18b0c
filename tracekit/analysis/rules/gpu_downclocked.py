"""`gpu-downclocked`: the GPU ran below its best clock."""

from contextlib import suppress
from enum import StrEnum

import numpy as np
import pandas as pd

from tracekit.analysis.idle.surroundings import union_target_rows
from tracekit.analysis.inject import Remedy, Unavailable
from tracekit.analysis.intervals import IntervalSet, Window, busy, overlap, spans
from tracekit.analysis.iterations import Loop
from tracekit.analysis.machine import Below, Clock, Machine, below_best, clock, held_state
from tracekit.analysis.rule import Evidence, Fact, Findings, Severity, finding, longest, moments
from tracekit.analysis.scope import Device
from tracekit.base import units


class _ClockCourse(StrEnum):
    """The course of the clock in the loop; the value is the lever."""

    HELD = "clock-held"
    RAMP = "clock-ramp"
    NEVER = "clock-down"
    BURSTS = "clock-bursts"
    PAUSES = "clock-after-pauses"
    HOT = "thermal"
    FALLS = "clock-power-limit"
    UNKNOWN = "clock-unknown"


_FALLS = 0.95  # share of the initial clock below which a clock falls
_RAMP = 500_000_000  # ns of work within which the GPU reaches its best state
_BUSY = 0.5  # of the window, from which the GPU is kept busy
_HOT = ("Serious", "Critical")
_FEWEST = 2  # stretches of load; of one alone, pauses and clocks say nothing
_MOSTLY = 2 / 3  # of the stretches of load
_RISES = 0.9  # largest share of a stretch at a low clock if the clock rises


def gpu_downclocked(
    gpu: Device,
    loop: Loop,
    loaded: pd.DataFrame | None,
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
        below high), in the part of the window in which the GPU was awake; and readings of a monitor
        below `near` (90 %) of the highest clock of the whole run, among those in which the GPU was
        `active` for 25 % or more. It fires when either makes up more than `limit` of the total
        (default 10 %); a single low reading is chance. The course of the clock shows the reason: it
        never reached the best state, it fell while the machine was hot or was not, it was low after
        pauses, or the GPU had little to do. Pauses themselves do not count. A ramp within the first
        half second of work is a note, and so are a state that the recording's settings held and a
        low clock in a loop that something outside paces. If a monitor reports the clock, the saving
        is the target's device time less the device time at the highest clock.

    Why it matters:
        The speed of a GPU follows its clock. The clock falls with heat, on battery and while there
        is little to do, often without any sign of heat, and two runs at different clocks cannot
        show the effect of the code.

    What to do:
        Give the GPU power, cool it, keep it busy; compare runs only at equal clocks.

    When it abstains:
        When there are neither performance states nor a monitor's clock, when a state has a name
        whose rank is not known, and when a CPU did the work. The numbers of
        `gpu_device_performance_states` are not used, because it is not established which of them is
        fast.
    """
    if loaded is None:
        loop_starts = np.array([loop.start])
        loop_ends = np.array([loop.end])
        load = IntervalSet.from_spans(loop_starts, loop_ends)
    else:
        load = union_target_rows(loaded)
    loaded_states = _clip_to_load(gpu_performance_states, load)
    slow_time, read = _read_sources(loaded_states, gauges, loop, active)
    if slow_time is not None and slow_time.share <= limit:
        slow_time = None
    slow_clock = read is not None and read.share_below(near) > limit and read.count_below(near) > 1
    if slow_time is None and not slow_clock:
        return
    course = _ClockCourse.UNKNOWN
    if held_state(settings, gpu_performance_settings):
        course = _ClockCourse.HELD
    elif slow_time is not None:
        course = _find_course(slow_time, gpu, loop, load, thermal_states)
    is_note = course in {_ClockCourse.RAMP, _ClockCourse.HELD} or bool(loop.paced)
    is_low_power = bool(machine.get("low_power"))
    is_on_battery = machine.get("mains") == 0
    facts = (
        Fact("window", loop.name),
        *_describe_states(slow_time),
        *_describe_clock(read, near),
        Fact("low_power", is_low_power),
        Fact("on_battery", is_on_battery),
    )
    evidence = _list_evidence(slow_time, read, near)
    severity = Severity.WARNING
    if is_note:
        severity = Severity.NOTE
    saving = None
    if read is not None:
        work_time = gpu.measure_work(loop)
        gained_share = 1 - read.ratio
        saving = round(work_time * gained_share)
    yield finding(
        wording="gpu-downclocked",
        facts=facts,
        lever=course.value,
        evidence=evidence,
        severity=severity,
        saving=saving,
        within="roofline-distance",
    )


def _clip_to_load(states: pd.DataFrame | None, load: IntervalSet) -> pd.DataFrame | None:
    """Return the states in the time under load, because the clock at other times does not matter.

    A state that lasts over a pause is split into the parts before and after it.
    """
    if states is None or load.starts.size < _FEWEST:
        return states
    starts, ends = spans(states)
    parts: list[pd.DataFrame] = []
    stretches = zip(load.starts.tolist(), load.ends.tolist(), strict=True)
    for begin, end in stretches:
        in_stretch = (ends > begin) & (starts < end)
        clipped_starts = np.maximum(starts[in_stretch], begin)
        clipped_ends = np.minimum(ends[in_stretch], end)
        lasted = clipped_ends - clipped_starts
        stretch_rows = states[in_stretch]
        stretch_states = stretch_rows.assign(start=clipped_starts, duration=lasted)
        parts.append(stretch_states)
    return pd.concat(parts, ignore_index=True)


def _follows_pauses(slow_time: Below, load: IntervalSet) -> bool:
    """Return whether most stretches of load begin below the best clock and reach it.

    The first stretch does not count. A clock that stays low for a whole stretch is not due to the
    pause.
    """
    begins = load.starts[1:]
    ends = load.ends[1:]
    if begins.size < _FEWEST:
        return False
    slow_intervals = IntervalSet.from_spans(slow_time.starts, slow_time.ends)
    slow_at_first = slow_intervals.contains(begins)
    shortest_rise = _RISES * (ends - begins)
    slow_lengths = slow_intervals.measure_within(begins, ends)
    rises = slow_lengths < shortest_rise
    is_rising_begin = slow_at_first & rises
    return bool(is_rising_begin.mean() >= _MOSTLY)


def _find_course(
    slow_time: Below, gpu: Device, loop: Loop, load: IntervalSet, thermal: pd.DataFrame | None
) -> _ClockCourse:
    """Return the course of the clock in the loop."""
    if slow_time.best is not None:
        first_best, _ = slow_time.best
        was_slow_before_only = (slow_time.starts < first_best).all()
        if was_slow_before_only and gpu.measure_work(Window(loop.start, first_best)) <= _RAMP:
            return _ClockCourse.RAMP
    if thermal is not None and _is_mostly_hot(slow_time, thermal):
        return _ClockCourse.HOT
    if _follows_pauses(slow_time, load):
        return _ClockCourse.PAUSES
    if gpu.measure_work(loop) < _BUSY * loop.length:
        return _ClockCourse.BURSTS
    if slow_time.best is None:
        return _ClockCourse.NEVER
    may_have_been_hot = thermal is None or thermal.empty
    return _ClockCourse.UNKNOWN if may_have_been_hot else _ClockCourse.FALLS


def _is_mostly_hot(slow_time: Below, thermal: pd.DataFrame) -> bool:
    """Return whether the machine was hot in more than half of the time at a low clock."""
    state_names = thermal["state"].fillna("").astype(str)
    hot_states = thermal[state_names.str.capitalize().isin(_HOT)]
    hot_time = overlap(slow_time.starts, slow_time.ends, *spans(hot_states))
    return hot_time > busy(slow_time.starts, slow_time.ends) / 2


def _read_sources(
    states: pd.DataFrame | None, gauges: pd.DataFrame | None, window: Window, active: float
) -> tuple[Below | None, Clock | None]:
    """Return the readings of both sources; raise Unavailable, with both reasons, without any."""
    try:
        slow_time = below_best(states, window)
    except Unavailable as lacking:
        try:
            return None, clock(gauges, window, active)
        except Unavailable as reason:
            raise Unavailable(f"{lacking} And {reason}", Remedy.MONITOR) from reason
    with suppress(Unavailable):
        return slow_time, clock(gauges, window, active)
    return slow_time, None


def _describe_states(slow_time: Below | None) -> tuple[Fact, ...]:
    """Return the time below the best state as facts; None where `slow_time` is None."""
    states = {}
    if slow_time is not None:
        states = slow_time.states
    state_texts = [f"{name} {units.duration(lasted)}" for name, lasted in states.items()]
    words = ", ".join(state_texts)
    states_share = slow_time and slow_time.share
    awake_share = slow_time and slow_time.awake
    has_best_state = slow_time and slow_time.best is not None
    return (
        Fact("states_share", states_share, "ratio"),
        Fact("awake", awake_share, "ns"),
        Fact("states", words),
        Fact("came_to_best", has_best_state),
    )


def _describe_clock(read: Clock | None, near: float) -> tuple[Fact, ...]:
    """Return the clock compared with the run's highest; None without readings."""
    first_clock, last_clock = (None, None) if read is None else read.ends
    clock_ratio = read and read.ratio
    highest_clock = read and read.best
    low_readings_share = read and read.share_below(near)
    reading_count = read and read.hertz.size
    has_clock_fallen = (
        first_clock is not None and last_clock is not None and last_clock < _FALLS * first_clock
    )
    return (
        Fact("clock_ratio", clock_ratio, "ratio"),
        Fact("highest_clock", highest_clock, "Hz"),
        Fact("near", near, "ratio"),
        Fact("low_readings_share", low_readings_share, "ratio"),
        Fact("readings", reading_count),
        Fact("first_clock", first_clock, "Hz"),
        Fact("last_clock", last_clock, "Hz"),
        Fact("fell", has_clock_fallen),
    )


def _list_evidence(
    slow_time: Below | None, read: Clock | None, near: float
) -> tuple[Evidence, ...]:
    if slow_time is not None:
        return longest("gpu_performance_states", slow_time.starts, slow_time.ends)
    assert read is not None
    slow_limit = near * read.best
    slow = read.hertz < slow_limit
    slow_readings = read.hertz[slow]
    hertz = (units.quantity(float(value), "Hz") for value in slow_readings)
    return moments("gauges", read.times[slow], hertz)
