"""Kinds of values that are numbers: counts, shares, times and sizes."""

import math
from collections.abc import Sequence
from typing import Any

from tracekit.base.errors import UsageError
from tracekit.base.units import size_of
from tracekit.nightly.plan.kind import Kind, bounded, refused
from tracekit.nightly.plan.mistakes import UnfitError
from tracekit.workload import plan

_TIMES = 'Write "300ms", "5s", "10m" or "2h".'


def whole(least: int, most: int) -> Kind:
    """A whole number within bounds."""

    def read(value: Any) -> int:
        if not isinstance(value, int) or isinstance(value, bool):
            raise refused("a whole number", value)
        return bounded(value, least, most)

    return Kind(f"whole number, {least} to {most}", read)


def number(least: float, most: float) -> Kind:
    """A number within bounds."""

    def read(value: Any) -> float:
        return bounded(_number(value), least, most)

    return Kind(f"number, {least:g} to {most:g}", read)


def above_zero() -> Kind:
    """A finite number above 0."""

    def read(value: Any) -> float:
        found = _number(value)
        if not 0 < found < math.inf:
            raise UnfitError(f"must be above 0; it is {value}.")
        return found

    return Kind("number above 0", read)


def duration(least: float, most: float) -> Kind:
    """A length of time: text with a unit, or a number of seconds."""
    bounds = f"{_time(least)} to {_time(most)}"

    def read(value: Any) -> float:
        if isinstance(value, bool) or not isinstance(value, int | float | str):
            raise refused("a length of time", value, _TIMES)
        try:
            found = plan.seconds(value) if isinstance(value, str) else _number(value)
        except UsageError:
            raise refused("a length of time", value, _TIMES) from None
        if not least <= found <= most:
            raise UnfitError(f"must be {bounds}; it is {found:g} seconds.")
        return found

    return Kind(f'time such as "5s", {bounds}', read)


def size() -> Kind:
    """A size of memory: text with a unit, or a number of bytes."""

    def read(value: Any) -> int:
        try:
            found = size_of(value) if isinstance(value, str) else _number(value)
        except (UsageError, UnfitError):
            raise refused("a size", value, 'Write "1GiB", "500MB", or a number of bytes.') from None
        return int(bounded(found, 0, 1 << 60))

    return Kind('size such as "1GiB", or bytes', read)


def place_in(names: Sequence[str]) -> Kind:
    """The place of a name among several, or the place itself."""
    places = whole(0, len(names) - 1)
    lower = [one.lower() for one in names]

    def read(value: Any) -> int:
        if not isinstance(value, str):
            return places.read(value)
        if value.lower() not in lower:
            raise UnfitError(f"must be one of {', '.join(names)}; it is {value!r}.")
        return lower.index(value.lower())

    return Kind(f"one of {', '.join(names)}, or its place from 0", read)


def _number(value: Any) -> float:
    if not isinstance(value, int | float) or isinstance(value, bool):
        raise refused("a number", value)
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _time(seconds: float) -> str:
    for factor, unit in ((3600, "h"), (60, "m"), (1, "s")):
        if seconds >= factor and seconds % factor == 0:
            return f"{seconds / factor:g}{unit}"
    return f"{seconds * 1000:g}ms"
