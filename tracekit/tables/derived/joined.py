"""What a join returns, and how it becomes a table with declared columns."""

from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from tracekit.tables.normalize import dtype_of
from tracekit.tables.schema import Kind, Schema


@dataclass(frozen=True, eq=False)
class Joined:
    """The columns of a table that was made of others, and what is to be said about it."""

    columns: Mapping[str, pd.Series]
    warnings: tuple[str, ...] = ()


def conformed(joined: Joined, schema: Schema) -> pd.DataFrame:
    """Return the table with the schema's columns, in order and with their dtypes.

    Further columns are kept behind them where the schema says that there are `more`.
    """
    rows = max((len(one) for one in joined.columns.values()), default=0)
    index = pd.RangeIndex(rows)
    columns: dict[str, pd.Series] = {}
    for column in schema.columns:
        dtype = pd.api.types.pandas_dtype(
            "int64" if column.kind is Kind.TIME else dtype_of(column.kind)
        )
        values = joined.columns.get(column.name)
        columns[column.name] = (
            pd.Series(pd.NA, index=index, dtype=dtype)
            if values is None
            else (values if values.dtype == "string" else values.astype(dtype)).set_axis(index)
        )
    if schema.more:
        names = [name for name in joined.columns if name not in columns]
        columns |= {name: joined.columns[name].set_axis(index) for name in names}
    return pd.DataFrame(columns, index=index)
