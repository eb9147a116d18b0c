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
    {"$0": 1, "$1": 10, "$2": UID(2), "$3": 20, "$4": UID(4)},
]
UNREADABLE = b'<?xml version="1.0" encoding="UPF-8"?><plist/>'


def archive(root: int = 1) -> Archive:
    contents = {"$objects": OBJECTS, "$top": {"root": UID(root)}}
    return Archive(plistlib.dumps(contents, fmt=plistlib.FMT_BINARY))


def test_a_dictionary_by_numbers_counts_its_members() -> None:
    whole_archive, short_archive = archive(root=6), archive(root=9)
    assert list(whole_archive.by_number(whole_archive.root)) == [
        (10, "name"),
        (20, {"NS.string": "value"}),
    ]
    with pytest.raises(ArchiveError, match="more members than it counts"):
        list(short_archive.by_number(short_archive.root))


@pytest.mark.parametrize("content", [b"", b"bplist00", b"<plist", b"\x00" * 100, UNREADABLE])
def test_other_files_are_not_property_lists(content: bytes) -> None:
    with pytest.raises(ArchiveError, match="is not a property list"):
        plist(content)


@pytest.mark.parametrize("value", [[], {}, {"$objects": {}, "$top": {}}, {"$objects": []}])
def test_other_lists_are_not_archives(value: Any) -> None:
    with pytest.raises(ArchiveError, match="is not a keyed archive"):
        Archive(plistlib.dumps(value))


def test_references_beyond_the_archive_are_reported() -> None:
    for reference, reason in (
        (99, "refers to an object that it does not hold"),
        (8, "refers to a reference"),
    ):
        with pytest.raises(ArchiveError, match=reason):
            archive().resolve(UID(reference))
    with pytest.raises(ArchiveError, match="holds no document"):
        archive().top("document")


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
        assert has_room(content), form


ARRAY = b"\xaf\x11\x03\xe8" + b"".join(struct.pack(">I", 1 + n) for n in range(1000))
BEHIND = 8 + len(ARRAY)


@pytest.mark.parametrize("marker", [b"\x5f\x11\x40\x00", b"\x4f\x11\x40\x00", b"\x6f\x11\x20\x00"])
def test_a_text_that_is_many_parts_at_once_has_none(marker: bytes) -> None:
    text = marker + b"a" * (1 << 14)
    assert has_room(binary([ARRAY, text], [8, BEHIND], 0))
    bomb = binary([ARRAY, text], [8, *[BEHIND] * 1000], 0)
    assert not has_room(bomb)
    with pytest.raises(ArchiveError, match="more than its size allows"):
        plist(bomb)


def test_parts_that_begin_within_one_another_have_none() -> None:
    nested = b"\x5f\x11\x0f\x00" * 1000 + b"a" * 4000
    places = [8, *(BEHIND + 4 * n for n in range(1000))]
    assert not has_room(binary([ARRAY, nested], places, 0))
