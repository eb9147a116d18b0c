"""Read an export by the fast reader, and where it gives up by the exact one; a bundle directly.

What the fast reader yielded before it gave up is void: `begin` is called again before the exact
reader begins.
"""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from tracekit.base import InputError, open_input, unreadable
from tracekit.tables.bundle.reader import BundleReader
from tracekit.tables.direct import Stored, TableRef, places_of
from tracekit.tables.place import xpath_of
from tracekit.tables.toc.toc import Toc
from tracekit.tables.xml.details import DetailReader, holds_details
from tracekit.tables.xml.fast.reader import FastReader
from tracekit.tables.xml.fast.tokens import IrregularError
from tracekit.tables.xml.node import Node, Reader, Symbols
from tracekit.tables.xml.reader import ExactReader

_END = b"</node></trace-query-result>"
_TAIL = 1 << 12
_log = logging.getLogger(__name__)

ReaderName = Literal["fast", "exact", "bundle"]


class Taker(Protocol):
    """Who takes the pieces of an export."""

    def begin(self) -> None:
        """Forget all that was taken; a reader begins."""
        ...

    def take(self, piece: Node) -> None:
        """Take the next piece."""
        ...


@dataclass(frozen=True, eq=False)
class Reading:
    """How an export was read: by which reader, why not by the fast one, its stacks."""

    reader: ReaderName
    irregularity: str
    symbols: Symbols


def read_pieces(
    ref: TableRef, taker: Taker, toc: Toc | None = None, only: ReaderName | None = None
) -> Reading:
    """Read all tables of an export, or one of a bundle, into a taker.

    Args:
        ref: Where the tables are.
        taker: Who takes the pieces.
        toc: The table of contents; the exact reader needs it for tables without a header, a
            bundle for the places of its tables.
        only: The one reader of exports to use; without it the fast one, then the exact one.

    Raises:
        InputError: The file cannot be opened, is no export, or is hostile.
        IrregularError: `only` is the fast reader, and the export is none that it reads.
    """
    if isinstance(ref, Stored):
        run, store = ref.open()
        reader = BundleReader(run, store, xpath_of(places_of(run, toc)[store.number]))
        return _read("bundle", reader, ref.file, taker)
    irregularity = "the exact reader was asked for"
    if only != "exact":
        try:
            _check_end(ref)
            return _read("fast", FastReader(ref), ref, taker)
        except IrregularError as error:
            if only == "fast":
                raise
            irregularity = str(error)
    exact = DetailReader(ref) if holds_details(ref) else ExactReader(ref, toc)
    return _read("exact", exact, ref, taker, irregularity)


def _read(
    name: ReaderName, reader: Reader, path: Path, taker: Taker, irregularity: str = ""
) -> Reading:
    _log.debug("%s: read by the %s reader: %s", path, name, irregularity or "as it should be")
    taker.begin()
    pieces = reader.pieces()
    while True:
        try:
            piece = next(pieces, None)
        except OSError as error:  # of the export: what takes a piece does so outside
            raise unreadable(path, error) from error
        if piece is None:
            return Reading(name, irregularity, reader.symbols())
        taker.take(piece)


def _check_end(path: Path) -> None:
    """Raise IrregularError where a file is cut: it is not to be read twice."""
    try:
        with open_input(path) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - _TAIL))
            end = file.read().rstrip(b" \t\r\n")
    except (InputError, OSError):
        end = b""  # the exact reader says why
    if not end.endswith(_END):
        raise IrregularError("the file does not end as an export does")
