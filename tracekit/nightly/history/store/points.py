"""Series over nights, made of what each night was judged."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy import RowMapping

from tracekit.nightly.history.night import Outcome
from tracekit.nightly.history.series import Point, Series


class Key(NamedTuple):
    """What names a series."""

    machine: str
    plan: str
    capture: str
    work: str
    metric: str


@dataclass(frozen=True)
class Ended:
    """A night as series need it: how it ended, and which work its captures did.

    Attributes:
        number: Its number in the database.
        row: Its row.
        environment: Facts of the machine.
        entries: How each capture ended, by its name: work, outcome and reason.
    """

    number: int
    row: RowMapping
    environment: dict[str, Any]
    entries: dict[str, tuple[str, str | None, str]] = field(
        default_factory=dict[str, tuple[str, str | None, str]]
    )


def series_of(nights: Sequence[Ended], judged: Iterable[RowMapping]) -> list[Series]:
    """Return the series of nights, oldest first, and of what was judged in them.

    A night that has no value of a series because it failed, or because the capture did, is a
    point without one that says why.
    """
    found: dict[Key, dict[int, RowMapping]] = {}
    by_number = {night.number: night for night in nights}
    for row in judged:
        night = by_number[row["night"]].row
        key = Key(night["machine"], night["plan"], row["capture"], row["work"], row["metric"])
        found.setdefault(key, {})[row["night"]] = row
    current = _current_work(nights)
    return [_series(key, rows, nights, current) for key, rows in found.items()]


def _series(
    key: Key,
    rows: dict[int, RowMapping],
    nights: Sequence[Ended],
    current: dict[tuple[int, str], str],
) -> Series:
    points: list[Point] = []
    last: RowMapping | None = None
    for night in nights:
        if (night.row["machine"], night.row["plan"]) != (key.machine, key.plan):
            continue
        row = rows.get(night.number)
        if row is not None:
            points.append(_point(night, row))
            last = row
        elif current.get((night.number, key.capture)) == key.work:
            points += _silent(night, key.capture)
    assert last is not None, "a series is made of what was judged"
    return Series(
        *key,
        **{name: last[name] for name in ("unit", "better", "scale", "threshold", "gated")},
        points=tuple(points),
    )


def _point(night: Ended, row: RowMapping) -> Point:
    return Point(
        value=row["candidate"],
        reference=row["reference"],
        change=row["measured"],
        low=row["measured_low"],
        high=row["measured_high"],
        least=row["least"],
        most=row["most"],
        pairs=row["pairs"],
        outcome=Outcome(row["outcome"]) if row["outcome"] else None,
        reason=row["reason"],
        **_place(night),
    )


def _silent(night: Ended, capture: str) -> list[Point]:
    """Return a point without a value where a night or its capture failed; else nothing."""
    _, outcome, reason = night.entries.get(capture, ("", night.row["outcome"], ""))
    failed = outcome in {None, Outcome.FAILED} or (
        capture not in night.entries and night.row["partial"]
    )
    if not failed:
        return []
    return [Point(value=None, reason=reason or night.row["reason"], **_place(night))]


def _place(night: Ended) -> dict[str, Any]:
    row = night.row
    return {
        "night": row["id"],
        "at": row["started"],
        "night_outcome": Outcome(row["outcome"]) if row["outcome"] else None,
        "commit": row["git_commit"],
        "environment": night.environment,
        "folder": row["folder"],
    }


def _current_work(nights: Sequence[Ended]) -> dict[tuple[int, str], str]:
    """Return which work a capture does in each night; where it is missing, what it did last."""
    last: dict[tuple[str, str, str], str] = {}
    current: dict[tuple[int, str], str] = {}
    for night in nights:
        owner = (night.row["machine"], night.row["plan"])
        for capture, (work, *_) in night.entries.items():
            last[*owner, capture] = work
        for (machine, plan, capture), work in last.items():
            if (machine, plan) == owner:
                current[night.number, capture] = work
    return current
