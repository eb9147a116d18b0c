"""The counters that a chip gives, by its family, its template and its instruments.

A GPU of the family Apple9 or later (M3 and later) takes the profiles 13 and 14 only, any other 3
and 4, and 1 and 2. What it does not take gives a warning, exit code 0, and no counters; on M4 it
also takes away the one counter that M3 and later have without any profile. M5 with 13 was tried by
nobody, so the key `profiles` of a scenario can say what it takes.
"""

import plistlib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REFUSED = "GPU Service reported error: Selected counter profile is not supported on target device"
INSTRUMENT = "Metal GPU Counters"
STOCK = "RT Unit Active"
LIMITERS = "Performance Limiters"
_NONE = "(null)"
_OLDER, _LATER = (1, 2, 3, 4), (13, 14)
_APPLE9 = 3  # the first generation of that family
_KEYS = ["counterprofile", "counterscounterprofile"]


@dataclass(frozen=True)
class Counters:
    """The counters of one recording."""

    counter_set: str = _NONE
    names: tuple[str, ...] = ()
    has_shader_timeline: bool = False
    issue: str = ""


def choose_counters(
    chip: str, template: str, instruments: list[str], profiles: list[int] | None
) -> Counters:
    """Return the counters of a chip such as "M4 Max"."""
    generation = int((re.match(r"M(\d+)", chip) or ["", "1"])[1])
    is_apple9 = generation >= _APPLE9
    profile = _read_profile(template)
    stock = (STOCK,) if is_apple9 else ()
    has_instrument = INSTRUMENT in instruments
    if not profile and not has_instrument:
        return Counters(names=stock)
    accepted = profiles or (_LATER if is_apple9 else _OLDER)
    takes_default = not is_apple9
    if profile in accepted or (not profile and takes_default):
        names = (*stock, "ALU Limiter", "Kernel Occupancy")
        return Counters(LIMITERS, names, has_shader_timeline=has_instrument)
    return Counters(names=() if has_instrument else stock, issue=REFUSED)


def _read_profile(template: str) -> int:
    """Return the counter profile that a template file is set to; 0 if to none."""
    path = Path(template)
    if not template or not path.is_file():
        return 0
    try:
        objects: list[Any] = plistlib.loads(path.read_bytes())["$objects"]
    except (plistlib.InvalidFileException, ValueError, LookupError, TypeError):
        return 0
    profiles = [0]
    for archived in objects:
        if isinstance(archived, dict) and "NS.keys" in archived:
            pairs = zip(archived["NS.keys"], archived["NS.objects"], strict=True)
            for key, value in pairs:
                number = objects[_place(value)]
                if objects[_place(key)] in _KEYS and isinstance(number, int):
                    profiles.append(number)
    return max(profiles)


def _place(reference: Any) -> int:
    """Return the place that a reference names, in a binary property list or one of XML."""
    return reference["CF$UID"] if isinstance(reference, dict) else reference.data
