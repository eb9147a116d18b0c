"""Read an export by the fast reader, and where it gives up by the exact one; a bundle directly.

What the fast reader yielded before it gave up is void: `begin` is called again before the exact
reader begins.
"""

import logging
from pathlib import Path
from typing import Literal, Protocol

from tracekit.base import unreadable
from tracekit.tables.bundle.reader import BundleReader
from tracekit.tables.direct import Stored, TableRef, places_of
from tracekit.tables.place import xpath_of
from tracekit.tables.toc import Toc
from tracekit.tables.xml.details import DetailReader, holds_details
from tracekit.tables.xml.fast.reader import FastReader
from tracekit.tables.xml.fast.tokens import IrregularError
from tracekit.tables.xml.node import Node, Reader, Symbols
from tracekit.tables.xml.reader import ExactReader

_log = logging.getLogger(__name__)

ReaderName = Literal["fast", "exact"]


class Taker(Protocol):
    """Who takes the pieces of an export."""

    def begin(self) -> None:
        """Forget all that was taken; a reader begins."""
        ...

    def take(self, piece: Node) -> None:
        """Take the next piece."""
        ...


def read_pieces(
    ref: TableRef, taker: Taker, toc: Toc | None = None, only: ReaderName | None = None
) -> Symbols:
    """Read all tables of an export, or one of a bundle, into a taker; return their stacks.

    Without the table of contents the exact reader knows no tables without a header, and a bundle
    none of the places of its tables. `only` is the one reader of exports to use.

    Raises:
        InputError: The file cannot be opened, is no export, or is hostile.
        IrregularError: `only` is the fast reader, and the export is none that it reads.
    """
    if isinstance(ref, Stored):
        run, store = ref.open()
        reader = BundleReader(run, store, xpath_of(places_of(run, toc)[store.number]))
        return _read(reader, ref.file, taker)
    if only != "exact":
        try:
            return _read(FastReader(ref), ref, taker)
        except IrregularError as error:
            if only == "fast":
                raise
            _log.debug("%s: not read by the fast reader: %s", ref, error)
    return _read(DetailReader(ref) if holds_details(ref) else ExactReader(ref, toc), ref, taker)


def _read(reader: Reader, path: Path, taker: Taker) -> Symbols:
    _log.debug("%s: read by %s", path, type(reader).__name__)
    taker.begin()
    pieces = reader.pieces()
    while True:
        try:
            piece = next(pieces, None)
        except OSError as error:  # of the export: what takes a piece does so outside
            raise unreadable(path, error) from error
        if piece is None:
            return reader.symbols()
        taker.take(piece)
