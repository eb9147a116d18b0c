"""Part of a state: what could be read, and why the rest could not."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Known:
    """Readings by name, and reasons for what is absent."""

    readings: dict[str, float] = field(default_factory=dict[str, float])
    absences: dict[str, str] = field(default_factory=dict[str, str])


def absent(why: str, *names: str) -> Known:
    """Return readings that are all absent for one reason."""
    return Known(absences=dict.fromkeys(names, why))


def joined(*parts: Known) -> Known:
    """Join parts; where two have the same reading the first counts, and a reading any reason."""
    readings: dict[str, float] = {}
    absences: dict[str, str] = {}
    for part in reversed(parts):
        readings |= part.readings
        absences |= part.absences
    return Known(readings, {name: why for name, why in absences.items() if name not in readings})
