"""The only place where numbers become words, and words numbers.

Times are nanoseconds, sizes bytes, ratios 0 … 1. A null is never shown as a number: it is
"not available".
"""

import math
import re
from collections.abc import Callable
from datetime import datetime, timedelta

from tracekit.base.errors import UsageError

NOT_AVAILABLE = "not available"

_TIME = ((1_000_000_000, "s"), (1_000_000, "ms"), (1_000, "µs"))
_SIZE = ((1 << 40, "TiB"), (1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
_SCALE = ((10**12, "T"), (10**9, "G"), (10**6, "M"))
_DIGITS = 3
_MINUTE = 60

Number = float | int | None


def duration(nanoseconds: Number) -> str:
    """Return a time in words with three significant digits, such as "1.23 ms"."""
    return _format_finite(nanoseconds, lambda value: _format_with_unit(value, _TIME, "ns"))


def span(seconds: float) -> str:
    """Return a length of time as people plan it: "0.1 s", "45 s", "3 min", "2 h 5 min"."""
    if seconds < 1:
        return f"{seconds:.2g} s"
    if round(seconds) < _MINUTE:
        return f"{round(seconds)} s"
    hours, minutes = divmod(round(seconds / _MINUTE), 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min"


def moment(nanoseconds: Number) -> str:
    """Return a point of the trace's time, exact to the microsecond: "1.204 518 s"."""
    return _format_finite(nanoseconds, _moment)


def size(count_of_bytes: Number) -> str:
    """Return a size in words, in binary units: "1.5 MiB"."""
    return _format_finite(count_of_bytes, lambda value: _format_with_unit(value, _SIZE, "B"))


def percent(ratio: Number) -> str:
    """Return a ratio as percent: "34.5 %"; a ratio that is not zero is never shown as zero."""
    return _format_finite(ratio, _percent)


def count(number: Number) -> str:
    """Return a count with separated thousands: "12,345"."""
    return _format_finite(number, _count)


def stamp(moment_of_day: str) -> str:
    """Return an ISO 8601 time as people write it: "2026-11-20 10:15:03 UTC"."""
    try:
        parsed_time = datetime.fromisoformat(moment_of_day)
    except ValueError:
        return moment_of_day
    zone_name = parsed_time.tzname() or ""
    return f"{parsed_time:%Y-%m-%d %H:%M:%S} {zone_name}".strip()


def quantity(value: Number, unit: str) -> str:
    """Return a value of any unit that a metric may have, in words: "ns", "ratio", "bytes" ….

    An unknown unit follows the number as it is. Rates of bytes are in powers of ten, as the
    bandwidth of chips is.
    """
    if unit in _BY_UNIT:
        return _BY_UNIT[unit](value)
    if unit in _PREFIXED:
        symbol = _PREFIXED[unit]
        return _format_finite(value, lambda number: f"{_format_prefixed(number)}{symbol}")
    unit_name = "per s" if unit == "1/s" else unit
    return _format_finite(value, lambda number: f"{_format_scaled(number)} {unit_name}".strip())


def short_commit(name: str, digits: int = 12) -> str:
    """Return the first digits of a commit, and whether its tree was changed: "1a2b3c4-dirty"."""
    number, dash, state = name.partition("-")
    return f"{number[:digits]}{dash}{state}"


def unavailable(reason: str) -> str:
    """Return the words for a value that is missing: "not available, because …"."""
    reason = reason.strip().rstrip(".")
    if reason:
        return f"{NOT_AVAILABLE}, because {reason}"
    return f"{NOT_AVAILABLE}; no reason is given"


def _format_finite(value: Number, words: Callable[[float], str]) -> str:
    if value is None:
        return NOT_AVAILABLE
    try:
        finite = math.isfinite(value)
    except TypeError:  # pandas.NA and NaT are not numbers
        finite = False
    return words(value) if finite else NOT_AVAILABLE


def _format_with_unit(value: float, steps: tuple[tuple[int, str], ...], smallest_unit: str) -> str:
    for factor, unit in steps:
        if abs(value) >= factor * (1 - 0.5 * 10**-_DIGITS):
            return f"{_format_plain(value / factor)} {unit}"
    return f"{_format_plain(value)} {smallest_unit}"


def _format_scaled(value: float) -> str:
    if abs(value) >= _SCALE[-1][0]:
        return _format_with_unit(value, _SCALE, "")
    return _format_plain(value)


def _format_prefixed(value: float) -> str:
    """Return a number with the prefix of its unit, or a space, as in "1.40 GHz"."""
    words = _format_scaled(value)
    if words[-1].isalpha():
        return words
    return f"{words} "


def _count(value: float) -> str:
    if value == round(value):
        return f"{value:,.0f}"
    return _format_plain(value)


def _format_plain(value: float) -> str:
    if value == 0:
        return "0"
    rounded = float(f"{value:.{_DIGITS}g}")
    magnitude = math.log10(abs(rounded))
    integer_digits = math.floor(magnitude) + 1
    decimals = max(0, _DIGITS - integer_digits)
    text = f"{value:,.{decimals}f}"
    if "." in text and value == round(value):
        return text.rstrip("0").rstrip(".")
    return text


def _percent(ratio: float) -> str:
    value = ratio * 100
    if value != 0 and abs(value) < 0.1:  # noqa: PLR2004  the least step that one decimal shows
        return "< 0.1 %" if value > 0 else "> -0.1 %"
    return f"{value:.1f} %"


def _moment(nanoseconds: float) -> str:
    micros = round(nanoseconds / 1_000)
    sign = "-" if micros < 0 else ""
    seconds, remainder = divmod(abs(micros), 1_000_000)
    return f"{sign}{seconds}.{remainder // 1_000:03d} {remainder % 1_000:03d} s"


_PREFIXED = {"Hz": "Hz", "W": "W", "FLOP/s": "FLOP/s", "bytes/s": "B/s"}
_BY_UNIT: dict[str, Callable[[Number], str]] = {
    "ns": duration,
    "ratio": percent,
    "bytes": size,
    "count": count,
}


_DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0}
_LONGEST = 36_500.0  # days
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4, "p": 5}


def age(text: str) -> timedelta:
    """Turn 12h, 30d or 6w into a time; raise UsageError for anything else."""
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,9})?)\s*([hdw])", text.strip().lower(), re.ASCII)
    if match is None or float(match[1]) * _DAYS[match[2]] > _LONGEST:
        raise UsageError(f"Invalid age {text!r}.", hint="Write hours, days or weeks: 12h, 30d, 6w.")
    days = float(match[1]) * _DAYS[match[2]]
    return timedelta(days=days)


def size_of(text: str) -> int:
    """Turn 50GB, 800 MiB or 4096 into bytes; raise UsageError for anything else.

    GB is 10⁹ bytes as disks are sold, GiB 2³⁰.
    """
    pattern = r"(\d{1,18}(?:\.\d{1,9})?)\s*(?:([kmgtp]?)(i?)b)?"
    stripped = text.strip().lower()
    match = re.fullmatch(pattern, stripped, re.ASCII)
    if match is None or (match[3] and not match[2]):
        raise UsageError(f"Invalid size {text!r}.", hint="Write 50GB, 800MB or 20GiB.")
    base = 1024 if match[3] else 1000
    power = _POWERS[match[2] or ""]
    return round(float(match[1]) * base**power)
