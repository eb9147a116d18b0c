"""The symbols of one binary, as a bundle keeps them: those that occur in its stacks.

Layout: docs/explanation/trace-bundles.md.
"""

import struct
from uuid import UUID

import numpy as np

from tracekit.tables.bundle.container.uniquer import Numbers
from tracekit.tables.bundle.stacks.demangling import readable

NO_SYMBOL = -1
_VERSION = 7
_HEAD = 0x60
_COUNTS = struct.Struct("<5I")  # version, size, segments, sections, symbols
_UUID = slice(0x34, 0x44)
_POOL = struct.Struct("<II")
_POOL_AT = 0x54
_SEGMENT, _SECTION, _INDEX = 32, 24, 4
_SYMBOL = np.dtype(
    [
        ("offset", "<u4"),
        ("size", "<u4"),
        ("flags", "<u4"),
        ("name", "<u4"),
        ("mangled", "<u4"),
        ("last", "<i4"),
    ]
)
_LONGEST = 1 << 16


class SymbolsArchiveError(ValueError):
    """An archive of symbols is damaged, or of a version that is not known."""


class SymbolsArchive:
    """The symbols of one binary, found by offset from the start of its text."""

    def __init__(self, content: bytes, uuid: str) -> None:
        """Read an archive.

        Args:
            content: The file.
            uuid: The binary that it must be of.

        Raises:
            SymbolsArchiveError: It is cut, damaged, of another binary or of an unknown version.
        """
        if len(content) < _HEAD:
            raise SymbolsArchiveError("is cut")
        version, size, segments, sections, symbols = _COUNTS.unpack_from(content)
        if version != _VERSION:
            raise SymbolsArchiveError(f"is of version {version}, which is not known")
        if str(UUID(bytes=content[_UUID])).upper() != uuid:
            raise SymbolsArchiveError("is of another binary")
        pool, index = _POOL.unpack_from(content, _POOL_AT)
        first = _HEAD + segments * _SEGMENT + sections * _SECTION
        start = first + symbols * (_SYMBOL.itemsize + _INDEX) + index
        if size != len(content) or start + pool != size:
            raise SymbolsArchiveError("is cut")
        table = np.frombuffer(content, _SYMBOL, symbols, first)
        self._table = table[np.argsort(table["offset"], kind="stable")]
        self._starts = self._table["offset"].astype(np.int64)
        self._ends = self._starts + self._table["size"]
        self._pool = content[start:]

    def find(self, offsets: Numbers) -> Numbers:
        """Return the number of the symbol at each offset, or `NO_SYMBOL`."""
        found = np.searchsorted(self._starts, offsets, side="right") - 1
        if self._starts.size:
            found[offsets >= self._ends[found]] = NO_SYMBOL
        return found

    def name(self, symbol: int) -> str | None:
        """Return the name of a symbol; None where it has none that can be read."""
        name = self._text(int(self._table["name"][symbol])) if self._named(symbol) else ""
        return name or readable(self._text(int(self._table["mangled"][symbol]))) or None

    def _named(self, symbol: int) -> bool:
        return bool(self._table["name"][symbol])

    def _text(self, place: int) -> str:
        end = self._pool.find(b"\0", place, place + _LONGEST)
        return self._pool[place:end].decode(errors="replace") if end >= 0 else ""
