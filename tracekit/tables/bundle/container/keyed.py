"""Archives of NSKeyedArchiver, walked by key: plain values only, no objects are made.

Only `plistlib` reads them. Values refer to one another by number, in cycles too, so nothing here
descends by itself: a caller requests the part that it knows.
"""

import plistlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from xml.parsers.expat import ExpatError

from tracekit.tables.bundle.container.property_lists import has_room
from tracekit.tables.bundle.errors import ArchiveError

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
        self._dictionaries: dict[int, tuple[Mapping[str, Value], dict[Any, Value]]] = {}

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
        is_dictionary = "NS.keys" in resolved_node and "NS.objects" in resolved_node
        if is_dictionary and key not in resolved_node:
            return self.resolve(self._read_dictionary(resolved_node).get(key))
        return self.resolve(resolved_node.get(key))

    def _read_dictionary(self, node: Mapping[str, Value]) -> dict[Any, Value]:
        """Return the mapping of a dictionary, which is made once for all of its parts."""
        entry = self._dictionaries.get(id(node))
        if entry is None:
            entry = (node, self.mapping(node))  # the node stays, so that no other has its id
            self._dictionaries[id(node)] = entry
        return entry[1]

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
        is_by_number = (
            isinstance(resolved_node, Mapping)
            and "$0" in resolved_node
            and "NS.keys" not in resolved_node
        )
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
        """Yield the items of an `XRIntKeyedDictionary`; raise ArchiveError if it is not one.

        Its key `$0` has the number of items; `$1` and `$2` are the first key and value, and so on.
        """
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
