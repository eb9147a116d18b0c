"""Read the head of a GGUF file: its metadata, and how many weights its tensors hold.

Source: the specification of GGUF in ggml, docs/gguf.md. Little-endian files of version 2 and 3 are
read; metadata and descriptions of tensors come before their data, which are not read. A large
model is split into files of which the first one has the metadata (llama.cpp's gguf-split).
"""

import math
import re
import struct
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

from tracekit.base import InputError

SUFFIX = ".gguf"
_COUNT = "split.count"
_NUMBER = "split.no"  # from 0
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
_MOST_LAYERS = 1 << 12
_PART = re.compile(r"(?P<name>.+)-\d{5}-of-(?P<count>\d{5})")


@dataclass(frozen=True)
class GgufHead:
    """The metadata of a file, and its tensors' names.

    `values` are numbers, texts, and tuples of the numbers of an array that can be of layers;
    `lengths` are the entries of every array. `weights` is the number of elements of all tensors.
    """

    values: dict[str, Any]
    lengths: dict[str, int]
    tensors: frozenset[str]
    weights: int


@dataclass(frozen=True)
class GgufModel:
    """A model of one file or of several parts: `size` and `head.weights` are those of all files."""

    name: str
    head: GgufHead
    files: int
    size: int


def read_model(path: Path) -> GgufModel:
    """Read the head of a model by its file, or by any part of it.

    Raises InputError if a part is missing, or is not one of this model.
    """
    head = read_head(path)
    part_count = head.values.get(_COUNT, 1)
    if not isinstance(part_count, int) or part_count <= 1:
        return GgufModel(path.stem, head, 1, path.stat().st_size)
    match = _PART.fullmatch(path.stem)
    if match is None or int(match["count"]) != part_count:
        ending = f"-00001-of-{part_count:05}{SUFFIX}"
        raise InputError(
            f"{path} is one of {part_count} parts of a model, which its name does not say.",
            hint=f"Give the parts the names that they had: NAME{ending} …",
        )
    parts: list[GgufHead] = []
    size = 0
    for number in range(1, part_count + 1):
        part_path = path.with_name(f"{match['name']}-{number:05}-of-{part_count:05}{SUFFIX}")
        if not part_path.exists():
            raise InputError(
                f"{part_path} is missing: the model has {part_count} parts.",
                hint="Download all parts into one folder.",
            )
        part = read_head(part_path)
        if (part.values.get(_COUNT), part.values.get(_NUMBER)) != (part_count, number - 1):
            raise InputError(f"{part_path} is not part {number} of {part_count} of a model.")
        parts.append(part)
        size += part_path.stat().st_size
    tensors = frozenset[str]().union(*[part.tensors for part in parts])
    weights = sum(part.weights for part in parts)
    whole_head = replace(parts[0], tensors=tensors, weights=weights)
    return GgufModel(match["name"], whole_head, part_count, size)


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
        self._lengths: dict[str, int] = {}

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
            value = self._value(name, self._number("I"))
            if value is not None:
                values[name] = value
        tensors: set[str] = set()
        weights = 0
        for _ in range(tensor_count):
            tensors.add(self._text())
            dimension_count = self._number("I")
            if dimension_count > _MOST_DIMENSIONS:
                raise self._damaged()
            weights += math.prod(self._number("Q") for _ in range(dimension_count))
            self._take(12)  # the type and the offset of its data
        return GgufHead(values, self._lengths, frozenset(tensors), weights)

    def _value(self, name: str, kind: int) -> Any:
        """Return a value; None if it is an array that is not kept."""
        if kind == _STRING:
            return self._text()
        if kind == _ARRAY:
            entry_kind = self._number("I")
            entry_count = self._count(_MOST_ENTRIES)
            self._lengths[name] = entry_count
            return self._entries(entry_kind, entry_count)
        if kind not in _NUMBERS:
            raise self._damaged()
        return self._number(_NUMBERS[kind])

    def _entries(self, kind: int, count: int) -> tuple[Any, ...] | None:
        """Return the numbers of an array, None for texts and long arrays; none holds arrays."""
        if kind == _STRING:
            for _ in range(count):
                self._text()
            return None
        if kind not in _NUMBERS:
            raise self._damaged()
        code = _NUMBERS[kind]
        content = self._take(count * struct.calcsize(code))
        if count > _MOST_LAYERS:
            return None
        return struct.unpack(f"<{count}{code}", content)

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
