"""Rows find the one row with their key, or none; a join is given the tables that it names."""

from collections.abc import Callable, Iterator, Mapping

import numpy as np
import pandas as pd
import pytest

from tracekit.base.errors import InputError
from tracekit.tables.joins import Joined, first_with_rows, make_table, match
from tracekit.tables.losses import Flaw, Loss
from tracekit.tables.schema import Column, ColumnKind, Schema
from tracekit.tables.schemas import SCHEMAS

MOST = 2**64 - 2
SEVERAL = "2 rows have several rows in things, and take none of them"


def ids(*values: int | None) -> pd.Series:
    return pd.Series(pd.array(values, dtype="UInt64"))


def test_a_key_finds_one_row_and_mismatches_are_reported(subtests: pytest.Subtests) -> None:
    for own_keys, other_keys, places, ambiguous, remarks in (
        ((1, 2, 3), (3, 1), [1, -1, 0], 0, ()),
        ((1, 1, 1), (1,), [0, 0, 0], 0, ()),
        ((1, 2), (1, 1, 2), [-1, 2], 1, (SEVERAL.replace("2", "1"),)),
        ((1, 1, 2), (1, 1), [-1, -1, -1], 2, (SEVERAL,)),
        ((None, 2), (None, 2), [-1, 1], 0, ()),
        ((0, None), (None, 0), [1, -1], 0, ()),
        ((MOST, 2**53 + 1), (2**53, MOST), [1, -1], 0, ()),
        ((), (1,), [], 0, ()),
        ((1, 2), (), [-1, -1], 0, ()),
        ((None,), (None,), [-1], 0, ()),
        ((None,), (1,), [-1], 0, ()),
        ((1, 2, None), (3,), [-1] * 3, 0, ("none of the 2 rows has its id in things",)),
    ):
        with subtests.test(own=own_keys, others=other_keys):
            matching = match([ids(*own_keys)], [ids(*other_keys)])
            assert matching.places.tolist() == places
            assert (matching.ambiguous, matching.there) == (ambiguous, len(other_keys))
            assert matching.match_count == sum(place >= 0 for place in places)
            assert matching.describe_mismatches("rows", "things") == remarks
            assert matching.doubts("rows", "things") == (remarks if ambiguous else ())


def test_a_key_of_two_columns_matches_only_as_a_whole() -> None:
    own_keys = [ids(1, 1, 2, None, 1), ids(7, 8, 7, 7, None)]
    other_keys = [ids(2, 1, 1, None), ids(7, 7, 9, 7)]
    assert match(own_keys, other_keys).places.tolist() == [1, -1, 0, -1, -1]


@pytest.mark.parametrize("several", [False, True])
def test_many_keys_match_as_a_dictionary_does(several: bool) -> None:
    random = np.random.default_rng(4)
    own_keys = random.integers(0, 500, (2, 4_000)).astype("uint64")
    other_keys = random.integers(0, 500, (2, 3_000)).astype("uint64")
    if not several:
        other_keys = np.unique(other_keys, axis=1)
    table: dict[tuple[int, ...], list[int]] = {}
    for place, key in enumerate(zip(*other_keys.tolist(), strict=True)):
        table.setdefault(key, []).append(place)
    expected = [table.get(key, []) for key in zip(*own_keys.tolist(), strict=True)]
    matching = match([*map(pd.Series, own_keys)], [*map(pd.Series, other_keys)])
    assert matching.places.tolist() == [rows[0] if len(rows) == 1 else -1 for rows in expected]
    assert matching.ambiguous == sum(len(rows) > 1 for rows in expected)


def test_values_of_the_counterpart_are_taken_and_else_null() -> None:
    for column, expected, dtype in (
        (pd.Series(["a", "b"], dtype="string"), ["b", None, "a"], "string"),
        (pd.Series([5, 6]), [6, None, 5], "Int64"),
        (ids(MOST, 2), [2, None, MOST], "UInt64"),
        (pd.Series(pd.array([True, None], dtype="boolean")), [None, None, True], "boolean"),
        (pd.Series([True, False]), [False, None, True], "boolean"),
    ):
        taken_values = match([ids(2, 3, 1)], [ids(1, 2)]).take(column)
        assert [None if pd.isna(value) else value for value in taken_values] == expected
        assert taken_values.dtype == dtype, expected


class Shelf(Mapping[str, pd.DataFrame]):
    def __getitem__(self, name: str) -> pd.DataFrame:
        if name == "more":
            raise InputError("more.xml is no export.")
        return pd.DataFrame({"start": [1, 2]})

    def __iter__(self) -> Iterator[str]:
        yield from ("own", "more")

    def __len__(self) -> int:
        return 2


def test_a_join_skips_unreadable_tables_and_reports_them() -> None:
    def join(own: pd.DataFrame, more: pd.DataFrame | None) -> Joined:
        columns = {"start": own["start"]}
        return Joined(columns if more is None else columns | {"n": more["n"]}, ("it is so",))

    start, *_, clock = SCHEMAS["steps"].columns
    things = Schema(
        "things", "Things.", (), (start, Column("n", "", ColumnKind.INTEGER, "n"), clock)
    )
    frame, losses = make_table(things, join, Shelf())
    assert frame["n"].isna().tolist() == [True, True]
    without = "things does without more: more.xml is no export."
    assert [*map(str, losses)] == [without, "things: it is so"]


def rows(count: int, *texts: str) -> Callable[[], tuple[pd.DataFrame, list[Loss]]]:
    losses = [Loss(Flaw.NOTED, text) for text in texts]
    return lambda: (pd.DataFrame({"/".join(texts): range(count)}), losses)


def broken() -> tuple[pd.DataFrame, list[Loss]]:
    raise InputError("a.xml is no export.")


def test_the_first_way_that_gives_rows_counts() -> None:
    for ways, count, name, messages in (
        ([rows(0, "none"), rows(2, "two"), rows(3, "three")], 2, "two", ["none", "two"]),
        ([rows(0, "none"), rows(0)], 0, "none", ["none"]),
        ([broken, rows(1)], 1, "", ["t: a.xml is no export."]),
        ([rows(0), broken], 0, "", ["t: a.xml is no export."]),
    ):
        frame, losses = first_with_rows("t", ways)
        assert (len(frame), [*frame], [*map(str, losses)]) == (count, [name], messages)


def test_a_way_that_fails_is_an_error_if_there_is_no_other() -> None:
    for ways in ([broken], [broken, broken]):
        with pytest.raises(InputError, match=r"a\.xml is no export"):
            first_with_rows("t", ways)
