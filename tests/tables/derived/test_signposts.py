"""Signposts become intervals, and those that are agreed for it, phases."""

from collections.abc import Callable
from typing import Any

import pandas as pd

Joined = Callable[..., tuple[pd.DataFrame, list[str]]]
Values = Callable[[pd.DataFrame, str], list[Any]]


def mark(time: int, event: str, name: str = "step", **more: Any) -> dict[str, Any]:
    known = {"time": time, "event": event, "name": name, "identifier": 1, "subsystem": "app"}
    owner = {"category": "work", "process": "App", "pid": 7, "target": True, "tid": 9}
    return {**known, **owner, "clock": "gpu", **more}


def test_a_begin_and_the_next_end_are_an_interval(joined: Joined, values: Values) -> None:
    marks = [
        mark(10, "Begin", message="go"),
        mark(12, "Begin", "other"),
        mark(15, "Event"),
        mark(20, "End", message="done"),
        mark(30, "End", "other"),
    ]
    intervals, warnings = joined("signpost_intervals", signposts=marks)
    assert values(intervals, "start") == [10, 12]
    assert values(intervals, "duration") == [10, 18]
    assert values(intervals, "name") == ["step", "other"]
    assert values(intervals, "begin_message") == ["go", None]
    assert values(intervals, "end_message") == ["done", None]
    assert values(intervals, "pid") == [7, 7]
    assert values(intervals, "tid") == [9, 9]
    assert values(intervals, "target") == [True, True]
    assert warnings == []


def test_identifiers_categories_and_processes_keep_signposts_apart(
    joined: Joined, values: Values
) -> None:
    marks = [
        mark(1, "Begin", identifier=1),
        mark(2, "Begin", identifier=2),
        mark(3, "Begin", category=None),
        mark(4, "Begin", pid=8),
        mark(5, "End", pid=8),
        mark(6, "End", category=None),
        mark(7, "End", identifier=1),
        mark(9, "End", identifier=2),
    ]
    intervals, warnings = joined("signpost_intervals", signposts=marks)
    assert values(intervals, "start") == [1, 2, 3, 4]
    assert values(intervals, "duration") == [6, 7, 3, 1]
    assert warnings == []


def test_what_has_no_counterpart_makes_no_interval_and_is_counted(
    joined: Joined, values: Values
) -> None:
    marks = [
        mark(1, "End"),
        mark(2, "Begin"),
        mark(3, "Begin"),
        mark(4, "End"),
        mark(5, "End"),
        mark(6, "Begin"),
    ]
    intervals, warnings = joined("signpost_intervals", signposts=marks)
    assert values(intervals, "start") == [3]
    assert warnings == ["signpost_intervals: 4 signposts have no counterpart and are left out"]
    nothing, warnings = joined("signpost_intervals", signposts=[])
    assert len(nothing) == 0
    assert warnings == []


def interval(start: int, name: str, **more: Any) -> dict[str, Any]:
    agreed = {"subsystem": "tracekit", "category": "phases", "target": True, "clock": "gpu"}
    return {"start": start, "duration": 5, "name": name, **agreed, **more}


def test_only_the_target_s_signposts_of_the_agreed_kind_are_phases(
    joined: Joined, values: Values
) -> None:
    phases, warnings = joined(
        "phases",
        signpost_intervals=[
            interval(1, "prepare"),
            interval(6, "steady"),
            interval(7, "another's", target=False),
            interval(8, "another subsystem", subsystem="com.apple.SkyLight"),
            interval(9, "no category", category=None),
            interval(10, "never ended", duration=None),
        ],
    )
    assert values(phases, "name") == ["prepare", "steady"]
    assert values(phases, "start") == [1, 6]
    assert values(phases, "duration") == [5, 5]
    assert warnings == []
