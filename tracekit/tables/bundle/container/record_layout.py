"""How the records of a table are laid out: where each field lies, and how many rows there are.

`bulkstore_descriptor` lists the fields in order; first
the topology, which stands for the time, the duration of an interval, and two categories.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Literal

from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.container.keyed import Archive, Value
from tracekit.tables.bundle.errors import ArchiveError

FIRST_RECORD = 0x1000
CHUNK_ROWS = 65_536
_LARGEST = 1 << 22
_MOST_ROWS = 1 << 40

Width = Literal[4, 8]
_WIDTHS: Mapping[int, Width] = {1: 4, 2: 8}
_TIME, _DURATION = "XRTraceRelativeTimestampFieldID", "XRDurationFieldID"
_CATEGORIES: tuple[tuple[str, Width], ...] = (("XRCategory1FieldID", 4), ("XRCategory2FieldID", 4))


@dataclass(frozen=True)
class Field:
    """Where a column lies in a record: offset and width in bytes."""

    offset: int
    width: Width


@dataclass(frozen=True)
class Topology:
    """What every record of a table begins with: its number in descriptors, parts, their widths."""

    number: int
    parts: tuple[tuple[str, Width], ...]


TOPOLOGIES: Mapping[str, Topology] = {
    "XRT64_CC32_R_TypeID": Topology(7, ((_TIME, 8), *_CATEGORIES)),
    "XRTD64_CC32_R_TypeID": Topology(6, ((_TIME, 8), (_DURATION, 8), *_CATEGORIES)),
}


@dataclass(frozen=True)
class RecordLayout:
    """The fields of a record: those of its `topology` by name, then its `own`.

    `size` is that of a record in bytes, `rows` how many there are.
    """

    topology: Mapping[str, Field]
    own: Sequence[Field]
    size: int
    rows: int


def read_layout(files: Files, name: str, topology: Topology) -> RecordLayout:
    """Read a descriptor of records, of that name; they must have this topology."""
    with files.reading(name):
        archive = Archive(files.read(name, _LARGEST))
        return _layout(archive, archive.mapping(archive.part(archive.root, "$0")), topology)


def _layout(archive: Archive, found: Mapping[Any, Value], topology: Topology) -> RecordLayout:
    listed = list(_types(archive, found))
    if listed[:1] not in ([], [topology.number]):
        raise ArchiveError("has records of another topology than its schema")
    widths: list[Width] = [width for _, width in topology.parts]
    for number in listed[1:]:
        if number not in _WIDTHS:
            raise ArchiveError(f"has a field of the unknown type {number}")
        widths.append(_WIDTHS[number])
    *offsets, size = accumulate(widths, initial=0)
    fields = [Field(offset, width) for offset, width in zip(offsets, widths, strict=True)]
    if archive.plain(found.get("_variableSize")):
        raise ArchiveError("has records of different sizes, which are not known")
    if {_number(archive, found, name) for name in ("_maxEventSize", "_minEventSize")} != {size}:
        raise ArchiveError("has records of another size than their fields")
    rows = _number(archive, archive.mapping(found.get("_props")), "next_event_id")
    if not 0 <= rows <= _MOST_ROWS:
        raise ArchiveError("says that it has more rows than there can be")
    count = len(topology.parts)
    first = {name: fields[place] for place, (name, _) in enumerate(topology.parts)}
    return RecordLayout(first, fields[count:], size, rows)


def _types(archive: Archive, found: Mapping[Any, Value]) -> Iterator[int]:
    """Yield the type of each field: that of the topology, then of those of the table itself."""
    for number, one in enumerate(archive.sequence(found.get("_fields"))):
        about = archive.mapping(archive.part(one, "$0"))
        place, count = (_number(archive, about, name) for name in ("_index", "_multi"))
        if (place, count) != (number, 1):
            raise ArchiveError("has fields in an unknown order")
        yield _number(archive, about, "_type")


def _number(archive: Archive, found: Mapping[Any, Value], key: str) -> int:
    value = archive.plain(found.get(key))
    if not isinstance(value, int):
        raise ArchiveError(f"has no number {key}")
    return int(value)
