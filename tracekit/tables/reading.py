"""Read an export by the fast reader, and where it gives up by the exact one; a bundle directly.

What the fast reader yielded before it gave up is void: `begin` is called again before the exact
reader begins.
"""

import logging
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Protocol

from tracekit.base import InputError, open_input, unreadable
from tracekit.tables.bundle.reader import BundleReader
from tracekit.tables.direct import places_of, stored
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
    """How an export was read: by which reader, why not by the fast one, its stacks.

    Where a table was read directly from a bundle, that was no irregularity.
    """

    reader: ReaderName
    irregularity: str
    symbols: Symbols


def read_pieces(
    path: Path, taker: Taker, toc: Toc | None = None, only: ReaderName | None = None
) -> Reading:
    """Read all tables of an export into a taker.

    Args:
        path: The export, or what stands for a table of a bundle.
        taker: Who takes the pieces.
        toc: The table of contents; the exact reader needs it for tables without a header, a
            bundle for the places of its tables.
        only: The one reader of exports to use; without it the fast one, then the exact one.

    Raises:
        InputError: The file cannot be opened, is no export, or is hostile.
        IrregularError: `only` is the fast reader, and the export is none that it reads.
    """
    of_bundle = stored(path)
    if of_bundle is not None:
        run, store = of_bundle.open()
        place = places_of(run, toc)[store.number]
        reader = BundleReader(run, store, xpath_of(place))
        return _read("bundle", reader, of_bundle.file, taker)
    irregularity = "the exact reader was asked for"
    if only != "exact":
        try:
            _check_end(path)
            return _read("fast", FastReader(path), path, taker)
        except IrregularError as error:
            if only == "fast":
                raise
            irregularity = str(error)
    exact = DetailReader(path) if holds_details(path) else ExactReader(path, toc)
    return _read("exact", exact, path, taker, irregularity)


def _read(
    name: ReaderName, reader: Reader, path: Path, taker: Taker, irregularity: str = ""
) -> Reading:
    why = irregularity and f": {irregularity}"
    _log.debug("%s: read by the %s reader%s", path, name, why)
    taker.begin()
    for piece in _pieces(path, reader):
        taker.take(piece)
    return Reading(name, irregularity, reader.symbols())


def _pieces(path: Path, reader: Reader) -> Iterator[Node]:
    """Yield the pieces; an OSError in here is of the export, never of whoever takes them."""
    try:
        yield from reader.pieces()
    except OSError as error:
        raise unreadable(path, error) from error


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
