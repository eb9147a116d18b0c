"""Whose rows count, and that they are picked once."""

import pandas as pd

from tracekit.analysis.scope import own_rows, share


def test_the_rows_of_a_shared_frame_are_picked_once_and_cannot_be_spoilt() -> None:
    frame = pd.DataFrame({"start": [1, 2, 3], "target": [True, False, True]})
    assert share(frame) is frame
    first = own_rows(frame)
    first["start"] = 0
    assert own_rows(frame)["start"].tolist() == [1, 3]


def test_a_frame_that_was_not_shared_may_change() -> None:
    frame = pd.DataFrame({"start": [1, 2], "target": [True, False]})
    assert own_rows(frame)["start"].tolist() == [1]
    frame["target"] = [False, True]
    assert own_rows(frame)["start"].tolist() == [2]


def test_what_was_shared_is_forgotten_with_its_frame() -> None:
    for start in range(20):
        frame = share(pd.DataFrame({"start": [start], "target": [True]}))
        assert own_rows(frame)["start"].tolist() == [start]
        del frame
