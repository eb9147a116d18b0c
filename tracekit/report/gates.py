"""How many rows each table has that metrics and rules make use of."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pandas as pd

from tracekit.analysis.analyze import used_tables
from tracekit.analysis.intervals import Window
from tracekit.report.panel import Tables
from tracekit.report.phases import marked_window
from tracekit.report.rows import of_target, rows
from tracekit.report.sources import of_table
from tracekit.tables.schemas import SCHEMAS


@dataclass(frozen=True)
class Gate:
    """How many rows a table has.

    Attributes:
        table: Its name.
        rows: How many there are, of whatever process; None where there is no table.
        own: How many are the target's; None for tables whose rows name no process.
        steady: How many of those began or lasted within the steady window; None without one.
        source: Where its times come from.
        absence: Why there are no rows; empty where there are some.
    """

    table: str
    rows: int | None
    own: int | None = None
    steady: int | None = None
    source: str = ""
    absence: str = ""

    @property
    def empty(self) -> bool:
        """Whether the table was recorded and has nothing of the target."""
        return self.rows == 0 or (self.rows is not None and self.own == 0)


def gates(tables: Tables) -> list[Gate]:
    """Return a gate for each table that metrics and rules use, in the order of the schemas."""
    return list(_gates(tables, marked_window(tables)))


def _gates(tables: Tables, window: Window | None) -> Iterator[Gate]:
    used = used_tables()
    for name in SCHEMAS:
        if name in used:
            yield _gate(tables, name, window)


def _gate(tables: Tables, name: str, window: Window | None) -> Gate:
    found = rows(tables, name)
    if found.absence:
        return Gate(name, 0 if _recorded(tables, name) else None, absence=found.absence)
    counted = found.frame
    names_process = any(column.name == "target" for column in SCHEMAS[name].columns)
    if names_process:
        counted = of_target(tables, name).frame
    return Gate(
        name,
        len(found.frame),
        len(counted) if names_process else None,
        None if window is None else _within(counted, window),
        of_table(tables, name),
    )


def _recorded(tables: Tables, name: str) -> bool:
    try:
        return tables[name].empty
    except Exception:  # noqa: BLE001  whatever keeps it from being read, its absence says
        return False


def _within(frame: pd.DataFrame, window: Window) -> int:
    """Count the rows that began or lasted within the window."""
    at = "start" if "start" in frame else "time"
    starts = pd.to_numeric(frame[at]).to_numpy(dtype=np.float64, na_value=np.nan)
    ends = starts.copy()
    if "duration" in frame:
        ends += pd.to_numeric(frame["duration"]).to_numpy(dtype=np.float64, na_value=0.0)
    return int(((starts < window.end) & (ends >= window.start)).sum())
