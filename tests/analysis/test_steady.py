"""The steady window of the target."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.given import Given
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.iterations import Loop
from tracekit.base.recording import Process, Provenance

Make = Callable[..., pd.DataFrame]


def loop(frame: pd.DataFrame, phases: pd.DataFrame | None = None, *, known: bool = True) -> Loop:
    tables = {"gpu_intervals": frame} | ({} if phases is None else {"phases": phases})
    return Given(tables, Provenance(targets=(Process(4711),) if known else ()))["loop"]


def test_the_workloads_marks_come_before_the_span_of_the_targets_rows(
    intervals: Make, phases: Make
) -> None:
    frame = intervals([(3, 5), (20, 5)], others=[(0, 100)])
    assert loop(frame, phases(10, 20)) == Loop(10, 30, "the steady window")
    assert (loop(frame).start, loop(frame).end) == (3, 25)


def test_without_a_target_or_a_length_there_is_none(intervals: Make, phases: Make) -> None:
    with pytest.raises(Unavailable, match="which process is the target is not known"):
        loop(intervals([(0, 5)]), known=False)
    with pytest.raises(Unavailable, match="none of the 1 rows"):
        loop(intervals([], others=[(0, 5)]))
    with pytest.raises(Unavailable, match="the steady window has no length"):
        loop(intervals([(0, 5)]), phases(10, 0))
