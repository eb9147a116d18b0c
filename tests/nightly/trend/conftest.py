"""Nights, entries and series in few words."""

from dataclasses import replace
from typing import Any

import pytest

from tracekit.nightly.history.night import Described, Entry, Judged, Night, Outcome, Pair
from tracekit.nightly.history.steps import Point, Series
from tracekit.nightly.trend.course import Course, courses_of


class Made:
    """What makes things of nights, so that tests need no imports of this file."""

    replace = staticmethod(replace)

    @staticmethod
    def at(day: int) -> str:
        return f"2026-11-{day:02}T02:30:00+00:00"

    @staticmethod
    def entry(outcome: Outcome | None = Outcome.OK, capture: str = "paged", **facts: Any) -> Entry:
        work = facts.pop("work", "w1")
        return Entry(capture, work, Described(capture), outcome=outcome, **facts)

    @staticmethod
    def night(day: int, *entries: Entry, **facts: Any) -> Night:
        kept = {"plan": "p", "machine": "m", "outcome": Outcome.OK, "folder": f"n{day:02}", **facts}
        return Night(id=f"n{day:02}", started=Made.at(day), entries=entries, **kept)

    @staticmethod
    def point(day: int, value: float | None, **facts: Any) -> Point:
        return Point(f"n{day:02}", Made.at(day), value, **facts)

    @staticmethod
    def series(*points: Point, **facts: Any) -> Series:
        kept = {"metric": "step_p50", "unit": "ns", "better": "lower", **facts}
        return Series("m", "p", "paged", "w1", points=points, **kept)

    @staticmethod
    def judged(expected: float | None = 0.0, **facts: Any) -> Judged:
        return Judged("step_p50", "ns", facts.pop("better", "lower"), expected=expected, **facts)

    @staticmethod
    def course(nights: list[Night], *series: Series, **others: Any) -> Course:
        return courses_of(series, nights, **{"accepted": (), "missed": (), **others})[0]

    @staticmethod
    def traced(*runs: str) -> Pair:
        return Pair(1, 1, "ab", traced=True, runs=runs)


@pytest.fixture
def made() -> type[Made]:
    return Made
