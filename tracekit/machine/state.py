"""Judge from the state of the machine whether a measurement between two moments counts."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from tracekit.base import units

# From cool to stopped, as macOS calls them; a reading holds the place in this list.
THERMAL_PRESSURES = ("Nominal", "Light", "Moderate", "Heavy", "Trapping", "Sleeping")


# The readings that are judged; a state has a reading or a reason for each.
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
    """The state of the machine at one moment, or since the moment before; or a part of it."""

    at: str = ""  # when, ISO 8601 in UTC
    # readings by name. Names: those of `tracekit.machine.monitors`; `calibration` (ns
    # that fixed work took), `load` (the share of all cores' time that other processes had, as a
    # ratio), `memory_free` (bytes), `battery` (ratio), `mains` (1 on mains, 0 on battery),
    # `low_power` (1 if the system saves power), `gpu_others` (ratio of the time in which other
    # processes used the GPU)
    readings: dict[str, float] = field(default_factory=dict[str, float])
    # reasons for missing readings by name; each name of `JUDGED` is in one of both
    absences: dict[str, str] = field(default_factory=dict[str, str])


def make_absences(reason: str, *names: str) -> State:
    """Return readings that are all absent for one reason."""
    return State(absences=dict.fromkeys(names, reason))


def join_states(*parts: State, time: str = "") -> State:
    """Join parts; the first of two equal readings counts, and a reading before any reason."""
    readings: dict[str, float] = {}
    absences: dict[str, str] = {}
    for part in reversed(parts):
        readings |= part.readings
        absences |= part.absences
    for name in readings:
        absences.pop(name, None)
    return State(time, readings, absences)


@dataclass(frozen=True)
class StateLimits:
    """Limits for the state of a machine; None means no limit.

    Attributes:
        calibration: The ratio by which fixed work may take longer than the fastest of the session.
        clock: The ratio by which the GPU's clock may be lower than the highest of the session.
        load: The largest share of all cores' time that other processes may use, as a ratio.
        memory_free: The smallest amount of free memory, in bytes.
        battery: The lowest charge while on battery, as a ratio.
        thermal_pressure: The worst thermal pressure.
        gpu_others: The largest share of the GPU's time that other processes may use, as a ratio.
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


_FEW = 3  # readings whose median is the best: a single one may be luck


def find_rejections(
    state_before: State | None,
    state_after: State | None,
    session_states: Sequence[State],
    limits: StateLimits,
) -> tuple[str, ...]:
    """Return why a measurement between two states does not count; empty if it counts.

    A missing reading rejects nothing; `unknown` reports it. Later states of a session may have
    better readings, so judge all pairs again at its end.

    A state is None if it was not read. `session_states` are all states of the session so far,
    these two included or not; calibration and clock are compared with the best of them.
    """
    states = [state for state in (state_before, state_after) if state is not None]
    new_states = [state for state in states if state not in session_states]
    session = [*session_states, *new_states]
    return (
        *_pace(states, session, limits),
        *_work(states, limits),
        *_power(states, limits),
    )


def unknown(states: Sequence[State]) -> tuple[str, ...]:
    """Return a sentence with the reasons for each reading that none of the states has."""
    sentences: list[str] = []
    for name in _missing_names(states):
        reasons = _join_reasons(name, states)
        if reasons:
            sentences.append(f"{_NAMES[name]} is not known: {reasons.rstrip('.')}.")
    return tuple(sentences)


def describe_unjudged(states: Sequence[State]) -> str:
    """Return one sentence about the readings that none of the states has; empty for none."""
    names: list[str] = []
    for key in _missing_names(states):
        name = _NAMES[key]
        names.append(f"{name[0].lower()}{name[1:]}")
    if not names:
        return ""
    listed = "; ".join(names)
    return f"Not known here, and so not judged: {listed}. `tracekit doctor` says why."


def _missing_names(states: Sequence[State]) -> list[str]:
    """Return the names of judged readings that none of the states has; none without states."""
    if not states:
        return []
    return [name for name in JUDGED if not _readings(name, states)]


def window_words(states: Sequence[State]) -> str:
    """Return a sentence about the machine over a window; empty without states."""
    if not states:
        return ""
    parts: list[str] = []
    for name, words in _WINDOW.items():
        values = _readings(name, states)
        if values:
            parts.append(words.format(_describe_range(values)))
    paces = _readings("calibration", states)
    if paces and min(paces) > 0:
        variation = max(paces) / min(paces) - 1
        parts.append(f"fixed work varied by {units.percent(variation)}")
    free_memory = _readings("memory_free", states)
    if free_memory:
        parts.append(f"free memory was {units.size(min(free_memory))} or more")
    pressures = _readings("thermal_pressure", states)
    if pressures:
        parts.append(f"thermal pressure was {_pressure(max(pressures))} at most")
    if any(value == 0 for value in _readings("mains", states)):
        parts.append("it ran on battery")
    if any(_readings("low_power", states)):
        parts.append("the system saved power")
    if not parts:
        return "Nothing could be read of the machine."
    listed = "; ".join(parts)
    return f"{listed[0].upper()}{listed[1:]}."


