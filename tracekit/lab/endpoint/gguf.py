"""Read the head of a GGUF file: its metadata, and how many weights its tensors hold.

Source: the specification of GGUF in ggml, docs/gguf.md. Little-endian files of version 2 and 3 are
read; metadata and descriptions of tensors come before their data, which are not read.
"""

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from tracekit.base import InputError

SUFFIX = ".gguf"
_MAGIC = b"GGUF"
_VERSIONS = (2, 3)
_NUMBERS = {
    0: "B",
    1: "b",
    2: "H",
    3: "h",
    4: "I",
    5: "i",
    6: "f",
    7: "?",
    10: "Q",
    11: "q",
    12: "d",
}
_STRING = 8
_ARRAY = 9
_MOST_ENTRIES = 1 << 24  # of an array, of tensors, or of metadata
_LONGEST_TEXT = 1 << 24  # bytes
_MOST_DIMENSIONS = 8


@dataclass(frozen=True)
class GgufHead:
    """The metadata of a file, with the length of an array in its place, and its tensors' names.

    `weights` is the number of elements of all tensors.
    """

    values: dict[str, Any]
    tensors: frozenset[str]
    weights: int


def read_head(path: Path) -> GgufHead:
    """Read the head of a file; raise InputError if it is not one of GGUF, or is cut short."""
    try:
        with path.open("rb") as file:
            return _HeadReader(file, path).read()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error


class _HeadReader:
    """Reads one value after another; raises InputError at the end of the file."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file = file
        self._path = path

    def read(self) -> GgufHead:
        if self._take(4) != _MAGIC:
            raise InputError(f"{self._path} is not a GGUF file.")
        version = self._number("I")
        if version not in _VERSIONS:
            raise InputError(f"{self._path} has version {version} of GGUF; 2 and 3 are read.")
        tensor_count = self._count(_MOST_ENTRIES)
        value_count = self._count(_MOST_ENTRIES)
        values: dict[str, Any] = {}
        for _ in range(value_count):
            name = self._text()
            values[name] = self._value(self._number("I"))
        tensors: set[str] = set()
        weights = 0
        for _ in range(tensor_count):
            tensors.add(self._text())
            dimension_count = self._number("I")
            if dimension_count > _MOST_DIMENSIONS:
                raise self._damaged()
            weights += math.prod(self._number("Q") for _ in range(dimension_count))
            self._take(12)  # the type and the offset of its data
        return GgufHead(values, frozenset(tensors), weights)

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._text()
        if kind == _ARRAY:
            entry_kind = self._number("I")
            entry_count = self._count(_MOST_ENTRIES)
            self._skip_entries(entry_kind, entry_count)
            return entry_count
        if kind not in _NUMBERS:
            raise self._damaged()
        return self._number(_NUMBERS[kind])

    def _skip_entries(self, kind: int, count: int) -> None:
        if kind in _NUMBERS:
            self._take(count * struct.calcsize(_NUMBERS[kind]))
            return
        for _ in range(count):
            self._value(kind)

    def _text(self) -> str:
        length = self._count(_LONGEST_TEXT)
        return self._take(length).decode(errors="replace")

    def _count(self, most: int) -> int:
        count = self._number("Q")
        if count > most:
            raise self._damaged()
        return count

    def _number(self, code: str) -> Any:
        (number,) = struct.unpack(f"<{code}", self._take(struct.calcsize(code)))
        return number

    def _take(self, length: int) -> bytes:
        content = self._file.read(length)
        if len(content) < length:
            raise self._damaged()
        return content

    def _damaged(self) -> InputError:
        return InputError(f"{self._path} is damaged, or cut short within its metadata.")
