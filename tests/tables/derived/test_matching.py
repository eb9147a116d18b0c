"""Rows find the one row with their key, or none."""

import numpy as np
import pandas as pd
import pytest

from tracekit.tables.joins import match

MOST = 2**64 - 2


def ids(*values: int | None) -> pd.Series:
    return pd.Series(pd.array(values, dtype="UInt64"))


def words(*values: str | None) -> pd.Series:
    return pd.Series(pd.array(values, dtype="string"))


@pytest.mark.parametrize(
    ("own", "others", "places", "ambiguous"),
    [
        ((1, 2, 3), (3, 1), [1, -1, 0], 0),
        ((1, 1, 1), (1,), [0, 0, 0], 0),
        ((1, 2), (1, 1, 2), [-1, 2], 1),
        ((None, 2), (None, 2), [-1, 1], 0),
        ((0, None), (None, 0), [1, -1], 0),
        ((MOST, 2**53 + 1), (2**53, MOST), [1, -1], 0),
        ((), (1,), [], 0),
        ((1,), (), [-1], 0),
        ((None,), (None,), [-1], 0),
    ],
)
def test_a_key_of_one_column(
    own: tuple[int | None, ...],
    others: tuple[int | None, ...],
    places: list[int],
    ambiguous: int,
) -> None:
    found = match([ids(*own)], [ids(*others)])
    assert found.places.tolist() == places
    assert found.ambiguous == ambiguous
    assert found.found == sum(place >= 0 for place in places)
    assert found.there == len(others)


def test_a_key_of_two_columns_matches_only_as_a_whole() -> None:
    own = [ids(1, 1, 2, None, 1), ids(7, 8, 7, 7, None)]
    others = [ids(2, 1, 1, None), ids(7, 7, 9, 7)]
    assert match(own, others).places.tolist() == [1, -1, 0, -1, -1]


@pytest.mark.parametrize("several", [False, True])
def test_many_keys_match_as_a_dictionary_does(several: bool) -> None:
    random = np.random.default_rng(4)
    own = random.integers(0, 500, (2, 4_000)).astype("uint64")
    other = random.integers(0, 500, (2, 3_000)).astype("uint64")
    if not several:
        other = np.unique(other, axis=1)
    table: dict[tuple[int, ...], list[int]] = {}
    for place, key in enumerate(zip(*other.tolist(), strict=True)):
        table.setdefault(key, []).append(place)
    expected = [table.get(key, []) for key in zip(*own.tolist(), strict=True)]
    found = match([ids(*one.tolist()) for one in own], [ids(*one.tolist()) for one in other])
    assert found.places.tolist() == [one[0] if len(one) == 1 else -1 for one in expected]
    assert found.ambiguous == sum(len(one) > 1 for one in expected)


@pytest.mark.parametrize(
    ("column", "expected", "dtype"),
    [
        (words("a", "b"), ["b", None, "a"], "string"),
        (pd.Series([5, 6]), [6, None, 5], "Int64"),
        (ids(MOST, 2), [2, None, MOST], "UInt64"),
        (pd.Series(pd.array([True, None], dtype="boolean")), [None, None, True], "boolean"),
        (pd.Series([True, False]), [False, None, True], "boolean"),
    ],
)
def test_what_the_counterpart_has_is_taken_and_null_where_there_is_none(
    column: pd.Series, expected: list[object], dtype: str
) -> None:
    taken = match([ids(2, 3, 1)], [ids(1, 2)]).take(column)
    assert [None if pd.isna(one) else one for one in taken] == expected
    assert taken.dtype == dtype


def test_what_did_not_match_is_said() -> None:
    assert match([ids(1, 2)], [ids(3)]).said("rows", "things") == (
        "none of the 2 rows has its id in things",
    )
    assert match([ids(1, 2)], [ids(1)]).said("rows", "things") == ()
    assert match([ids(1, 2)], [ids()]).said("rows", "things") == ()
    assert match([ids(None)], [ids(1)]).said("rows", "things") == ()
    assert match([ids(1, 1, 2)], [ids(1, 1)]).said("rows", "things") == (
        "2 rows have several rows in things, and take none of them",
    )
    assert match([ids(1, 2)], [ids(3)]).doubts("rows", "things") == ()
