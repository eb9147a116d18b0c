"""Nights, entries and series in few words."""

from dataclasses import replace
from typing import Any

import pytest

from tracekit.nightly.history.night import Described, Entry, Judged, Night, Outcome, Pair
from tracekit.nightly.history.steps import Point, Series
from tracekit.nightly.trend.course import Course, courses_of

WORK = "w1"


def at_of(day: int) -> str:
    return f"2026-11-{day:02}T02:30:00+00:00"


def entry_of(outcome: Outcome | None = Outcome.OK, capture: str = "paged", **facts: Any) -> Entry:
    return Entry(capture, facts.pop("work", WORK), Described(capture), outcome=outcome, **facts)


def night_of(day: int, *entries: Entry, **facts: Any) -> Night:
    kept = {"plan": "p", "machine": "m", "outcome": Outcome.OK, "folder": f"n{day:02}", **facts}
    return Night(id=f"n{day:02}", started=at_of(day), entries=entries, **kept)


def point_of(day: int, value: float | None, **facts: Any) -> Point:
    return Point(f"n{day:02}", at_of(day), value, **facts)


def series_of(*points: Point, **facts: Any) -> Series:
    kept = {"metric": "step_p50", "unit": "ns", "better": "lower", **facts}
    return Series("m", "p", "paged", WORK, points=points, **kept)


def judged_of(expected: float | None = 0.0, **facts: Any) -> Judged:
    return Judged("step_p50", "ns", "lower", expected=expected, **facts)


def course_of(nights: list[Night], *series: Series, **others: Any) -> Course:
    kept = {"accepted": (), "missed": (), **others}
    return courses_of(series, nights, **kept)[0]


def traced(*runs: str) -> Pair:
    return Pair(1, 1, "ab", traced=True, runs=runs)


class Made:
    """What makes things of nights, so that tests need no imports of this file."""

    at = staticmethod(at_of)
    entry = staticmethod(entry_of)
    night = staticmethod(night_of)
    point = staticmethod(point_of)
    series = staticmethod(series_of)
    judged = staticmethod(judged_of)
    course = staticmethod(course_of)
    traced = staticmethod(traced)
    replace = staticmethod(replace)


@pytest.fixture
def made() -> type[Made]:
    return Made
