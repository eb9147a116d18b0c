"""Sums over gaps, the windows to show, and what to do about the causes."""

from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from tracekit.analysis.idle.gaps import (
    by_cause,
    gaps_in,
    gaps_of,
    idle_time,
    loaded_time,
    longest_gaps,
)
from tracekit.analysis.idle.levers import Habits, advice, lever
from tracekit.analysis.idle.pieces import CAUSES, Cause, State
from tracekit.analysis.rule import Evidence

GAPS = pd.DataFrame(
    [
        (0, 60, 0, "after-wait", "after-wait", "admit"),
        (60, 40, 0, "after-wait", "driver", "driver"),
        (200, 500, 1, "queued", "late-start", ""),
        (700, 50, 1, "queued", "other-process", "admit"),
        (900, 30, 2, "unknown", "unattributed", "retire"),
    ],
    columns=["start", "duration", "gap", "state", "cause", "during"],
)


def test_every_cause_has_a_sum_and_all_sums_are_the_idle_time() -> None:
    sums = by_cause(GAPS)
    assert list(sums) == list(Cause) == list(CAUSES)
    assert sums[Cause.LATE_START] == 500
    assert sums[Cause.COMPILE] == 0
    assert sum(sums.values()) == idle_time(GAPS) == 680


def test_gaps_are_chosen_by_cause_or_by_the_way_they_came_about() -> None:
    late = gaps_of(GAPS, Cause.LATE_START)
    assert (late.starts.tolist(), late.ends.tolist(), late.lost.tolist()) == ([200], [750], [500])
    waited = gaps_in(GAPS, State.AFTER_WAIT)
    assert (waited.starts.tolist(), waited.ends.tolist(), waited.time) == ([0], [100], 100)
    none = gaps_of(GAPS, Cause.WIRING)
    assert (none.count, none.time, none.median) == (0, 0, 0.0)
    assert loaded_time(pd.DataFrame({"start": [0, 9], "duration": [5, 6]})) == 11


def test_the_longest_gaps_are_shown_whole_with_their_causes() -> None:
    assert longest_gaps(GAPS) == (
        Evidence("gpu_intervals", 200, 750, "late start"),
        Evidence("gpu_intervals", 0, 100, "after a wait 60.0 %, driver 40.0 %"),
        Evidence("gpu_intervals", 900, 930, "unattributed"),
    )


def test_advice_is_on_two_causes_that_took_most_and_a_tenth_at_least() -> None:
    shares = {Cause.DRIVER: 100, Cause.BETWEEN_BUFFERS: 700, Cause.HOST_LATE: 200}
    words = advice(shares, Habits())
    assert words.index("MLX_MAX_OPS_PER_BUFFER") < words.index("does not say what the host did")
    assert "driver" not in words
    for little, spoken in ((99, False), (100, True)):
        shares = {Cause.DRIVER: little, Cause.BETWEEN_BUFFERS: 1_000 - little}
        assert ("The driver prepared" in advice(shares, Habits())) == spoken


ALL = Habits(1.0, 1.0, sampled=True)
WAIT, ENCODING, WIRING = Cause.AFTER_WAIT, Cause.ENCODING, Cause.WIRING


@pytest.mark.parametrize(
    ("cause", "habits", "said", "unsaid"),
    [
        (WAIT, {"waits": 0.59}, "mx.clear_cache", "async_eval"),
        (WAIT, {"waits": 0.6}, "command buffer in flight", "mx.clear_cache"),
        (WAIT, {"waits": 1.5}, "command buffer in flight", "Wait once an iteration"),
        (WAIT, {"waits": 1.51}, "Wait once an iteration", "command buffer in flight"),
        (WAIT, {"waits": None}, "command buffer in flight", "mx.clear_cache"),
        (WAIT, {"waits": None}, "Wait once an iteration", "mx.clear_cache"),
        (WAIT, {}, "async_eval", ".item()"),
        (WAIT, {"sampled": False}, ".item()", "mx.compile"),  # guessed only without samples
        (WAIT, {"host_longer": True}, "mx.compile", ".item()"),
        (WIRING, {"lost": True}, "mx.set_wired_limit", "pool"),
        (WIRING, {"lost": False}, "preallocate", "mx.set_wired_limit"),
        (WIRING, {"lost": None}, "preallocate", "async_eval"),
        (WIRING, {"lost": None}, "mx.set_wired_limit", "async_eval"),
        (ENCODING, {"buffers": 1.5}, "commit a part of the work earlier", "block tables"),
        (ENCODING, {"buffers": 1.51}, "block tables", "work earlier"),
        (ENCODING, {"buffers": None}, "block tables", "work earlier"),
        (Cause.LATE_START, {}, "event of another stream", "move its operations"),
        (Cause.LATE_START, {"other_stream": True}, "move its operations", "event of another"),
    ],
)
def test_what_is_advised_depends_on_habits(
    cause: Cause, habits: dict[str, Any], said: str, unsaid: str
) -> None:
    words = lever(cause, replace(ALL, **habits))
    assert said in words
    assert unsaid not in words


def test_more_in_flight_is_advised_only_where_the_queue_ran_empty() -> None:
    for cause in Cause:
        assert ("command buffer in flight" in lever(cause, ALL)) == (cause is WAIT)
        assert advice({cause: 1}, Habits())
