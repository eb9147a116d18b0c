"""The tables of a capture, as flat ones.

Paths are cut to the names of files. Contents of buffers and sources have tables of their own, which
are made only if they are included.
"""

from collections.abc import Sequence

import pandas as pd

from tracekit.tables.captures.capture import FrameCapture
from tracekit.tables.captures.object_rows import OBJECT_TABLES
from tracekit.tables.captures.private_rows import PRIVATE_TABLES
from tracekit.tables.captures.row_tables import IDENTIFIER, INTEGER, Row, RowTable
from tracekit.tables.captures.work_rows import WORK_TABLES
from tracekit.tables.losses import Flaw, Loss

INCLUDABLE = tuple(PRIVATE_TABLES)
_LIMITS = {INTEGER: (-(2**63), 2**63), IDENTIFIER: (0, 2**64)}


def list_schemas(include: Sequence[str] = ()) -> list[str]:
    """Return the names of the tables of a capture, with those of included private data."""
    names = [*WORK_TABLES, *OBJECT_TABLES]
    for part in include:
        names += PRIVATE_TABLES.get(part, {})
    return names


def list_rows(capture: FrameCapture, schema: str) -> list[Row]:
    """Return the rows of a table of a capture; raise KeyError if there is no such table."""
    return list(_find_table(schema).list_rows(capture))


def _find_table(schema: str) -> RowTable:
    for tables in (WORK_TABLES, OBJECT_TABLES, *PRIVATE_TABLES.values()):
        if schema in tables:
            return tables[schema]
    raise KeyError(schema)


def make_frame(capture: FrameCapture, schema: str) -> tuple[pd.DataFrame, tuple[Loss, ...]]:
    """Return a table of a capture and the losses of reading it; raise KeyError if there is none."""
    columns = _find_table(schema).columns
    rows = list_rows(capture, schema)
    series: dict[str, pd.Series] = {}
    misfits: list[str] = []
    for name, dtype in columns.items():
        cells = [row[name] for row in rows]
        if dtype in _LIMITS:
            fitting_cells = _fit(cells, dtype)
            if fitting_cells != cells:
                misfits.append(name)
            cells = fitting_cells
        series[name] = pd.Series(cells, dtype=dtype)
    losses = list(capture.losses)
    if misfits:
        text = f"{capture.name}: {schema} has numbers that are too large: {', '.join(misfits)}."
        losses.append(Loss(Flaw.CHANGED, text, schema=schema, columns=tuple(misfits)))
    return pd.DataFrame(series), tuple(losses)


def _fit(cells: Sequence[int | None], dtype: str) -> list[int | None]:
    """Return integers with null for those that the dtype cannot hold."""
    smallest, limit = _LIMITS[dtype]
    fitting_cells: list[int | None] = []
    for cell in cells:
        if cell is not None and smallest <= cell < limit:
            fitting_cells.append(cell)
        else:
            fitting_cells.append(None)
    return fitting_cells
