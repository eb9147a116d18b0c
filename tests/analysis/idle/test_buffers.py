"""Work joined with what other tables say of its command buffer."""

from typing import Literal

import numpy as np
import pandas as pd
import pytest

from tracekit.analysis.idle.work import moments, of_buffer
from tracekit.analysis.intervals import NEVER

HUGE = 2**64 - 1
Ids = list[int | None]


@pytest.mark.parametrize(
    ("work", "rows", "times", "best", "found"),
    [
        ([7, 9], [9, 7, 9, 7, 9], [30, 12, 10, 11, 20], "min", [11, 10]),
        ([7, 9], [9, 7, 9, 7, 9], [30, 12, 10, 11, 20], "max", [12, 30]),
        ([3, 5, 3, 3], [5, 3], [50, 30], "min", [30, 50, 30, 30]),
        ([0, 4, 6, 8, HUGE], [5, 7], [50, 70], "max", [NEVER] * 5),
        ([HUGE, HUGE - 1], [HUGE - 1, HUGE], [1, 2], "max", [2, 1]),
        ([None, 0], [0], [40], "min", [NEVER, 40]),
        ([0, 1], [None, 1], [10, 20], "min", [NEVER, 20]),
        ([1, 2], [1, 1, 2], [NEVER, 10, NEVER], "min", [10, NEVER]),
        ([1, 2], [None], [0], "max", [NEVER, NEVER]),
        ([1, 2], [], [], "max", [NEVER, NEVER]),
        ([], [1], [5], "min", []),
    ],
)
def test_work_finds_the_first_or_last_time_of_its_buffer(
    work: Ids, rows: Ids, times: list[int], best: Literal["min", "max"], found: list[int]
) -> None:
    frames = [
        pd.DataFrame({"command_buffer": pd.array(ids, dtype="UInt64")}) for ids in (work, rows)
    ]
    assert of_buffer(*frames, np.array(times, np.int64), best).tolist() == found


@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]"])
def test_a_null_moment_is_never(dtype: str) -> None:
    column = pd.Series([1, None, 2**62 + 1], dtype=dtype)
    assert moments(column).tolist() == [1, NEVER, 2**62 + 1]
