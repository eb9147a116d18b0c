"""Which GPU counters come: it depends on the chip, and on the profile that a template names."""

import plistlib
from pathlib import Path
from typing import Any

from arguments import Arguments
from scenario import Scenario

INSTRUMENT = "Metal GPU Counters"
_SET = "Performance Limiters"
# Profiles that gave counters, by chip; each was seen on one machine.
_PROFILES = {"M1": {3, 4}, "M3": {13}}


def profile_of(template: str) -> int | None:
    """Return the counter profile that a template file names; None for none."""
    path = Path(template)
    if not path.is_file():
        return None
    try:
        return _find(plistlib.loads(path.read_bytes()))
    except (plistlib.InvalidFileException, ValueError):
        return None


def counters(arguments: Arguments, scenario: Scenario) -> tuple[str, bool]:
    """Return the counter set that the TOC states, and whether its tables have rows."""
    chip = scenario.get("chip", "M1")
    profile = profile_of(arguments.values.get("--template", ""))
    if profile:  # 0 is what a stock template has: no set
        return _SET, profile in _PROFILES.get(chip, set())
    if INSTRUMENT not in arguments.instruments:
        return "(null)", False
    counter_set = scenario.get("counter_set", _SET)
    return counter_set, chip == "M1" and counter_set != "(null)"


def rejected(arguments: Arguments, scenario: Scenario) -> bool:
    """Tell whether the chip rejects a profile that was asked for."""
    counter_set, rows = counters(arguments, scenario)
    return counter_set != "(null)" and not rows


def _find(value: Any) -> int | None:
    """Return the first number under the key, in plain dictionaries or in a keyed archive."""
    if isinstance(value, list):
        return next((one for part in value if (one := _find(part)) is not None), None)
    if not isinstance(value, dict):
        return None
    if isinstance(value.get("counterprofile"), int):
        return value["counterprofile"]
    return (
        _find(list(value.values())) if "$objects" not in value else _in_archive(value["$objects"])
    )


def _in_archive(objects: list[Any]) -> int | None:
    """Follow the references of a keyed archive from the key to its number."""
    for one in objects:
        if not isinstance(one, dict):
            continue
        keys, values = one.get("NS.keys", []), one.get("NS.objects", [])
        for key, value in zip(keys, values, strict=False):
            if objects[key.data] == "counterprofile":
                number = objects[value.data] if isinstance(value, plistlib.UID) else value
                return number if isinstance(number, int) else None
    return next((found for one in objects if (found := _find(one)) is not None), None)
