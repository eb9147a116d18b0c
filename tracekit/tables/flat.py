"""Any export as one flat table: a row for a row, a column for each mnemonic, in order.

`tracekit.tables.layout` says which columns there are, `tracekit.tables.values` which dtypes,
`tracekit.tables.place` which table is taken where there are several.
"""

import warnings
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd
import pyarrow as pa

from tracekit.tables.direct import TableRef
from tracekit.tables.drift import DamagedExportWarning, DriftWarning, ExportWarning, ReadNotes
from tracekit.tables.exports import contents_beside
from tracekit.tables.layout import Layout
from tracekit.tables.place import OPEN, Choice
from tracekit.tables.selection import ReaderName, Selection, read_pieces
from tracekit.tables.toc import Toc
from tracekit.tables.xml.node import Node, Symbols, no_symbols


@dataclass(frozen=True, eq=False)
class Flat:
    """A flat table in memory; `symbols` holds the stacks that the columns NAME.stack number."""

    frame: pd.DataFrame
    notes: ReadNotes = field(default_factory=ReadNotes)
    symbols: Symbols = field(default_factory=no_symbols)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(map(str, self.frame.columns))

    def part(self, columns: Collection[str] | None = None) -> pd.DataFrame:
        """Return some columns, in the table's order; without names all of them."""
        return self.frame[[name for name in self.names if columns is None or name in columns]]


def read_table(
    path: Path | str,
    schema: str | None = None,
    *,
    table: int | None = None,
    run: int | None = None,
) -> pd.DataFrame:
    """Read one table of an export.

    Args:
        path: What `xctrace export --xpath` wrote, or the host recorder.
        schema: Which table; needed only where the file has several.
        table: The table's place in the table of contents, where a schema occurs repeatedly.
        run: Its run, where there are several.

    Returns:
        One row for each row. Of a damaged export the rows before the damage.

    Raises:
        InputError: The file is no export, or has several tables, or not this one.

    Warns:
        DamagedExportWarning: The export is cut or damaged; rows are missing.
        DriftWarning: A column holds what its declared type does not allow, and is text.
        ExportWarning: Other tables of the schema were left out: they have no rows.
    """
    path = Path(path)
    flat = read_flat(path, schema, contents_beside(path), Choice(run, table))
    for category, said in (
        (DamagedExportWarning, flat.notes.damage),
        (DriftWarning, flat.notes.drift),
        (ExportWarning, flat.notes.remarks),
    ):
        for message in said:
            warnings.warn(str(message), category, stacklevel=2)
    return flat.frame


def read_flat(
    ref: TableRef,
    schema: str | None = None,
    toc: Toc | None = None,
    choice: Choice = OPEN,
    only: ReaderName | None = None,
) -> Flat:
    """Read one table like `read_table`, and return the warnings instead of issuing them.

    `only` names the one reader to use, as `read_pieces` takes it.
    """
    gathered = _Gathered()
    selection = Selection(ref, gathered, schema, choice, toc)
    symbols = read_pieces(ref, selection, toc, only)
    selection.finish()
    layout = gathered.layout
    assert layout is not None
    frame = layout.frame(pa.concat_tables(gathered.pieces))
    return Flat(frame, selection.notes(layout.drift), symbols)


class _Gathered:
    def begin(self) -> None:
        self.layout: Layout | None = None
        self.pieces: list[pa.Table] = []

    def take(self, piece: Node) -> None:
        self.layout = self.layout or Layout(piece)
        self.pieces.append(self.layout.take(piece))
