"""Tables of literal rows, with all the columns and types that their readers give them."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from tracekit.tables.normalize import dtype_of
from tracekit.tables.schema import ColumnKind
from tracekit.tables.schemas import SCHEMAS


def frame(table: str, rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Make a table; what a row does not say is null, and "target" is false."""
    rows = list(rows)
    columns = {}
    for column in SCHEMAS[table].columns:
        missing = False if column.kind is ColumnKind.TARGET else pd.NA
        values = [row.get(column.name, missing) for row in rows]
        dtype = "int64" if column.kind is ColumnKind.TIME else dtype_of(column.kind)
        columns[column.name] = pd.array(values, dtype=dtype)
    return pd.DataFrame(columns)


def frames(**tables: Iterable[Mapping[str, Any]]) -> dict[str, pd.DataFrame]:
    return {name: frame(name, rows) for name, rows in tables.items()}
