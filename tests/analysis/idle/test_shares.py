"""Sums over gaps, the windows to show, and what to do about the causes."""

import pandas as pd

from tracekit.analysis.idle.gaps import (
    advice,
    by_cause,
    drained_time,
    idle_time,
    loaded_time,
    longest_gaps,
    most_annotated,
)
from tracekit.analysis.idle.pieces import CAUSES, Cause
from tracekit.analysis.rule import Evidence

GAPS = pd.DataFrame(
    [
        (0, 60, 0, "host-late", "yes", "admit"),
        (60, 40, 0, "driver", "yes", "driver"),
        (200, 500, 1, "start-latency", "no", ""),
        (700, 50, 1, "other-process", "no", "admit"),
        (900, 30, 2, "unattributed", "unknown", "retire"),
    ],
    columns=["start", "duration", "gap", "cause", "drained", "during"],
)


def test_every_cause_has_a_sum_and_all_sums_are_the_idle_time() -> None:
    sums = by_cause(GAPS)
    assert list(sums) == list(Cause) == list(CAUSES)
    assert sums[Cause.START_LATENCY] == 500
    assert sums[Cause.COMPILE] == 0
    assert sum(sums.values()) == idle_time(GAPS) == 680


def test_time_after_a_wait_is_that_of_drained_gaps() -> None:
    assert drained_time(GAPS) == 100
    assert loaded_time(pd.DataFrame({"start": [0, 9], "duration": [5, 6]})) == 11


def test_the_span_that_covers_most_is_named_what_was_seen_is_not() -> None:
    assert most_annotated(GAPS) == ("admit", 110)
    assert most_annotated(GAPS[GAPS["during"].isin(["", "driver"])]) == ("", 0)


def test_the_longest_gaps_are_shown_whole_with_their_causes() -> None:
    assert longest_gaps(GAPS) == (
        Evidence("gpu_intervals", 200, 750, "start latency"),
        Evidence("gpu_intervals", 0, 100, "host late 60.0 %, driver 40.0 %"),
        Evidence("gpu_intervals", 900, 930, "unattributed"),
    )


def test_advice_begins_with_what_took_most_and_leaves_out_what_took_little() -> None:
    words = advice({Cause.DRIVER: 50, Cause.READBACK: 900, Cause.HOST_LATE: 200})
    assert words.index("read results back less") < words.index("The host hands work over too late")
    assert "driver" not in words


def test_every_cause_has_advice() -> None:
    assert all(advice({cause: 1}) for cause in Cause)
