"""Stacks one behind the other, of frames and of bare addresses."""

import numpy as np
import pytest

from tracekit.tables.bundle.container.uniquer import Ragged
from tracekit.tables.bundle.errors import DamagedCellError
from tracekit.tables.bundle.stacks.frames import Members
from tracekit.tables.xml.node import STACKS


def stacks(*members: list[int]) -> Ragged:
    offsets = np.cumsum([0, *map(len, members)])
    return Ragged(
        offsets, np.array([one for some in members for one in some], np.int64).view(np.uint64)
    )


def of(*numbers: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(numbers, np.int64)


def test_stacks_of_both_kinds_are_mixed_and_bare_ones_stand_behind() -> None:
    members = Members()
    named = stacks([0, 1], [1])
    alone = stacks([-1, -1, -2])
    numbered = np.array([True, False, True, True])
    parts = [(of(0, 3), named), (of(2), alone)]
    members.add(of(2, 0, 3, 1), numbered, parts)
    table = members.table(first_bare=2)
    assert table.schema == STACKS
    assert table["frames"].to_pylist() == [[0, 1], [2, 2, 3], [1]]
    assert len(members) == 3


def test_stacks_are_added_behind_those_before() -> None:
    members = Members()
    members.add(of(), np.array([], np.bool_), [])
    for number in range(3):
        members.add(of(1), np.array([True]), [(of(0), stacks([number]))])
    assert members.table(0)["frames"].to_pylist() == [[0], [1], [2]]


def test_more_frames_than_any_recording_has_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracekit.tables.bundle.stacks.frames._MOST", 3)
    members = Members()
    members.add(of(2), np.array([True]), [(of(0), stacks([1, 2]))])
    with pytest.raises(DamagedCellError, match="more frames than are read of one table"):
        members.add(of(2), np.array([True]), [(of(0), stacks([1, 2]))])
    assert members.table(0)["frames"].to_pylist() == [[1, 2]]
