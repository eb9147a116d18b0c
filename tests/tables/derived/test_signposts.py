"""Signposts become intervals, and those that are agreed for it, phases."""

from collections.abc import Callable

import pandas as pd

Joined = Callable[..., tuple[pd.DataFrame, list[str]]]
Holds = Callable[[pd.DataFrame, str], bool]


def marks(*rows: str) -> str:
    """Write signposts of the target: time, event, name, identifier, category, pid, message."""
    names = "time event name identifier category pid message subsystem process target tid clock"
    return "\n".join([names, *(f"{row} app App True 9 gpu" for row in rows)])


def test_a_begin_and_the_next_end_are_an_interval(joined: Joined, holds: Holds) -> None:
    signposts = marks(
        "10 Begin step 1 work 7 go",
        "12 Begin other 1 work 7 -",
        "15 Event step 1 work 7 -",
        "20 End step 1 work 7 done",
        "30 End other 1 work 7 -",
    )
    intervals, warnings = joined("signpost_intervals", signposts=signposts)
    assert holds(
        intervals,
        """start duration name begin_message end_message pid tid target
        10 10 step go done 7 9 True
        12 18 other - - 7 9 True""",
    )
    assert warnings == []


def test_identifiers_categories_and_processes_keep_signposts_apart(
    joined: Joined, holds: Holds
) -> None:
    signposts = marks(
        "1 Begin step 1 work 7 -",
        "2 Begin step 2 work 7 -",
        "3 Begin step 1 - 7 -",
        "4 Begin step 1 work 8 -",
        "5 End step 1 work 8 -",
        "6 End step 1 - 7 -",
        "7 End step 1 work 7 -",
        "9 End step 2 work 7 -",
    )
    intervals, warnings = joined("signpost_intervals", signposts=signposts)
    assert holds(intervals, "start duration\n1 6\n2 7\n3 3\n4 1")
    assert warnings == []


def test_what_has_no_counterpart_makes_no_interval_and_is_counted(
    joined: Joined, holds: Holds
) -> None:
    events = ("1 End", "2 Begin", "3 Begin", "4 End", "5 End", "6 Begin")
    signposts = marks(*(f"{event} step 1 work 7 -" for event in events), "7 End other 1 work 7 -")
    intervals, warnings = joined("signpost_intervals", signposts=signposts)
    assert holds(intervals, "start\n3")
    assert warnings == ["signpost_intervals: 5 signposts have no counterpart and are left out"]
    nothing, warnings = joined("signpost_intervals", signposts=marks())
    assert (len(nothing), warnings) == (0, [])


def test_only_the_target_s_signposts_of_the_agreed_kind_are_phases(
    joined: Joined, holds: Holds
) -> None:
    intervals = """start duration name subsystem category target clock
        1 5 prepare tracekit phases True gpu
        6 5 steady tracekit phases True gpu
        7 5 another's tracekit phases False gpu
        8 5 another com.apple.SkyLight phases True gpu
        9 5 none tracekit - True gpu
        10 - endless tracekit phases True gpu"""
    phases, warnings = joined("phases", signpost_intervals=intervals)
    assert holds(phases, "name start duration\nprepare 1 5\nsteady 6 5")
    assert warnings == []
