"""How long and how much, as people write it: 30d, 50GB."""

import re
from datetime import timedelta

from tracekit.base.errors import UsageError

_DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0}
_LONGEST = 36_500.0  # days
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}


def age(text: str) -> timedelta:
    """Turn 12h, 30d or 6w into a time; raise UsageError for anything else."""
    found = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*([hdw])", text.strip().lower(), re.ASCII)
    if found is None or float(found[1]) * _DAYS[found[2]] > _LONGEST:
        raise UsageError(f"{text!r} is no age.", hint="Write hours, days or weeks: 12h, 30d, 6w.")
    return timedelta(days=float(found[1]) * _DAYS[found[2]])


def size_of(text: str) -> int:
    """Turn 50GB, 800 MiB or 4096 into bytes; raise UsageError for anything else.

    GB is 10⁹ bytes as disks are sold, GiB 2³⁰.
    """
    pattern = r"(\d{1,18}(?:\.\d{1,9})?)\s*(?:([kmgtp]?)(i?)b)?"
    found = re.fullmatch(pattern, text.strip().lower(), re.ASCII)
    if found is None or (found[3] and not found[2]):
        raise UsageError(f"{text!r} is no size.", hint="Write 50GB, 800MB or 20GiB.")
    base = 1024 if found[3] else 1000
    return round(float(found[1]) * base ** _POWERS[found[2] or ""])
