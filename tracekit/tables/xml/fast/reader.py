"""Read an export that is written exactly as xctrace writes plain tables."""

from collections.abc import Iterator
from pathlib import Path

from tracekit.tables.xml.node import Node
from tracekit.tables.xml.symbols import Symbols, no_symbols


class IrregularError(Exception):
    """A byte is not the one that a plain table has there; the exact reader has to read it."""


class FastReader:
    """A reader of one file; what it yielded before an IrregularError is void."""

    def __init__(self, path: Path) -> None:
        """Take the file, without opening it."""
        self._path = path

    def pieces(self) -> Iterator[Node]:
        """Yield the file's one table, piece by piece.

        Raises:
            IrregularError: The file is not plain, which may show only at its end.
        """
        raise IrregularError(f"{self._path} is not read yet")

    def symbols(self) -> Symbols:
        """Return the stacks that the pieces have named so far."""
        return no_symbols()
