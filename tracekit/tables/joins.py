"""Joins of tables that never repeat a row, and report the rows that they could not match."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar, get_args

from tracekit.base import InputError
from tracekit.tables.lazy import np, pd
from tracekit.tables.losses import Flaw, Loss
from tracekit.tables.normalize import dtype_of
from tracekit.tables.schema import ColumnKind, Schema

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.intp]


@dataclass(frozen=True)
class Asked:
    """The names of the tables that a join requires, and of those that it uses if they are there.

    `columns` are those that it reads of some of them, by table; of the others it reads all.
    """

    required: tuple[str, ...]
    optional: tuple[str, ...]
    columns: Mapping[str, tuple[str, ...]]


_Join = TypeVar("_Join", bound=Callable[..., Any])
_columns_by_join: dict[Callable[..., Any], Mapping[str, tuple[str, ...]]] = {}


def reads(**columns: tuple[str, ...]) -> Callable[[_Join], _Join]:
    """Declare the columns that a join reads of tables, so that others need not be in memory."""

    def declare(join: _Join) -> _Join:
        _columns_by_join[join] = columns
        return join

    return declare


@cache
def read_inputs(join: Callable[..., Any]) -> Asked:
    """Read the inputs of a join from its signature."""
    required: list[str] = []
    optional: list[str] = []
    for name, parameter in inspect.signature(join).parameters.items():
        if _is_optional(parameter.annotation):
            optional.append(name)
        else:
            required.append(name)
    return Asked(tuple(required), tuple(optional), _columns_by_join.get(join, {}))


def _is_optional(annotation: object) -> bool:
    if isinstance(annotation, str):  # evaluating it would import pandas
        return annotation.endswith("| None")
    return type(None) in get_args(annotation)


@dataclass(frozen=True, eq=False)
class Joined:
    """The columns of a table that was made of others, and warnings about it."""

    columns: Mapping[str, pd.Series]
    warnings: tuple[str, ...] = ()


def conform_table(joined: Joined, schema: Schema) -> pd.DataFrame:
    """Return the table with the columns of the schema, in order and with their dtypes.

    Further columns follow them if the schema allows `more`.
    """
    column_sizes = map(len, joined.columns.values())
    rows = max(column_sizes, default=0)
    index = pd.RangeIndex(rows)
    columns: dict[str, pd.Series] = {}
    for column in schema.columns:
        dtype_name = dtype_of(column.kind)
        if column.kind is ColumnKind.TIME:
            dtype_name = "int64"
        dtype = pd.api.types.pandas_dtype(dtype_name)
        values = joined.columns.get(column.name)
        if values is None:
            columns[column.name] = pd.Series(pd.NA, index=index, dtype=dtype)
            continue
        if values.dtype != "string":
            values = values.astype(dtype)
        columns[column.name] = values.set_axis(index)
    if schema.more:
        for name, values in joined.columns.items():
            if name not in columns:
                columns[name] = values.set_axis(index)
    return pd.DataFrame(columns, index=index)


@dataclass(frozen=True, eq=False)
class Match:
    """The `places` of the rows of one table in another; -1 for none, and for one of several.

    `key_count` rows have a key at all; `ambiguous` of them have several counterparts, and so none.
    The other table has `there` rows.
    """

    places: Places
    key_count: int
    ambiguous: int
    there: int

    @property
    def match_count(self) -> int:
        """The number of rows that have a counterpart."""
        return int((self.places >= 0).sum())

    def take(self, column: pd.Series) -> pd.Series:
        """Return the value of the counterpart of each row; null if it has none."""
        dtypes = {"int64": pd.Int64Dtype(), "bool": pd.BooleanDtype()}
        nullable = dtypes.get(str(column.dtype), column.dtype)
        nullable_column = column.astype(nullable)
        return pd.Series(nullable_column.array.take(self.places, allow_fill=True))

    def describe_mismatches(self, rows: str, other_table: str) -> tuple[str, ...]:
        """Return a warning if nothing matches, or if matches are ambiguous."""
        has_rows = self.key_count and self.there
        if has_rows and not self.match_count and not self.ambiguous:
            return (f"none of the {self.key_count:,} {rows} has its id in {other_table}",)
        return self.doubts(rows, other_table)

    def doubts(self, rows: str, other_table: str) -> tuple[str, ...]:
        """Return a warning if matches are ambiguous."""
        if not self.ambiguous:
            return ()
        return (
            f"{self.ambiguous:,} {rows} have several rows in {other_table}, and take none of them",
        )


def match(rows: Sequence[pd.Series], other_rows: Sequence[pd.Series]) -> Match:
    """Match rows by a key of one or more columns; a key with a null in it matches nothing."""
    row_keys = pd.DataFrame(dict(enumerate(rows)))
    other_keys = pd.DataFrame(dict(enumerate(other_rows)))
    keys = pd.concat([row_keys, other_keys], ignore_index=True)
    groups = keys.groupby(list(keys), sort=False).ngroup()
    codes = groups.fillna(-1).to_numpy(np.int64)
    row_codes = codes[: len(row_keys)]
    other_codes = codes[len(row_keys) :]
    keyed_places = np.flatnonzero(other_codes >= 0)
    keyed_codes = other_codes[keyed_places]
    # For each key, the place of its last row in the other table and the count of its rows there.
    # The code -1 of a row without a key reads one entry more, the last: no place, and no rows.
    key_limit = int(codes.max(initial=-1)) + 1
    last_places = np.full(key_limit + 1, -1)
    last_places[keyed_codes] = keyed_places
    counts = np.bincount(keyed_codes, minlength=key_limit + 1)
    row_counts = counts[row_codes]
    places = np.where(row_counts == 1, last_places[row_codes], -1)
    key_count = int((row_codes >= 0).sum())
    ambiguous = int((row_counts > 1).sum())
    return Match(places, key_count, ambiguous, len(other_codes))


def distinct(frame: pd.DataFrame, keys: Sequence[str], values: Sequence[str]) -> pd.DataFrame:
    """Return keys with their values, each once; equal rows do not contradict each other."""
    part = frame[[*keys, *values]]
    repeated = part.duplicated(list(keys)).any()
    if repeated:
        return part.drop_duplicates(ignore_index=True)
    return part


MadeFrame = tuple["pd.DataFrame", list[Loss]]
_Table = TypeVar("_Table", bound=Sized)


def first_with_rows(
    name: str, ways: Sequence[Callable[[], tuple[_Table, list[Loss]]]]
) -> tuple[_Table, list[Loss]]:
    """Return the table of the first way that gives rows.

    If none does, the first readable table counts. An unreadable table is an error only if no other
    way is left.
    """
    empty_table: _Table | None = None
    losses: list[Loss] = []
    for place, way in enumerate(ways, 1):
        try:
            table, more = way()
        except InputError as error:
            if place == len(ways) and empty_table is None:
                raise
            loss = Loss(Flaw.NOTED, f"{name}: {error.message}", table=name)
            losses.append(loss)
            continue
        losses += more
        if len(table):
            return table, losses
        if empty_table is None:
            empty_table = table
    assert empty_table is not None, "there is at least one way"
    return empty_table, losses


def make_table(
    schema: Schema, join: Callable[..., Any], tables: Mapping[str, pd.DataFrame]
) -> MadeFrame:
    """Return the table that `join` makes, and its losses."""
    names = read_inputs(join)
    losses = list[Loss]()
    arguments: dict[str, pd.DataFrame | None] = {name: tables[name] for name in names.required}
    for name in names.optional:
        try:
            arguments[name] = tables.get(name)
        except InputError as error:
            arguments[name] = None
            text = f"{schema.name} does without {name}: {error.message}"
            loss = Loss(Flaw.UNSURE, text, table=schema.name)
            losses.append(loss)
    joined: Joined = join(**arguments)
    for warning in joined.warnings:
        text = f"{schema.name}: {warning}"
        losses.append(Loss(Flaw.UNSURE, text, table=schema.name))
    return conform_table(joined, schema), losses
