"""What the machine was like, and whether a measurement between two such states counts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from tracekit.base import percent, quantity, size

# From cool to stopped, as macOS calls them; a reading holds the place in this list.
THERMAL_PRESSURES = ("Nominal", "Light", "Moderate", "Heavy", "Trapping", "Sleeping")


# What decides whether a measurement counts; of each a state has a reading or a reason.
JUDGED = (
    "calibration",
    "gpu_clock",
    "load",
    "memory_free",
    "mains",
    "battery",
    "thermal_pressure",
    "gpu_others",
    "low_power",
)


@dataclass(frozen=True)
class State:
    """What the machine was like at one moment, or since the moment before; or a part of that."""

    at: str = ""  # when, ISO 8601 in UTC
    # what could be read, by name. Names: those of `tracekit.machine.monitors`; `calibration` (ns
    # that fixed work took), `load` (the share of all cores' time that other processes had, as a
    # ratio), `memory_free` (bytes), `battery` (ratio), `mains` (1 on mains, 0 on battery),
    # `low_power` (1 where the system saves power), `gpu_others` (ratio of the time in which other
    # processes used the GPU)
    readings: dict[str, float] = field(default_factory=dict[str, float])
    # why others could not be read, by name; all names of `JUDGED` are in either
    absences: dict[str, str] = field(default_factory=dict[str, str])


def make_absences(reason: str, *names: str) -> State:
    """Return readings that are all absent for one reason."""
    return State(absences=dict.fromkeys(names, reason))


def join_states(*parts: State, time: str = "") -> State:
    """Join parts; where two have the same reading the first counts, and a reading any reason."""
    readings: dict[str, float] = {}
    absences: dict[str, str] = {}
    for part in reversed(parts):
        readings |= part.readings
        absences |= part.absences
    missing = {name: reason for name, reason in absences.items() if name not in readings}
    return State(time, readings, missing)


@dataclass(frozen=True)
class StateLimits:
    """What a machine must be like; None leaves something out of account.

    Attributes:
        calibration: By which ratio fixed work may take longer than the fastest of the session.
        clock: By which ratio the GPU's clock may be lower than the highest of the session.
        load: The most of all cores' time that other processes may have, as a ratio.
        memory_free: The least free memory, in bytes.
        battery: The least charge while on battery, as a ratio; None to allow mains only.
        thermal_pressure: The highest place in `THERMAL_PRESSURES`.
        gpu_others: The most of the GPU's time that other processes may have, as a ratio.
        low_power: Whether the system may save power.
    """

    calibration: float | None = 0.15
    clock: float | None = 0.05
    load: float | None = 0.5
    memory_free: int | None = 1 << 30
    battery: float | None = None
    thermal_pressure: int | None = 0
    gpu_others: float | None = 0.05
    low_power: bool = False


_FEW = 3  # of the best, whose median is the best: one lucky reading is none


def find_rejections(
    state_before: State | None,
    state_after: State | None,
    session_states: Sequence[State],
    limits: StateLimits,
) -> tuple[str, ...]:
    """Say why what was measured between two states does not count; empty where it counts.

    What could not be read contaminates nothing; `unknown` tells of it. As more of a session is
    seen, its best is known better, so that pairs may be judged again at its end.

    A state is None where nobody looked. `session_states` are all states of the session so far,
    these two included or not; the best of them is what the calibration and the clock are held
    against.
    """
    states = [state for state in (state_before, state_after) if state is not None]
    session = [*session_states, *(state for state in states if state not in session_states)]
    return tuple(
        reason for judge in (_pace, _work, _power) for reason in judge(states, session, limits)
    )


def unknown(states: Sequence[State]) -> tuple[str, ...]:
    """Say what none of the states could tell, and why: of each reading one sentence."""
    return tuple(
        f"{_NAMES[name]} is not known: {_join_reasons(name, states).rstrip('.')}."
        for name in JUDGED
        if states and not _readings(name, states) and _join_reasons(name, states)
    )


def describe_unjudged(states: Sequence[State]) -> str:
    """Say in one sentence what none of the states has; empty where each has everything."""
    names = [_NAMES[name] for name in JUDGED if states and not _readings(name, states)]
    listed = "; ".join(f"{name[0].lower()}{name[1:]}" for name in names)
    if not listed:
        return ""
    return f"Not known here, and so not judged: {listed}. `tracekit doctor` says why."


def window_words(states: Sequence[State]) -> str:
    """Say what the machine was like over a window, in a sentence; empty where nobody looked."""
    if not states:
        return ""
    parts: list[str] = []
    for name, words in _WINDOW.items():
        values = _readings(name, states)
        if values:
            lowest, highest = percent(min(values)), percent(max(values))
            range_text = highest if lowest == highest else f"{lowest} to {highest}"
            parts.append(words.format(range_text))
    paces = _readings("calibration", states)
    if paces and min(paces) > 0:
        parts.append(f"fixed work varied by {percent(max(paces) / min(paces) - 1)}")
    if free_memory := _readings("memory_free", states):
        parts.append(f"free memory was {size(min(free_memory))} or more")
    if pressures := _readings("thermal_pressure", states):
        parts.append(f"thermal pressure was {_pressure(max(pressures))} at most")
    if any(value == 0 for value in _readings("mains", states)):
        parts.append("it ran on battery")
    if any(_readings("low_power", states)):
        parts.append("the system saved power")
    if not parts:
        return "Nothing could be read of the machine."
    listed = "; ".join(parts)
    return f"{listed[0].upper()}{listed[1:]}."


_WINDOW = {
    "load": "other processes had {} of the cores' time",
    "gpu_others": "other processes had {} of the GPU's time",
}


def _pace(states: Sequence[State], session: Sequence[State], limits: StateLimits) -> Iterator[str]:
    """Judge what tells the pace of the machine against the session's best."""
    slowest = max(_readings("calibration", states), default=None)
    fastest = _best(sorted(_readings("calibration", session)))
    if limits.calibration is not None and slowest and fastest:
        longer = slowest / fastest - 1
        if longer > limits.calibration:
            yield (
                f"Fixed work took {percent(longer)} longer than at its fastest in this session; "
                f"{_describe_limit(limits.calibration)}"
            )
    clock = min(_readings("gpu_clock", states), default=None)
    highest = _best(sorted(_readings("gpu_clock", session), reverse=True))
    if limits.clock is not None and clock is not None and highest:
        lower = 1 - clock / highest
        if lower > limits.clock:
            yield (
                f"The GPU's clock was {percent(lower)} lower than at its highest in this session "
                f"({quantity(clock, 'Hz')} against {quantity(highest, 'Hz')}); "
                f"{_describe_limit(limits.clock)}"
            )


