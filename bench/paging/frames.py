"""Tables in memory, typed as the reader types them."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.tables.joins import make_table
from tracekit.tables.schema import ColumnKind
from tracekit.tables.schemas import SCHEMAS

Times = NDArray[np.int64]
_TYPES = {
    ColumnKind.TIME: "int64",
    ColumnKind.DURATION: "Int64",
    ColumnKind.INSTANT: "Int64",
    ColumnKind.INTEGER: "Int64",
    ColumnKind.IDENTIFIER: "UInt64",
    ColumnKind.NUMBER: "Float64",
    ColumnKind.FLAG: "boolean",
    ColumnKind.TARGET: "bool",
}


class Made(Mapping[str, pd.DataFrame]):
    """Tables in memory, and those that are joins of them, made when somebody asks."""

    def __init__(self, frames: Mapping[str, pd.DataFrame]) -> None:
        self._frames = dict(frames)

    def __getitem__(self, name: str) -> pd.DataFrame:
        """Return a table; raise KeyError where there is none."""
        join = SCHEMAS[name].join if name in SCHEMAS else None
        if name not in self._frames and join is not None:
            try:
                self._frames[name] = make_table(SCHEMAS[name], join, self)[0]
            except KeyError as missing:
                raise KeyError(name) from missing
        return self._frames[name].copy(deep=False)

    def __iter__(self) -> Iterator[str]:
        """Iterate over the tables that are there so far."""
        return iter(self._frames)

    def __len__(self) -> int:
        """Count the tables that are there so far."""
        return len(self._frames)


def frame(table: str, count: int, **columns: Any) -> pd.DataFrame:
    """Return `count` rows of a table; what is given once stands in all, what is not is null."""
    values = {"clock": "gpu", **columns}
    found: dict[str, Any] = {}
    for column in SCHEMAS[table].columns:
        kind = _TYPES.get(column.kind, "string")
        given = values.get(column.name, False if kind == "bool" else pd.NA)
        whole = np.full(count, given, object) if np.isscalar(given) or given is pd.NA else given
        found[column.name] = pd.Series(whole, dtype=kind)
    return pd.DataFrame(found)


def ticks(nanoseconds: NDArray[Any]) -> Times:
    """Put times on the ticks of a clock of 24 MHz, as xctrace writes them in ns."""
    counted = np.round(np.asarray(nanoseconds) * 3 / 125).astype(np.int64)
    return counted * 125 // 3
