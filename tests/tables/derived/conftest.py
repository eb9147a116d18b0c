"""Literal tables, and the joins that are made of them."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from tracekit.tables.joins import made
from tracekit.tables.normalize import dtype_of
from tracekit.tables.schema import Kind
from tracekit.tables.schemas import SCHEMAS

Row = dict[str, Any]


def literal(table: str, *rows: Row) -> pd.DataFrame:
    """Make a table with all of its columns; what a row leaves out is null."""
    columns: dict[str, Any] = {}
    for column in SCHEMAS[table].columns:
        nothing = False if column.kind is Kind.TARGET else pd.NA
        dtype = "int64" if column.kind is Kind.TIME else dtype_of(column.kind)
        columns[column.name] = pd.array([row.get(column.name, nothing) for row in rows], dtype)
    return pd.DataFrame(columns)


@pytest.fixture
def joined() -> Callable[..., tuple[pd.DataFrame, list[str]]]:
    """Join tables, given as lists of rows, into the one of that name."""

    def make(name: str, **tables: list[Row]) -> tuple[pd.DataFrame, list[str]]:
        schema = SCHEMAS[name]
        assert schema.join is not None
        frames = {table: literal(table, *rows) for table, rows in tables.items()}
        frame, warnings = made(schema, schema.join, frames)
        declared = [column.name for column in schema.columns]
        assert list(frame)[: len(declared)] == declared
        assert bool(schema.more) or len(declared) == len(frame.columns)
        for column in schema.columns:
            expected = "int64" if column.kind is Kind.TIME else dtype_of(column.kind)
            assert frame[column.name].dtype == expected, column.name
        return frame, warnings

    return make


@pytest.fixture
def values() -> Callable[[pd.DataFrame, str], list[Any]]:
    """Return a column's values, with None for null."""
    return lambda frame, name: [None if pd.isna(one) else one for one in frame[name]]
