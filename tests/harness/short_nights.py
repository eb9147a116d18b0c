"""Nights of November 2026, their entries and series, in few words."""

from dataclasses import replace
from typing import Any

from tracekit.nightly.history.night import Described, Entry, Judged, Night, Outcome, Pair
from tracekit.nightly.history.steps import Point, Series
from tracekit.nightly.trend.course import Course, courses_of


def at(day: int) -> str:
    return f"2026-11-{day:02}T02:30:00+00:00"


def entry(outcome: Outcome | None = Outcome.OK, capture: str = "paged", **facts: Any) -> Entry:
    made = Entry(capture, "w1", Described(capture), outcome=outcome)
    return replace(made, **facts)


def night(day: int, *entries: Entry, **facts: Any) -> Night:
    name = f"n{day:02}"
    made = Night(name, "p", "m", at(day), entries=entries, outcome=Outcome.OK, folder=name)
    return replace(made, **facts)


def point(day: int, value: float | None, **facts: Any) -> Point:
    return Point(f"n{day:02}", at(day), value, **facts)


def series(*points: Point, **facts: Any) -> Series:
    made = Series("m", "p", "paged", "w1", "step_p50", "ns", "lower", points=points)
    return replace(made, **facts)


def judged(expected: float | None = 0.0, **facts: Any) -> Judged:
    return replace(Judged("step_p50", "ns", "lower", expected=expected), **facts)


def course(nights: list[Night], *series: Series, **others: Any) -> Course:
    return courses_of(series, nights, **{"accepted": (), "missed": (), **others})[0]


def traced(*runs: str) -> Pair:
    return Pair(1, 1, "ab", traced=True, runs=runs)
