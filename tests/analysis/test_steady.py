"""The steady window of the target."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window
from tracekit.analysis.scope import window_of_target

Make = Callable[..., pd.DataFrame]


def test_the_workloads_marks_come_first(
    intervals: Make, targets: pd.DataFrame, phases: Make
) -> None:
    found = window_of_target(intervals([(0, 5)]), targets, phases(10, 20))
    assert found == Window(10, 30, "the steady window")


def test_without_marks_it_is_the_span_of_the_targets_rows(
    intervals: Make, targets: pd.DataFrame
) -> None:
    frame = intervals([(3, 5), (20, 5)], others=[(0, 100)])
    found = window_of_target(frame, targets, None)
    assert (found.start, found.end) == (3, 25)


def test_without_a_target_or_a_length_there_is_none(
    intervals: Make, targets: pd.DataFrame, nobody: pd.DataFrame, phases: Make
) -> None:
    with pytest.raises(Unavailable, match="which process is the target is not known"):
        window_of_target(intervals([(0, 5)]), nobody, None)
    with pytest.raises(Unavailable, match="none of the 1 rows"):
        window_of_target(intervals([], others=[(0, 5)]), targets, None)
    with pytest.raises(Unavailable, match="the steady window has no length"):
        window_of_target(intervals([(0, 5)]), targets, phases(10, 0))
