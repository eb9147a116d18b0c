"""Intervals of a set, and what a moment finds there."""

import numpy as np
import pandas as pd
import pytest

from tracekit.analysis.idle.work import covered
from tracekit.analysis.intervals import FOREVER, NEVER, IntervalSet

TWO = IntervalSet.of(np.array([10, 30, 12]), np.array([20, 40, 15]))


def test_what_overlaps_is_one_interval() -> None:
    assert TWO.bounds.tolist() == [10, 30, 20, 40]


@pytest.mark.parametrize(
    ("at", "inside", "begun", "coming"),
    [
        (9, False, NEVER, 10),
        (10, True, 10, 30),
        (19, True, 10, 30),
        (20, False, NEVER, 30),
        (30, True, 30, FOREVER),
        (40, False, NEVER, FOREVER),
    ],
)
def test_an_interval_holds_its_start_and_not_its_end(
    at: int, *, inside: bool, begun: int, coming: int
) -> None:
    moment = np.array([at])
    assert TWO.contains(moment).tolist() == [inside]
    assert TWO.interval_start(moment).tolist() == [begun]
    assert TWO.next_start(moment).tolist() == [coming]


def test_nothing_covers_nothing() -> None:
    moment = np.array([0, 5])
    assert not IntervalSet.empty().contains(moment).any()
    assert IntervalSet.empty().interval_start(moment).tolist() == [NEVER, NEVER]
    assert IntervalSet.empty().next_start(moment).tolist() == [FOREVER, FOREVER]


def test_only_the_targets_rows_count_where_rows_have_an_owner() -> None:
    frame = pd.DataFrame({"start": [0, 10], "duration": [5, 5]})
    assert covered(frame).bounds.tolist() == [0, 10, 5, 15]
    assert covered(frame.assign(target=[False, True])).bounds.tolist() == [10, 15]
    assert isinstance(covered(None), IntervalSet)
    assert not covered(None).bounds.size
