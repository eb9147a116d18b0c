"""Nights of November 2026, their entries and series, in few words."""

from dataclasses import replace
from typing import Any

from tracekit.nightly.history.night import Described, Entry, Judged, Night, Outcome, Pair
from tracekit.nightly.history.steps import Point, Series
from tracekit.nightly.trend.course import Course, courses_of


def make_start_time(day: int) -> str:
    return f"2026-11-{day:02}T02:30:00+00:00"


def entry(outcome: Outcome | None = Outcome.OK, capture: str = "paged", **facts: Any) -> Entry:
    default_entry = Entry(capture, "w1", Described(capture), outcome=outcome)
    return replace(default_entry, **facts)


def night(day: int, *entries: Entry, **facts: Any) -> Night:
    name = f"n{day:02}"
    default_night = Night(
        name, "p", "m", make_start_time(day), entries=entries, outcome=Outcome.OK, folder=name
    )
    return replace(default_night, **facts)


def point(day: int, value: float | None, **facts: Any) -> Point:
    return Point(f"n{day:02}", make_start_time(day), value, **facts)


def series(*points: Point, **facts: Any) -> Series:
    default_series = Series("m", "p", "paged", "w1", "step_p50", "ns", "lower", points=points)
    return replace(default_series, **facts)


def make_judgement(expected: float | None = 0.0, **facts: Any) -> Judged:
    return replace(Judged("step_p50", "ns", "lower", expected=expected), **facts)


def course(nights: list[Night], *series: Series, **facts: Any) -> Course:
    return courses_of(series, nights, **{"accepted": (), "missed": (), **facts})[0]


def make_traced_pair(*runs: str) -> Pair:
    return Pair(1, 1, "ab", traced=True, runs=runs)
