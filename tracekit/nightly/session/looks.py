"""Several looks at the machine as one: what is judged is the worst that was seen."""

from collections.abc import Sequence

from tracekit.machine.state import State

MORE_IS_WORSE = frozenset({"canary", "load", "gpu_others", "thermal_pressure", "low_power"})
"""Readings of which the greatest counts; of all others, such as a clock, the least does."""


def worst(states: Sequence[State]) -> State | None:
    """Return the worst of each reading, at the time of the last look; None without any."""
    if not states:
        return None
    readings: dict[str, float] = {}
    absences: dict[str, str] = {}
    for state in states:
        absences |= state.absences
        for name, value in state.readings.items():
            choose = max if name in MORE_IS_WORSE else min
            readings[name] = choose(value, readings.get(name, value))
    missing = {name: why for name, why in absences.items() if name not in readings}
    return State(states[-1].at, readings, missing)
