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

from tracekit.tables.bundle.cells.encodings import Said
from tracekit.tables.direct import shown
from tracekit.tables.drift import DamagedExportWarning, DriftWarning, ExportWarning
from tracekit.tables.exports import contents_beside
from tracekit.tables.layout import Layout
from tracekit.tables.place import OPEN, Choice
from tracekit.tables.reading import ReaderName, read_pieces
from tracekit.tables.selection import Selection
from tracekit.tables.toc.toc import Toc
from tracekit.tables.xml.node import Node, Symbols, no_symbols


@dataclass(frozen=True, eq=False)
class Flat:
    """A flat table, and what its reader has to say: `damage` and `drift`, in words.

    `symbols` holds the stacks that the columns NAME.stack number. `reader` is the one that
    served; where it was not the fast one, `irregularity` says why. `remarks` names tables that
    were left out because they have no rows.
    """

    frame: pd.DataFrame
    damage: tuple[str, ...] = ()
    drift: tuple[str, ...] = ()
    remarks: tuple[Said, ...] = ()
    symbols: Symbols = field(default_factory=no_symbols)
    reader: ReaderName = "exact"
    irregularity: str = ""

    @property
    def said(self) -> tuple[Said, ...]:
        """What the reader had to say."""
        return (*self.damage, *self.drift, *self.remarks)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all columns."""
        return tuple(map(str, self.frame.columns))

    def part(self, columns: Collection[str] | None = None) -> pd.DataFrame:
        """Return some columns, in the table's order; without names all of them."""
        wanted = [name for name in self.names if columns is None or name in columns]
        return self.frame[wanted]


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
    for message in flat.damage:
        warnings.warn(message, DamagedExportWarning, stacklevel=2)
    for message in flat.drift:
        warnings.warn(message, DriftWarning, stacklevel=2)
    for message in flat.remarks:
        warnings.warn(str(message), ExportWarning, stacklevel=2)
    return flat.frame


def read_flat(
    path: Path,
    schema: str | None = None,
    toc: Toc | None = None,
    choice: Choice = OPEN,
    only: ReaderName | None = None,
) -> Flat:
    """Read one table like `read_table`, and return the warnings instead of issuing them.

    `only` names the one reader to use, as `read_pieces` takes it.
    """
    gathered = _Gathered()
    selection = Selection(path, gathered, schema, choice, toc)
    reading = read_pieces(path, selection, toc, only)
    selection.finish()
    return Flat(
        frame=gathered.frame(),
        damage=selection.damage,
        drift=tuple(f"{shown(path)}: {message}" for message in gathered.drift),
        remarks=selection.remarks,
        symbols=reading.symbols,
        reader=reading.reader,
        irregularity=reading.irregularity,
    )


class _Gathered:
    """A table in memory."""

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        self._layout: Layout | None = None
        self._pieces: list[pa.Table] = []

    def take(self, piece: Node) -> None:
        if self._layout is None:
            self._layout = Layout(piece)
        self._pieces.append(self._layout.take(piece))

    @property
    def drift(self) -> tuple[str, ...]:
        return self._layout.drift if self._layout else ()

    def frame(self) -> pd.DataFrame:
        assert self._layout is not None
        return self._layout.frame(pa.concat_tables(self._pieces))
