"""Keyed archives by hand: plain values out of literal property lists."""

import plistlib
import struct
from plistlib import UID
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.tables.bundle.container.keyed import Archive, has_room, plist
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


LEAVES = st.one_of(
    st.text(max_size=300), st.binary(max_size=300), st.integers(-(2**63), 2**64 - 1),
    st.booleans(), st.floats(allow_nan=False), st.builds(plistlib.UID, st.integers(0, 2**32 - 1)),
)  # fmt: skip
VALUES = st.recursive(
    LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=20), inner)
)


def binary(objects: list[bytes], places: list[int], top: int) -> bytes:
    body = b"bplist00" + b"".join(objects)
    table = b"".join(struct.pack(">I", place) for place in places)
    return body + table + struct.pack(">6xBBQQQ", 4, 4, len(places), top, len(body))


@given(VALUES)
def test_whatever_was_written_has_room(value: object) -> None:
    for form in (plistlib.FMT_BINARY, plistlib.FMT_XML):
        try:
            content = plistlib.dumps(value, fmt=form)
        except (ValueError, TypeError):  # letters and references that XML has no form for
            continue
        assert has_room(content)


@pytest.mark.parametrize("marker", [b"\x5f\x11\x40\x00", b"\x4f\x11\x40\x00", b"\x6f\x11\x20\x00"])
def test_a_text_that_is_many_parts_at_once_has_none(marker: bytes) -> None:
    text = marker + b"a" * (1 << 14)
    array = b"\xaf\x11\x03\xe8" + b"".join(struct.pack(">I", 1 + n) for n in range(1000))
    assert has_room(binary([array, text], [8, 8 + len(array)], 0))
    bomb = binary([array, text], [8, *[8 + len(array)] * 1000], 0)
    assert not has_room(bomb)
    with pytest.raises(ArchiveError, match="more than its size allows"):
        plist(bomb)


def test_parts_that_begin_within_one_another_have_none() -> None:
    nested = b"\x5f\x11\x0f\x00" * 1000 + b"a" * 4000
    array = b"\xaf\x11\x03\xe8" + b"".join(struct.pack(">I", 1 + n) for n in range(1000))
    places = [8, *(8 + len(array) + 4 * n for n in range(1000))]
    assert not has_room(binary([array, nested], places, 0))
