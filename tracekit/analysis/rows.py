"""The rows of a table of a run, or the reason why there are none."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.scope import own_rows
from tracekit.base import TracekitError
from tracekit.tables import SCHEMAS


@dataclass(frozen=True)
class Rows:
    """The rows of a table; `absence` is the reason if there are none, and empty otherwise.

    `is_known` distinguishes an empty table from a missing one.
    """

    table: str
    frame: pd.DataFrame
    absence: str = ""
    is_known: bool = True

    @property
    def clock(self) -> str:
        """The clock of the times: "gpu", "host", or "" if it is not known."""
        if self.frame.empty or "clock" not in self.frame:
            return ""
        clocks = self.frame["clock"].dropna().unique()
        return " and ".join(sorted(map(str, clocks)))

    def of_target(self) -> "Rows":
        """Return the rows that belong to the target, of a table whose rows have processes."""
        if self.absence:
            return self
        target_rows = own_rows(self.frame)
        absence = ""
        if target_rows.empty:
            absence = f"none of the {len(self.frame):,} rows of {self.table} belongs to the target"
        return Rows(self.table, target_rows, absence)


def rows(tables: Mapping[str, Any], name: str) -> Rows:
    """Return the rows of the table `name`, whether or not the recording has it."""
    try:
        frame = tables[name]
    except KeyError:
        absence = f"the recording has no table {name}"
    except TracekitError as error:
        absence = f"the table {name} cannot be read: {error.message}"
    except Unavailable as reason:
        absence = str(reason)
    else:
        if not frame.empty:
            return Rows(name, frame)
        return Rows(name, _make_empty_frame(name).copy(deep=False), f"the table {name} has no rows")
    return Rows(name, _make_empty_frame(name).copy(deep=False), absence, is_known=False)


@cache  # a page asks for some two hundred tables that its recording lacks
def _make_empty_frame(name: str) -> pd.DataFrame:
    if name not in SCHEMAS:
        return pd.DataFrame(columns=[])
    return pd.DataFrame(columns=[column.name for column in SCHEMAS[name].columns])
