"""What a monitor reads: named numbers, and the fields that it no longer has."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

# From cool to stopped, as macOS calls them; a gauge holds the place in this list.
THERMAL_PRESSURES = ("Nominal", "Light", "Moderate", "Heavy", "Trapping", "Sleeping")


@dataclass(frozen=True)
class Reading:
    """One number: what it is of, and its unit.

    Names: `gpu_clock` (Hz), `gpu_active` (ratio), `gpu_power`, `cpu_power`, `memory_power`,
    `system_power`, `combined_power` (W), `gpu_temperature`, `cpu_temperature` (°C), `gpu_memory`
    (bytes), `cpu_clock` (Hz), `thermal_pressure` (place in `THERMAL_PRESSURES`).
    """

    name: str
    value: float
    unit: str


@dataclass(frozen=True)
class Taken:
    """All that one sample of a monitor says; `remarks` tell what could not be understood."""

    readings: tuple[Reading, ...] = ()
    remarks: tuple[str, ...] = ()


@dataclass(frozen=True)
class Field:
    """A field of a monitor's sample: its path, and the reading that is made of it."""

    path: str
    name: str
    unit: str
    factor: float = 1.0


def take(source: str, sample: Mapping[str, Any], fields: Iterable[Field]) -> Taken:
    """Read the fields of a sample; one that is not there, or no number, becomes a remark."""
    readings: list[Reading] = []
    remarks: list[str] = []
    for one in fields:
        value = at_path(sample, one.path)
        if is_number(value):
            readings.append(Reading(one.name, float(value) * one.factor, one.unit))
        else:
            remarks.append(absent(source, one.path, sample))
    return Taken(tuple(readings), tuple(remarks))


def absent(source: str, path: str, sample: Mapping[str, Any]) -> str:
    """Say that a field is not there, and what stands in its place that is called alike."""
    parent, _, name = path.rpartition("/")
    beside: Any = at_path(sample, parent) if parent else sample
    names = [str(one) for one in beside] if isinstance(beside, Mapping) else []
    if name in names:
        return f"{source}: the field {path} holds no number."
    near = difflib.get_close_matches(name, names, n=3)
    instead = f"; near it are {', '.join(near)}" if near else ""
    return f"{source}: there is no field {path}{instead}."


def at_path(sample: Any, path: str) -> Any:
    """Return what stands at a path such as "gpu/freq_hz"; None where there is nothing."""
    for name in path.split("/"):
        if not isinstance(sample, Mapping):
            return None
        sample = sample.get(name)
    return sample


def is_number(value: Any) -> bool:
    """Tell whether it is a finite number, and no truth value."""
    return (
        isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < float("inf")
    )


def thermal_pressure(source: str, word: Any) -> Taken:
    """Read the name of a thermal pressure."""
    if word in THERMAL_PRESSURES:
        place = THERMAL_PRESSURES.index(word)
        return Taken((Reading("thermal_pressure", float(place), "level"),))
    known = ", ".join(THERMAL_PRESSURES)
    return Taken((), (f"{source}: the thermal pressure {word!r} is none of {known}.",))


def together(*parts: Taken) -> Taken:
    """Join what was taken of one sample."""
    return Taken(
        tuple(reading for part in parts for reading in part.readings),
        tuple(remark for part in parts for remark in part.remarks),
    )
