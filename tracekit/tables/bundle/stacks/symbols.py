"""The symbols of one binary, as a bundle stores them, with readable names.

Names of C++ are demangled by LLVM. A name that refers back to its parts can double with each
reference, so that two hundred characters would fill all memory: a name that might become that long
stays as it is. Names of Swift stay mangled, too.
"""

import re
import struct
from functools import cache
from uuid import UUID

import numpy as np
import pycxxfilt

from tracekit.tables.bundle.container.uniquer import Numbers
from tracekit.tables.bundle.errors import ArchiveError

_LONGEST = 1 << 11
_LARGEST = 1 << 26
_WORDIEST = 8  # letters of a name for each letter of its mangled form, about
_STUB = "DYLD-STUB$$_"
_MANGLED = re.compile(r"_(?=(?:__)?_Z)")  # a linker puts it in front of every name
_REFERENCE = re.compile(r"S([0-9A-Z]{0,6})_|T[0-9L_]{0,12}_")
_PACK = re.compile(r"Dp|sp|sP|s[zZ]|f[lLrR]")
_PACKED = re.compile(r"J(.*?)E")


def readable(symbol: str) -> str:
    """Return the name of a symbol of the linker as a person would write it."""
    if symbol.startswith(_STUB):
        return symbol.replace("$_", "$", 1)
    name = symbol
    if _MANGLED.match(symbol):
        name = _MANGLED.sub("", symbol, count=1)
    if not name.startswith(("_Z", "___Z")) or len(name) > _LONGEST or _size(name) > _LARGEST:
        return symbol
    try:
        return pycxxfilt.demangle(name) or symbol
    except ValueError:
        return symbol


def _size(name: str) -> int:
    """Return a bound of the length of a name, or a length beyond `_LARGEST`.

    A part holds at most everything before it, and only references to earlier parts than itself; a
    pack repeats its content for each of its members.
    """
    base_size = _WORDIEST * len(name)
    total = base_size
    references: list[tuple[int, int]] = []
    for reference in _REFERENCE.finditer(name):
        number = _reference_number(reference[1])
        size = base_size
        for earlier_number, length in references:
            if number == _TEMPLATE or earlier_number < number:
                size += length
        references.append((number, size))
        total += size
        if total > _LARGEST:
            return total
    packs = len(_PACK.findall(name))
    if not packs:
        return total
    packed_lengths = map(len, _PACKED.findall(name))
    members = max(packed_lengths, default=1)
    return total * members**packs


_TEMPLATE = -1


def _reference_number(place: str | None) -> int:
    """Return the number of the part that a reference names; `_TEMPLATE` for an argument of one."""
    if place is None:
        return _TEMPLATE
    if not place:
        return 0
    return int(place, 36) + 1


NO_SYMBOL = -1
_VERSION = 7
_HEAD = 0x60
_COUNTS = struct.Struct("<5I")  # version, size, segments, sections, symbols
_UUID = slice(0x34, 0x44)
_POOL = struct.Struct("<II")
_POOL_AT = 0x54
_SEGMENT = 32
_SECTION = 24
_INDEX = 4
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
_LONGEST_SYMBOLS_ARCHIVE = 1 << 16


class SymbolsArchive:
    """The symbols of one binary, found by offset from the start of its text."""

    def __init__(self, content: bytes, uuid: str) -> None:
        if len(content) < _HEAD:
            raise ArchiveError("is cut")
        version, size, segments, sections, symbols = _COUNTS.unpack_from(content)
        if version != _VERSION:
            raise ArchiveError(f"is of version {version}, which is not known")
        archive_uuid = str(UUID(bytes=content[_UUID])).upper()
        if archive_uuid != uuid:
            raise ArchiveError("is of another binary")
        pool, index = _POOL.unpack_from(content, _POOL_AT)
        symbols_start = _HEAD + segments * _SEGMENT + sections * _SECTION
        entry_size = _SYMBOL.itemsize + _INDEX
        start = symbols_start + symbols * entry_size + index
        if size != len(content) or start + pool != size:
            raise ArchiveError("is cut")
        table = np.frombuffer(content, _SYMBOL, symbols, symbols_start)
        order = np.argsort(table["offset"], kind="stable")
        self._table = table[order]
        self._starts = self._table["offset"].astype(np.int64)
        self._ends = self._starts + self._table["size"]
        self._pool = content[start:]
        self.name = cache(self._name)

    def find(self, offsets: Numbers) -> Numbers:
        """Return the number of the symbol at each offset, or `NO_SYMBOL`."""
        numbers_after = np.searchsorted(self._starts, offsets, side="right")
        numbers = numbers_after - 1
        if self._starts.size:
            numbers[offsets >= self._ends[numbers]] = NO_SYMBOL
        return numbers

    def _name(self, symbol: int) -> str | None:
        """Return the name of a symbol; None for `NO_SYMBOL`, and if none can be read."""
        if symbol == NO_SYMBOL:
            return None
        place = int(self._table["name"][symbol])
        if place:
            name = self._text(place)
            if name:
                return name
        mangled_place = int(self._table["mangled"][symbol])
        return readable(self._text(mangled_place)) or None

    def _text(self, place: int) -> str:
        end = self._pool.find(b"\0", place, place + _LONGEST_SYMBOLS_ARCHIVE)
        if end >= 0:
            return self._pool[place:end].decode(errors="replace")
        return ""
