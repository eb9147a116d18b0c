"""What the target allocated and had wired in a window."""

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window
from tracekit.analysis.upkeep import allocations, wiring

WINDOW = Window(10, 20, "the steady window")


def resources(*rows: tuple[int, str | None, bool]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "time": pd.array([at for at, _, _ in rows], dtype="int64"),
            "event": pd.array([event for _, event, _ in rows], dtype="string"),
            "target": pd.array([own for _, _, own in rows], dtype="bool"),
        }
    )


def events(*rows: tuple[int, int, str, bool]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "start": pd.array([start for start, _, _, _ in rows], dtype="int64"),
            "duration": pd.array([length for _, length, _, _ in rows], dtype="Int64"),
            "event": pd.array([event for _, _, event, _ in rows], dtype="string"),
            "target": pd.array([own for _, _, _, own in rows], dtype="bool"),
        }
    )


def test_only_the_targets_allocations_in_the_window_count() -> None:
    rows = resources(
        (9, "Allocation", True),
        (10, "Allocation", True),
        (15, "Allocation", False),
        (16, "Deallocation", True),
        (19, "Allocation", True),
        (20, "Allocation", True),
    )
    assert allocations(rows, WINDOW)["time"].tolist() == [10, 19]


def test_a_target_without_rows_allocated_nothing() -> None:
    assert allocations(resources(), WINDOW).empty
    assert allocations(resources((15, "Birth", False)), WINDOW).empty


def test_words_that_are_not_known_are_no_zero() -> None:
    with pytest.raises(Unavailable, match="is not known: Birth, no name"):
        allocations(resources((5, "Birth", True), (15, None, True)), WINDOW)


def test_wiring_is_cut_to_the_window_and_joined() -> None:
    rows = events(
        (8, 4, "Wire Memory", True),
        (11, 3, "Wire Memory", True),
        (15, 1, "Wire Memory", False),
        (16, 1, "Something else", True),
        (18, 9, "Wire Memory", True),
    )
    starts, ends = wiring(rows, WINDOW)
    assert (starts.tolist(), ends.tolist()) == ([10, 18], [14, 20])


def test_no_wiring_is_no_time() -> None:
    starts, ends = wiring(events(), WINDOW)
    assert starts.size == ends.size == 0
