"""Archives of NSKeyedArchiver, walked by key: plain values only, no objects are made.

The parts of a binary property list are found by their places, so that many parts may be the same
megabyte, or overlap: a small file would become gigabytes. In an honest one no two parts share a
byte.

Only `plistlib` reads them. Values refer to one another by number, in cycles too, so nothing here
descends by itself: a caller requests the part that it knows.
"""

import plistlib
import re
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from xml.parsers.expat import ExpatError

import numpy as np
from numpy.typing import NDArray

from tracekit.tables.bundle.errors import ArchiveError

MOST_OBJECTS = 1 << 24
_MAGIC = b"bplist00"
_TRAILER = struct.Struct(">6xBBQQQ")
_LONG = 15  # marks a length in an integer of its own
_DATA = 0x4
_ASCII = 0x5
_UTF_16 = 0x6
_ARRAY = 0xA
_SET = 0xC
_DICTIONARY = 0xD
_BYTES = 8

Numbers = NDArray[np.int64]


def has_room(content: bytes) -> bool:
    """Return whether a property list holds no more than its size and `MOST_OBJECTS` allow.

    Content that is too damaged to be recognised is left to its reader, which refuses it.
    """
    if not content.startswith(_MAGIC):
        return content.count(b"<") <= 2 * MOST_OBJECTS
    if len(content) < len(_MAGIC) + _TRAILER.size:
        return True
    trailer_start = len(content) - _TRAILER.size
    width, reference, count, _, table_start = _TRAILER.unpack_from(content, trailer_start)
    if not 0 < width <= _BYTES or table_start + count * width > len(content):
        return True
    if count > MOST_OBJECTS:
        return False
    digits = np.frombuffer(content, np.uint8, count * width, table_start)
    table = digits.reshape(count, width)
    places = _big_endian(table)
    is_inside = (places >= 0) & (places < len(content) - _TRAILER.size)
    places = places[is_inside]
    octets = np.frombuffer(content, np.uint8)
    sizes = _sizes(octets, places, reference)
    return int(sizes.sum()) <= len(content)


def _sizes(content: NDArray[np.uint8], places: Numbers, reference: int) -> Numbers:
    """Return the bytes that each part takes; a length beyond the content counts as all of it."""
    markers = content[places]
    lengths = (markers & _LONG).astype(np.int64)
    length_powers = content[places + 1] & 3
    powers = np.where(lengths == _LONG, length_powers, -1)
    for power in range(4):
        width = 1 << power
        long_parts = np.flatnonzero(powers == power)
        first_digits = places[long_parts, None] + 2
        digits = first_digits + np.arange(width)
        last_place = content.size - 1
        long_lengths = _big_endian(content[np.minimum(digits, last_place)])
        long_lengths[long_lengths < 0] = content.size
        lengths[long_parts] = np.minimum(long_lengths, content.size)
    units = np.zeros(16, np.int64)
    units[_DATA] = 1
    units[_ASCII] = 1
    units[_UTF_16] = 2
    units[_ARRAY] = reference
    units[_SET] = reference
    units[_DICTIONARY] = 2 * reference
    return lengths * units[markers >> 4]


def _big_endian(digits: NDArray[np.uint8]) -> Numbers:
    values = np.zeros(len(digits), np.int64)
    for column in digits.T:
        values = (values << 8) | column
    return values


Value = Any
_MOST_MEMBERS = 1 << 20
_NUMBER = re.compile(r"[0-9]{1,9}", re.ASCII)
_INTEGER = re.compile(r"-?[0-9]{1,20}", re.ASCII)
_FAILURES = (
    plistlib.InvalidFileException,
    ExpatError,
    ValueError,
    LookupError,  # a key, a place, or the name of an encoding
    TypeError,
    AttributeError,
    OverflowError,
    RecursionError,
    MemoryError,
)


def plist(content: bytes) -> Value:
    """Return the values of a property list, XML or binary; raise ArchiveError if it is not one."""
    if not has_room(content):
        raise ArchiveError("holds more than its size allows")
    try:
        return plistlib.loads(content)
    except _FAILURES as error:
        raise ArchiveError("is not a property list") from error


