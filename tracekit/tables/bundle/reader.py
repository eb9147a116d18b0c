"""One table of a bundle, as the readers of exports give it."""

from collections.abc import Iterator
from functools import cached_property

import pyarrow as pa

from tracekit.tables.bundle.bundle import BundleRun
from tracekit.tables.bundle.cells import OutOfRangeError
from tracekit.tables.bundle.columns import Columns
from tracekit.tables.bundle.encodings import Evidence
from tracekit.tables.bundle.names import names_of
from tracekit.tables.bundle.records import read_records
from tracekit.tables.bundle.store import Store
from tracekit.tables.bundle.uniquer import DamagedArrayError
from tracekit.tables.xml.node import ColumnCells, Node
from tracekit.tables.xml.symbols import Symbols, no_symbols

_PIECE = 1 << 19
_SAID = {
    Evidence.INFERRED: "is read by an encoding that was never compared with an export",
    Evidence.RAW: "is of a type that is not known; it holds the numbers as they are stored",
    Evidence.NONE: "is left empty: how its type {tag} is stored is not known",
}


class BundleReader:
    """A reader of one table, in the order of an export."""

    def __init__(self, run: BundleRun, store: Store, xpath: str, number: int = 1) -> None:
        """Take the table, and the place that its pieces name as theirs."""
        self._run = run
        self._store = store
        self._xpath = xpath
        self._number = number

    def pieces(self) -> Iterator[Node]:
        """Yield the table in pieces of some 100,000 rows, in order.

        Raises:
            BundleError: The records, or what they name, are damaged.
        """
        columns = self._cells()
        rows, store = self._store.rows, self._store
        for first in range(0, max(rows, 1), _PIECE):
            count = min(_PIECE, rows - first)
            yield Node(
                schema=store.schema,
                xpath=self._xpath,
                columns=tuple(_part(one, first, count) for one in columns),
                rows=count,
                number=self._number,
                notes=self.notes,
            )

    def symbols(self) -> Symbols:
        """Return the stacks that the pieces have named so far."""
        return no_symbols()

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What is to be known of the columns, in words; nothing of a table without rows."""
        if not self._store.rows:
            return ()
        kinds = [(one, self._columns.type_of(one)) for one in self._store.columns]
        return tuple(
            f"{one.mnemonic} {_SAID[kind.evidence].format(tag=kind.tag)}"
            for one, kind in kinds
            if kind.evidence in _SAID
        )

    @cached_property
    def _columns(self) -> Columns:
        return Columns(self._run, names_of(self._run))

    def _cells(self) -> list[ColumnCells]:
        store, files = self._store, self._run.files
        raw = read_records(files, store, [column.field for column in store.columns])[::-1]
        found: list[ColumnCells] = []
        for column in store.columns:
            try:
                found.append(self._columns.cells(column, raw.pop()))
            except (OutOfRangeError, DamagedArrayError) as error:
                raise files.damaged(
                    store.bulkstore, f"cannot be read: its column {column.mnemonic} {error}"
                ) from error
        return found


def _part(cells: ColumnCells, first: int, count: int) -> ColumnCells:
    def slice_of(array: pa.ChunkedArray | None) -> pa.ChunkedArray | None:
        return None if array is None else array.slice(first, count)

    return ColumnCells(
        cells.column,
        cells.cells.slice(first, count),
        cells.foreign,
        slice_of(cells.pids),
        slice_of(cells.tids),
        slice_of(cells.stacks),
    )
