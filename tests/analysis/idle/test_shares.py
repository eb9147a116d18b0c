"""Sums over gaps, the windows to show, and what to do about the causes."""

import pandas as pd

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


def test_advice_begins_with_what_took_most_and_leaves_out_what_took_little() -> None:
    shares = {Cause.DRIVER: 50, Cause.BETWEEN_BUFFERS: 900, Cause.HOST_LATE: 200}
    words = advice(shares, Habits())
    assert words.index("MLX_MAX_OPS_PER_BUFFER") < words.index("does not say what the host did")
    assert "driver" not in words


def test_every_cause_has_advice() -> None:
    assert all(advice({cause: 1}, Habits()) for cause in Cause)


def test_how_often_the_loop_waits_decides_what_to_do_about_waits() -> None:
    once, often, unknown, rare = (
        lever(Cause.AFTER_WAIT, Habits(waits, sampled=True)) for waits in (1.0, 3.0, None, 0.1)
    )
    assert "async_eval" in once
    assert ".item()" not in once
    assert "Wait once an iteration" in often
    assert unknown == f"{once} {often}"
    assert "mx.clear_cache" in rare
    assert "async_eval" not in rare


def test_what_the_host_did_is_guessed_only_without_samples() -> None:
    assert ".item()" in lever(Cause.AFTER_WAIT, Habits(1.0))
    assert "mx.compile" in lever(Cause.AFTER_WAIT, Habits(1.0, host_longer=True))


def test_wiring_is_told_by_what_was_allocated_beside() -> None:
    lost, made, unknown = (lever(Cause.WIRING, Habits(lost=lost)) for lost in (True, False, None))
    assert "mx.set_wired_limit" in lost
    assert "pool" not in lost
    assert "preallocate" in made
    assert "mx.set_wired_limit" not in made
    assert lost in unknown


def test_how_much_is_committed_for_a_wait_decides_what_to_do_about_encoding() -> None:
    assert "commit a part of the work earlier" in lever(Cause.ENCODING, Habits(buffers=1.0))
    for habits in (Habits(buffers=20.0), Habits()):
        assert "fewer operations" in lever(Cause.ENCODING, habits)


def test_more_in_flight_is_advised_only_where_the_queue_ran_empty() -> None:
    for cause in Cause:
        said = lever(cause, Habits(1.0, 1.0))
        assert ("command buffer in flight" in said) == (cause is Cause.AFTER_WAIT)
