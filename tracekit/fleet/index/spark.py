"""A series as a line so small that it stands within a row, and in words."""

from collections.abc import Sequence

from tracekit.base.units import quantity

WIDTH, HEIGHT, MARGIN = 96.0, 22.0, 3.0
Point = tuple[float, float]


def points(series: Sequence[float]) -> tuple[Point, ...]:
    """Return where the values lie: evenly apart, the least at the bottom, the most on top.

    A series that never changes is drawn through the middle.
    """
    least, most = min(series), max(series)
    step = (WIDTH - 2 * MARGIN) / max(1, len(series) - 1)
    return tuple(
        (round(MARGIN + place * step, 1), round(_height(value, least, most), 1))
        for place, value in enumerate(series)
    )


def words(series: Sequence[float], unit: str) -> str:
    """Return what the line shows, for those who do not see it."""
    if len(series) == 1:
        return "the first run of its kind"
    least, most = quantity(min(series), unit), quantity(max(series), unit)
    return f"the last of {len(series)} runs of its kind, from {least} to {most}"


def _height(value: float, least: float, most: float) -> float:
    room = HEIGHT - 2 * MARGIN
    if most == least:
        return MARGIN + room / 2
    return MARGIN + room * (most - value) / (most - least)