class Archive:
    """One keyed archive."""

    def __init__(self, content: bytes) -> None:
        document = plist(content)
        parts = {}
        if isinstance(document, dict):
            parts = document
        objects = parts.get("$objects")
        top = parts.get("$top")
        if not isinstance(objects, list) or not isinstance(top, dict):
            raise ArchiveError("is not a keyed archive")
        self._objects = cast("list[Value]", objects)
        self._top = cast("dict[str, Value]", top)

    @property
    def root(self) -> Value:
        """The archived object; raise ArchiveError if there is none."""
        return self.top("root")

    def top(self, name: str) -> Value:
        """Return one of the archived objects; raise ArchiveError if it is not there."""
        if name not in self._top:
            raise ArchiveError(f"holds no {name}")
        return self.resolve(self._top[name])

    def resolve(self, value: Value) -> Value:
        """Follow a reference; any other value is returned as it is, null as None."""
        if not isinstance(value, plistlib.UID):
            return value
        if not 0 <= value.data < len(self._objects):
            raise ArchiveError("refers to an object that it does not hold")
        if value.data == 0:
            return None
        resolved_value = self._objects[value.data]
        if isinstance(resolved_value, plistlib.UID):
            raise ArchiveError("refers to a reference")
        return resolved_value

    def part(self, node: Value, key: str) -> Value:
        """Return a part of an archived object or dictionary by its key; None if there is none.

        Builds of Instruments archive the same thing as an object or as a dictionary.
        """
        resolved_node = self.resolve(node)
        if not isinstance(resolved_node, Mapping):
            return None
        if (
            key not in resolved_node
            and "NS.keys" in resolved_node
            and "NS.objects" in resolved_node
        ):
            return self.resolve(self.mapping(resolved_node).get(key))
        return self.resolve(resolved_node.get(key))

    def integer(self, node: Value) -> int | None:
        """Return an integer, archived as a number or as its decimal text; None if it is neither."""
        plain_value = self.unwrap(node)
        if isinstance(plain_value, str) and _INTEGER.fullmatch(plain_value):
            return int(plain_value)
        if isinstance(plain_value, int) and not isinstance(plain_value, bool):
            return plain_value
        return None

    def text(self, node: Value) -> str:
        """Return a text, or "" if there is none."""
        plain_value = self.unwrap(node)
        if isinstance(plain_value, str):
            return plain_value
        return ""

    def mapping(self, node: Value) -> dict[Any, Value]:
        """Return an archived dictionary of either kind; its values may be references."""
        resolved_node = self.resolve(node)
        if isinstance(resolved_node, Mapping):
            is_by_number = "$0" in resolved_node and "NS.keys" not in resolved_node
            if is_by_number:
                return dict(self.by_number(resolved_node))
        keys = self._get_members(node, "NS.keys")
        values = self._get_members(node, "NS.objects")
        if len(keys) != len(values):
            raise ArchiveError("has a dictionary without its values")
        plain_values: dict[Any, Value] = {}
        for key, value in zip(keys, values, strict=True):
            plain_key = self.unwrap(key)
            if isinstance(plain_key, str | int | float | bytes):
                plain_values[plain_key] = value
        return plain_values

    def get_numbered(self, node: Value) -> dict[int, Value]:
        """Return the values of an archived dictionary whose keys are numbers, or texts of these."""
        numbered_values: dict[int, Value] = {}
        for key, value in self.mapping(node).items():
            is_number_text = isinstance(key, str) and _NUMBER.fullmatch(key) is not None
            if is_number_text or isinstance(key, int):
                numbered_values[int(key)] = value
        return numbered_values

    def sequence(self, node: Value) -> list[Value]:
        """Return the members of an archived array or set; raise ArchiveError if it is neither."""
        members = self._get_members(node, "NS.objects")
        return [self.resolve(member) for member in members]

    def unwrap(self, node: Value) -> Value:
        """Return a text, number, date or bytes, however it is archived; any other value as is."""
        resolved_node = self.resolve(node)
        if isinstance(resolved_node, Mapping):
            for key in ("NS.string", "NS.data", "NS.uuidbytes", "NS.time"):
                if key in resolved_node:
                    return self.resolve(resolved_node[key])
        return resolved_node

    def by_number(self, node: Value) -> Iterator[tuple[int, Value]]:
        """Yield the items of an `XRIntKeyedDictionary`; raise ArchiveError if it is not one."""
        resolved_node = self.resolve(node)
        count: Value = None
        if isinstance(resolved_node, Mapping):
            count = resolved_node.get("$0")
        if not isinstance(count, int) or not 0 <= count <= len(resolved_node) // 2:
            raise ArchiveError("lacks a required dictionary by numbers")
        if f"${2 * count + 1}" in resolved_node:
            raise ArchiveError("has a dictionary by numbers of more members than it counts")
        for number in range(count):
            key_node = resolved_node.get(f"${2 * number + 1}")
            key = self.resolve(key_node)
            if isinstance(key, int):
                value_node = resolved_node.get(f"${2 * number + 2}")
                yield key, self.resolve(value_node)

    def _get_members(self, node: Value, key: str) -> Sequence[Value]:
        resolved_node = self.resolve(node)
        members = None
        if isinstance(resolved_node, Mapping):
            members = resolved_node.get(key)
        if not isinstance(members, list):
            raise ArchiveError(f"lacks the required {key}")
        if len(members) > _MOST_MEMBERS:
            raise ArchiveError("has a collection of more members than there can be")
        return cast("list[Value]", members)


@dataclass(frozen=True)
class ArchivedPart:
    """An archived object or dictionary, with access to its parts by their keys."""

    archive: Archive
    node: Value

    def get(self, key: str) -> Value:
        """Return a part; None if there is none."""
        return self.archive.part(self.node, key)

    def text(self, key: str) -> str:
        """Return a part that is a text, or ""."""
        return self.archive.text(self.get(key))

    def integer(self, key: str) -> int | None:
        """Return a part that is an integer, or None."""
        return self.archive.integer(self.get(key))

    def mapping(self, key: str) -> dict[Any, Value]:
        """Return a part that is a dictionary; an empty one if there is none."""
        node = self.get(key)
        if node is None:
            return {}
        return self.archive.mapping(node)

    def members(self, key: str) -> list["ArchivedPart"]:
        """Return the members of a part that is an array; raise ArchiveError if it is not one."""
        members = self.archive.sequence(self.get(key))
        return [ArchivedPart(self.archive, member) for member in members]
