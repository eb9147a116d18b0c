"""Tables that never change: their columns are made once, and what is made of them is ordinary."""

import pandas as pd
import pytest

from tracekit.analysis.fixed import FixedTable

FRAME = pd.DataFrame(
    {
        "start": pd.array([30, 10, None], "Int64"),
        "name": pd.array(["b", "a", "b"], "string"),
        "target": [True, False, True],
    }
)
TABLE = FixedTable.from_frame(FRAME)


def test_a_column_is_made_once_and_equals_that_of_the_frame() -> None:
    for name in FRAME:
        assert TABLE[name] is TABLE[name], name
        pd.testing.assert_series_equal(TABLE[name], FRAME[name])
    with pytest.raises(KeyError):
        TABLE["end"]


def test_whatever_is_made_of_it_is_an_ordinary_frame_with_the_same_cells() -> None:
    is_b = FRAME["name"] == "b"
    for table, frame in (
        (TABLE.copy(), FRAME.copy()),
        (TABLE[is_b], FRAME[is_b]),
        (TABLE[["name", "start"]], FRAME[["name", "start"]]),
        (TABLE.iloc[1:], FRAME.iloc[1:]),
        (TABLE.assign(start=1), FRAME.assign(start=1)),
        (TABLE.sort_values("start"), FRAME.sort_values("start")),
        (TABLE.groupby("name").sum(), FRAME.groupby("name").sum()),
        (TABLE.merge(TABLE, on="name"), FRAME.merge(FRAME, on="name")),
        (TABLE.T, FRAME.T),
    ):
        assert type(table) is pd.DataFrame, frame
        pd.testing.assert_frame_equal(table, frame)
    assert type(TABLE.iloc[0]) is type(TABLE["start"]) is pd.Series


def test_it_does_not_change_and_its_copies_and_its_frame_may() -> None:
    frame = FRAME.copy()
    table = FixedTable.from_frame(frame)
    with pytest.raises(TypeError, match="does not change"):
        table["start"] = 0
    copied_frame = table.copy(deep=False)
    copied_frame["start"] = 0
    frame["start"] = 1
    pd.testing.assert_series_equal(table["start"], FRAME["start"])
    assert type(frame) is pd.DataFrame