def _work(states: Sequence[State], _: Sequence[State], limits: StateLimits) -> Iterator[str]:
    """Judge what other processes took: cores, the GPU, memory."""
    if load := _beyond("load", states, limits.load):
        yield (
            f"Other processes had {percent(load)} of the cores' time; "
            f"{_describe_limit(limits.load)}"
        )
    if other_share := _beyond("gpu_others", states, limits.gpu_others):
        yield (
            f"Other processes had {percent(other_share)} of the GPU's time; "
            f"{_describe_limit(limits.gpu_others)}"
        )
    free_memory = min(_readings("memory_free", states), default=None)
    if (
        free_memory is not None
        and limits.memory_free is not None
        and free_memory < limits.memory_free
    ):
        yield (
            f"{size(free_memory)} of memory were free; at least {size(limits.memory_free)} must be."
        )


def _power(states: Sequence[State], _: Sequence[State], limits: StateLimits) -> Iterator[str]:
    """Judge where the power comes from, and whether heat or thrift holds the machine back."""
    unplugged = [state for state in states if state.readings.get("mains") == 0]
    charge = min(_readings("battery", unplugged), default=None)
    charge_words = "" if charge is None else f" at {percent(charge)}"
    if unplugged and limits.battery is None:
        yield f"The machine ran on battery{charge_words}; only mains is allowed."
    elif charge is not None and limits.battery is not None and charge < limits.battery:
        yield (
            f"The machine ran on battery{charge_words}; at least {percent(limits.battery)} is "
            "asked "
            "for."
        )
    pressure = _beyond("thermal_pressure", states, limits.thermal_pressure)
    if pressure is not None:
        allowed_level = _pressure(limits.thermal_pressure or 0)
        yield f"The thermal pressure was {_pressure(pressure)}; at most {allowed_level} is allowed."
    if not limits.low_power and any(_readings("low_power", states)):
        yield "The system saved power: it was in a low power mode."


def _beyond(name: str, states: Sequence[State], limit: float | None) -> float | None:
    """Return the highest reading if it is above the limit; a limit of None allows all."""
    highest = max(_readings(name, states), default=None)
    return highest if limit is not None and highest is not None and highest > limit else None


def _describe_limit(limit: float | None) -> str:
    return f"at most {percent(limit)} is allowed."


def _readings(name: str, states: Sequence[State]) -> list[float]:
    return [state.readings[name] for state in states if name in state.readings]


def _best(best_first: Sequence[float]) -> float | None:
    return median(best_first[:_FEW]) if best_first else None


def _join_reasons(name: str, states: Sequence[State]) -> str:
    """Return the reasons that were given, each once."""
    reasons = dict.fromkeys(state.absences[name] for state in states if name in state.absences)
    return " ".join(reasons)


def _pressure(level: float) -> str:
    place = round(level)
    is_known = 0 <= place < len(THERMAL_PRESSURES)
    return THERMAL_PRESSURES[place] if is_known else f"{level:g}"


_NAMES = {
    "calibration": "How long fixed work takes",
    "gpu_clock": "The GPU's clock",
    "load": "What other processes take of the cores",
    "memory_free": "How much memory is free",
    "mains": "Whether the machine is on mains",
    "battery": "The battery's charge",
    "thermal_pressure": "The thermal pressure",
    "gpu_others": "What other processes take of the GPU",
    "low_power": "Whether the system saves power",
}
