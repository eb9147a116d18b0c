"""Work joined with what other tables say of its command buffer."""

import numpy as np
import pandas as pd
import pytest

from tracekit.analysis.idle.work import moments, of_buffer
from tracekit.analysis.intervals import NEVER

HUGE = 2**64 - 1


def buffers(*ids: int | None) -> pd.DataFrame:
    return pd.DataFrame({"command_buffer": pd.array(list(ids), dtype="UInt64")})


def at(*times: int) -> np.ndarray:
    return np.array(times, np.int64)


def test_several_rows_of_a_buffer_have_a_first_and_a_last_time() -> None:
    work, rows = buffers(7, 9), buffers(9, 7, 9, 7, 9)
    times = at(30, 12, 10, 11, 20)
    assert of_buffer(work, rows, times, "min").tolist() == [11, 10]
    assert of_buffer(work, rows, times, "max").tolist() == [12, 30]


def test_all_pieces_of_a_buffer_find_the_same() -> None:
    found = of_buffer(buffers(3, 5, 3, 3), buffers(5, 3), at(50, 30), "min")
    assert found.tolist() == [30, 50, 30, 30]


@pytest.mark.parametrize("number", [0, 4, 6, 8, HUGE])
def test_a_buffer_of_no_row_is_not_found(number: int) -> None:
    """Before the first known id, between two, and after the last."""
    assert of_buffer(buffers(number), buffers(5, 7), at(50, 70), "max").tolist() == [NEVER]


def test_ids_take_all_64_bits() -> None:
    found = of_buffer(buffers(HUGE, HUGE - 1), buffers(HUGE - 1, HUGE), at(1, 2), "max")
    assert found.tolist() == [2, 1]


def test_work_without_an_id_finds_nothing_though_there_is_a_buffer_0() -> None:
    assert of_buffer(buffers(None, 0), buffers(0), at(40), "min").tolist() == [NEVER, 40]


def test_a_row_without_an_id_is_nobodys() -> None:
    assert of_buffer(buffers(0, 1), buffers(None, 1), at(10, 20), "min").tolist() == [NEVER, 20]


def test_an_unknown_time_hides_no_known_one() -> None:
    work, rows = buffers(1, 2), buffers(1, 1, 2)
    times = at(NEVER, 10, NEVER)
    assert of_buffer(work, rows, times, "min").tolist() == [10, NEVER]
    assert of_buffer(work, rows, times, "max").tolist() == [10, NEVER]


@pytest.mark.parametrize("rows", [buffers(), buffers(None)])
def test_a_table_that_knows_no_buffer_finds_nothing(rows: pd.DataFrame) -> None:
    assert of_buffer(buffers(1, 2), rows, at(*range(len(rows))), "max").tolist() == [NEVER, NEVER]


def test_no_work_finds_nothing() -> None:
    assert of_buffer(buffers(), buffers(1), at(5), "min").tolist() == []


def test_the_given_tables_and_times_stay_as_they_are() -> None:
    work, rows, times = buffers(2, 1), buffers(2, 1), at(9, 8)
    of_buffer(work, rows, times, "max")
    assert times.tolist() == [9, 8]
    assert rows["command_buffer"].tolist() == work["command_buffer"].tolist() == [2, 1]


@pytest.mark.parametrize("dtype", ["Int64", "int64[pyarrow]"])
def test_a_null_moment_is_never(dtype: str) -> None:
    column = pd.Series([1, None, 2**62 + 1], dtype=dtype)
    assert moments(column).tolist() == [1, NEVER, 2**62 + 1]