def _describe_range(values: Sequence[float]) -> str:
    lowest = units.percent(min(values))
    highest = units.percent(max(values))
    if lowest == highest:
        return highest
    return f"{lowest} to {highest}"


_WINDOW = {
    "load": "other processes had {} of the cores' time",
    "gpu_others": "other processes had {} of the GPU's time",
}


def _pace(states: Sequence[State], session: Sequence[State], limits: StateLimits) -> Iterator[str]:
    """Compare the pace of the machine with the session's best."""
    slowest = max(_readings("calibration", states), default=None)
    fastest = _best(sorted(_readings("calibration", session)))
    if limits.calibration is not None and slowest and fastest:
        longer = slowest / fastest - 1
        if longer > limits.calibration:
            yield (
                f"Fixed work took {units.percent(longer)} longer than at its fastest in "
                f"this session; "
                f"{_describe_limit(limits.calibration)}"
            )
    clock = min(_readings("gpu_clock", states), default=None)
    highest = _best(sorted(_readings("gpu_clock", session), reverse=True))
    if limits.clock is not None and clock is not None and highest:
        lower = 1 - clock / highest
        if lower > limits.clock:
            clock_words = units.quantity(clock, "Hz")
            highest_words = units.quantity(highest, "Hz")
            yield (
                f"The GPU's clock was {units.percent(lower)} lower than at its highest in "
                f"this session "
                f"({clock_words} against {highest_words}); "
                f"{_describe_limit(limits.clock)}"
            )


def _work(states: Sequence[State], limits: StateLimits) -> Iterator[str]:
    """Judge the use of cores, the GPU and memory by other processes."""
    load = _beyond("load", states, limits.load)
    if load:
        yield (
            f"Other processes had {units.percent(load)} of the cores' time; "
            f"{_describe_limit(limits.load)}"
        )
    other_share = _beyond("gpu_others", states, limits.gpu_others)
    if other_share:
        yield (
            f"Other processes had {units.percent(other_share)} of the GPU's time; "
            f"{_describe_limit(limits.gpu_others)}"
        )
    least_bytes = limits.memory_free
    free_memory = min(_readings("memory_free", states), default=None)
    if least_bytes is not None and free_memory is not None and free_memory < least_bytes:
        yield (
            f"{units.size(free_memory)} of memory were free; at least {units.size(least_bytes)} "
            f"must be."
        )


def _power(states: Sequence[State], limits: StateLimits) -> Iterator[str]:
    """Judge the source of power, and whether heat or power saving slows the machine."""
    yield from _battery(states, limits)
    pressure = _beyond("thermal_pressure", states, limits.thermal_pressure)
    if pressure is not None:
        allowed_level = _pressure(limits.thermal_pressure or 0)
        yield f"The thermal pressure was {_pressure(pressure)}; at most {allowed_level} is allowed."
    if not limits.low_power and any(_readings("low_power", states)):
        yield "The system saved power: it was in a low power mode."


def _battery(states: Sequence[State], limits: StateLimits) -> Iterator[str]:
    unplugged = [state for state in states if state.readings.get("mains") == 0]
    if not unplugged:
        return
    words = "The machine ran on battery"
    charge = min(_readings("battery", unplugged), default=None)
    if charge is not None:
        words += f" at {units.percent(charge)}"
    if limits.battery is None:
        yield f"{words}; only mains is allowed."
    elif charge is not None and charge < limits.battery:
        yield f"{words}; at least {units.percent(limits.battery)} is asked for."


def _beyond(name: str, states: Sequence[State], limit: float | None) -> float | None:
    """Return the highest reading if it is above the limit; a limit of None allows all."""
    highest = max(_readings(name, states), default=None)
    if limit is not None and highest is not None and highest > limit:
        return highest
    return None


def _describe_limit(limit: float | None) -> str:
    return f"at most {units.percent(limit)} is allowed."


def _readings(name: str, states: Sequence[State]) -> list[float]:
    return [state.readings[name] for state in states if name in state.readings]


def _best(best_first: Sequence[float]) -> float | None:
    if not best_first:
        return None
    return median(best_first[:_FEW])


def _join_reasons(name: str, states: Sequence[State]) -> str:
    """Return the reasons for a missing reading, each once."""
    absence_reasons = [state.absences[name] for state in states if name in state.absences]
    reasons = dict.fromkeys(absence_reasons)
    return " ".join(reasons)


def _pressure(level: float) -> str:
    place = round(level)
    if 0 <= place < len(THERMAL_PRESSURES):
        return THERMAL_PRESSURES[place]
    return f"{level:g}"


_NAMES = {
    "calibration": "The duration of fixed work",
    "gpu_clock": "The GPU's clock",
    "load": "The share of the cores that other processes use",
    "memory_free": "The amount of free memory",
    "mains": "Whether the machine is on mains",
    "battery": "The battery's charge",
    "thermal_pressure": "The thermal pressure",
    "gpu_others": "The share of the GPU that other processes use",
    "low_power": "Whether the system saves power",
}
