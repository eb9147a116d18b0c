"""Literal tables, as texts with a line for a row, and the joins that are made of them."""

from ast import literal_eval
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pandas as pd
import pytest

from tracekit.tables.joins import made
from tracekit.tables.normalize import dtype_of
from tracekit.tables.schema import Kind
from tracekit.tables.schemas import SCHEMAS


def parsed(text: str) -> list[list[str]]:
    """Split lines into cells, at each bar if there are any, else at blanks."""
    between = "|" if "|" in text else None
    lines = text.strip().splitlines()
    return [[cell.strip() for cell in line.strip().split(between)] for line in lines]


def value(cell: str) -> Any:
    """Read a cell: a number, a truth, null for a dash, else a text."""
    if cell == "-":
        return pd.NA
    with suppress(ValueError, SyntaxError):
        return literal_eval(cell)
    return cell


def literal(table: str, text: str) -> pd.DataFrame:
    """Make a table with all of its columns; those that the text does not name are null."""
    names, *rows = parsed(text)
    columns: dict[str, Any] = {}
    for column in SCHEMAS[table].columns:
        nothing = "False" if column.kind is Kind.TARGET else "-"
        cells = [dict(zip(names, row, strict=True)).get(column.name, nothing) for row in rows]
        dtype = "int64" if column.kind is Kind.TIME else dtype_of(column.kind)
        columns[column.name] = pd.array([*map(value, cells)], dtype)
    return pd.DataFrame(columns)


@pytest.fixture
def joined() -> Callable[..., tuple[pd.DataFrame, list[str]]]:
    """Join tables, given as texts, into the one of that name."""

    def make(name: str, **tables: str) -> tuple[pd.DataFrame, list[str]]:
        schema = SCHEMAS[name]
        assert schema.join is not None
        frames = {table: literal(table, text) for table, text in tables.items()}
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
def holds() -> Callable[[pd.DataFrame, str], bool]:
    """Tell whether a frame holds just these rows in these columns; a failure shows both."""

    def check(frame: pd.DataFrame, text: str) -> bool:
        names, *rows = parsed(text)
        found = frame[names].astype(object).where(frame[names].notna(), "-").map(str)
        assert found.to_numpy().tolist() == rows
        return True

    return check
