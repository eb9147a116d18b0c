import pandas as pd

from tracekit.analysis.scope import Recorded, own_rows


def test_the_rows_of_a_recorded_table_are_picked_once_and_cannot_be_spoilt() -> None:
    frame = Recorded({"start": [1, 2, 3], "target": [True, False, True]})
    assert frame.own is frame.own
    first = own_rows(frame)
    first["start"] = 0
    assert own_rows(frame)["start"].tolist() == [1, 3]


def test_what_is_made_of_a_recorded_table_is_any_other_frame() -> None:
    frame = Recorded({"start": [1, 2], "target": [True, False]})
    assert type(own_rows(frame)) is type(frame[frame["start"] > 1]) is pd.DataFrame
