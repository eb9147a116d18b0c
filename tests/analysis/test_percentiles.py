"""Percentiles by group, against numpy's, one group at a time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.analysis.intervals import grouped

PERCENTS = (0, 1, 50, 95, 99, 99.9, 100)
coded = st.lists(st.tuples(st.integers(0, 5), st.integers(-(2**40), 2**40)), max_size=40)


def arrays(pairs: list[tuple[int, int]]) -> tuple[np.ndarray, np.ndarray]:
    both = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]


@given(coded)
def test_each_group_has_what_numpy_says_of_it(pairs: list[tuple[int, int]]) -> None:
    codes, values = arrays(pairs)
    found = grouped(codes, values, PERCENTS)
    assert found.codes.tolist() == sorted(set(codes.tolist()))
    for row, code in enumerate(found.codes):
        own = values[codes == code]
        assert found.counts[row] == own.size
        assert found.totals[row] == own.sum()
        assert found.percentiles[row].tolist() == np.percentile(own, PERCENTS).tolist()


@pytest.mark.parametrize("huge", [1, 2**62])
def test_codes_and_values_need_not_fit_into_one_number(huge: int) -> None:
    found = grouped(*arrays([(huge, 7), (0, 2**62), (huge, -(2**61)), (0, 0), (0, 1)]), [50])
    assert found.codes.tolist() == [0, huge]
    assert found.counts.tolist() == [3, 2]
    assert found.totals.tolist() == [2**62 + 1, 7 - 2**61]
    assert found.percentiles.tolist() == [[1.0], [(7 - 2**61) / 2]]


def test_a_percentile_between_two_ranks_is_linear() -> None:
    found = grouped(*arrays([(3, 10), (3, 20), (3, 30), (3, 40)]), [50, 95])
    assert found.percentiles.tolist() == [[25.0, 38.5]]


def test_no_values_are_no_groups() -> None:
    found = grouped(*arrays([]), PERCENTS)
    assert (found.codes.size, found.counts.size, found.totals.size) == (0, 0, 0)
    assert found.percentiles.shape == (0, len(PERCENTS))


def test_the_callers_arrays_stay_as_they_are() -> None:
    codes, values = arrays([(2, 9), (1, 4), (2, 3)])
    grouped(codes, values, [50])
    assert codes.tolist() == [2, 1, 2]
    assert values.tolist() == [9, 4, 3]
