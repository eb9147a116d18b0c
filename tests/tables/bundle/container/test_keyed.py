"""Keyed archives by hand: plain values out of literal property lists."""

import plistlib
from plistlib import UID
from typing import Any

import pytest

from tracekit.tables.bundle.container.keyed import Archive, plist
from tracekit.tables.bundle.errors import ArchiveError

OBJECTS: list[Any] = [
    "$null",
    {"NS.keys": [UID(2), UID(3)], "NS.objects": [UID(4), UID(5)]},
    "name",
    {"NS.string": "other"},
    {"NS.string": "value"},
    {"NS.objects": [UID(2), UID(0), 7]},
    {"$0": 2, "$1": 10, "$2": UID(2), "$3": 20, "$4": UID(4)},
    {"NS.data": b"abc"},
    UID(2),
]


UNREADABLE = b'<?xml version="1.0" encoding="UPF-8"?><plist/>'


def archived(objects: list[Any] = OBJECTS, root: int = 1) -> bytes:
    plain = {"$objects": objects, "$top": {"root": UID(root)}}
    return plistlib.dumps(plain, fmt=plistlib.FMT_BINARY)


def test_a_dictionary_by_numbers() -> None:
    archive = Archive(archived(root=6))
    assert list(archive.by_number(archive.root)) == [(10, "name"), (20, {"NS.string": "value"})]


def test_a_dictionary_by_numbers_that_counts_too_few_is_told() -> None:
    members = {"$0": 1, "$1": 10, "$2": UID(1), "$3": 20, "$4": UID(2)}
    archive = Archive(archived(["$null", "name", "other", members], root=3))
    with pytest.raises(ArchiveError, match="more members than it counts"):
        list(archive.by_number(archive.root))


@pytest.mark.parametrize("content", [b"", b"bplist00", b"<plist", b"\x00" * 100, UNREADABLE])
def test_what_is_no_property_list_is_told(content: bytes) -> None:
    with pytest.raises(ArchiveError, match="is no property list"):
        plist(content)


@pytest.mark.parametrize("value", [[], {}, {"$objects": {}, "$top": {}}, {"$objects": []}])
def test_what_is_no_archive_is_told(value: Any) -> None:
    with pytest.raises(ArchiveError, match="is no keyed archive"):
        Archive(plistlib.dumps(value))


def test_references_beyond_the_archive_are_told() -> None:
    archive = Archive(archived())
    with pytest.raises(ArchiveError, match="refers to what it does not hold"):
        archive.at(UID(99))
    with pytest.raises(ArchiveError, match="refers to a reference"):
        archive.at(UID(8))
    with pytest.raises(ArchiveError, match="holds no document"):
        archive.top("document")


def test_parts_of_another_kind_are_told() -> None:
    archive = Archive(archived())
    with pytest.raises(ArchiveError, match=r"has no NS\.objects"):
        archive.sequence(UID(2))
    with pytest.raises(ArchiveError, match="no dictionary by numbers"):
        list(archive.by_number(UID(1)))
    uneven = Archive(archived([*OBJECTS[:1], {"NS.keys": [UID(0)], "NS.objects": []}]))
    with pytest.raises(ArchiveError, match="without its values"):
        uneven.mapping(uneven.root)
