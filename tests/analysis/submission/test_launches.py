"""Pieces of work and the gaps before them."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window
from tracekit.analysis.submission import annotated_readbacks, each, launches, per_step, spared

Make = Callable[..., pd.DataFrame]
WINDOW = Window(0, 1_000)


def numbered(frame: pd.DataFrame, buffers: list[int | None]) -> pd.DataFrame:
    return frame.assign(command_buffer=pd.array(buffers, dtype="UInt64"))


def test_the_gap_before_each_piece(intervals: Make) -> None:
    frame = numbered(intervals([(10, 20), (25, 30), (60, 10), (80, 10)]), [1, 1, 2, 2])
    work = launches(frame, WINDOW)
    assert work.idle.tolist() == [0, 0, 5, 10]
    assert work.opens.tolist() == [True, False, True, False]
    assert work.buffers == 2
    assert work.busy == 65
    starts, ends = work.gaps(work.opens & (work.idle > 0))
    assert (starts.tolist(), ends.tolist()) == ([55], [60])


def test_long_work_that_still_runs_leaves_no_gap(intervals: Make) -> None:
    frame = numbered(intervals([(0, 100), (10, 5), (50, 5)]), [1, 2, 3])
    assert launches(frame, WINDOW).idle.tolist() == [0, 0, 0]


def test_work_without_command_buffers_opens_none(intervals: Make) -> None:
    work = launches(numbered(intervals([(0, 5), (10, 5)]), [None, None]), WINDOW)
    assert work.buffers == 0
    assert not work.opens.any()


def test_a_window_without_work_is_none(intervals: Make) -> None:
    with pytest.raises(Unavailable, match="no work of the target starts in the window"):
        launches(numbered(intervals([(2_000, 5)]), [1]), WINDOW)


def test_gaps_that_bubbles_counts_too_are_named(intervals: Make) -> None:
    us = 1_000
    frame = numbered(intervals([(0, us), (12 * us, us), (15 * us, us)]), [1, 2, 3])
    work = launches(frame, Window(0, 20 * us, "the window"))
    assert work.counted(work.idle > 0) == "bubbles"
    assert not work.counted(work.starts == 15 * us)


@pytest.mark.parametrize(("work", "share"), [(0, 1.0), (100, 0.9), (1_000, 0.0), (5_000, 0.0)])
def test_what_larger_pieces_would_spare(work: int, share: float) -> None:
    assert spared(10, work, 100) == pytest.approx(share)


def test_rates_are_said_as_far_as_they_are_known(row_of_steps: Make) -> None:
    steps = row_of_steps([100] * 4).assign(tokens=2)
    assert each(20, steps) == ", 5 per step and 2.50 per token"
    assert each(20, steps.assign(tokens=0)) == ", 5 per step"
    assert each(20, steps.assign(phase="warm-up")) == ""
    assert each(20, None) == ""


def test_readbacks_that_the_workload_annotates() -> None:
    spans = pd.DataFrame(
        {"start": [50, 10, 30, 1_200], "duration": [5, 5, 5, 5], "name": ["readback"] * 4}
    )
    waits = annotated_readbacks(spans, WINDOW)
    assert waits is not None
    assert waits.starts.tolist() == [14, 34, 54]
    assert annotated_readbacks(spans.assign(name="decode"), WINDOW) is None
    assert annotated_readbacks(None, WINDOW) is None


def test_waits_per_step_are_those_of_the_worst_variant(row_of_steps: Make) -> None:
    spans = pd.DataFrame({"start": [10, 30, 50, 110], "duration": 5, "name": "readback"})
    waits = annotated_readbacks(spans, WINDOW)
    assert waits is not None
    assert per_step(waits, row_of_steps([100, 100])) == 2
    assert per_step(waits, row_of_steps([100, 100], ("paged", "sdpa"))) == 3
