"""Binaries of processes out of literal signatures, and which of them lies where."""

import struct
from uuid import UUID

import numpy as np
import pytest

from tracekit.tables.bundle.errors import ArchiveError
from tracekit.tables.bundle.stacks.images import (
    Image,
    ImageMap,
    Segment,
    read_signature,
)

DYLD = UUID("044cd67e-3a0a-3ca4-8bb3-a9687d5328fe")
CACHE = UUID("0596a7b6-bce2-3f06-a2e8-3eaab5371ed8")
OPEN = 0x7FFFFFFFFFFFFFFF
ARM64 = 0x0100000C
TEXT = Segment("__TEXT", 0x1000, 0x800)


def one(
    *segments: Segment,
    path: bytes = b"/usr/lib/dyld\0\0\0",
    begin: int = 0,
    end: int = OPEN,
    cpu: tuple[int, int] = (ARM64, 2),
) -> bytes:
    fields = struct.pack("<IIQQIIII", 0, 0, begin, end, *cpu, len(segments), len(path))
    parts = b"".join(struct.pack("<16sQQ", s.name.encode(), s.address, s.size) for s in segments)
    return DYLD.bytes + fields + path + parts


def whole(*images: bytes, base: int = 0) -> bytes:
    head = struct.pack("<6I", 0xFF01FF02, 1, 4711, 0, 0, len(images))
    return head + b"".join(images) + struct.pack("<II16sQ", 0x00C0FFEE, 4, CACHE.bytes, base)


def image(*segments: Segment, begin: int = 0, end: int = OPEN) -> Image:
    return read_signature(whole(one(*segments, begin=begin, end=end))).images[0]


def found(images: ImageMap, *addresses: int, tick: int = 50) -> list[int]:
    return images.find(
        np.array(addresses, np.uint64), np.full(len(addresses), tick, np.uint64)
    ).tolist()


def test_a_binary_of_a_signature() -> None:
    data = Segment("__DATA", 0x9000, 0x100)
    read = read_signature(whole(one(data, TEXT, begin=7, end=9), base=0x180000000))
    assert (read.cache, read.base) == (CACHE, 0x180000000)
    (binary,) = [one.binary for one in read.images]
    assert binary.name == "dyld"
    assert binary.uuid == "044CD67E-3A0A-3CA4-8BB3-A9687D5328FE"
    assert binary.arch == "arm64e"
    assert binary.load_address == 0x1000
    assert binary.path == "/usr/lib/dyld"
    assert (read.images[0].begin, read.images[0].end) == (7, 9)
    assert read.images[0].segments == (data, TEXT)


def test_addresses_of_binaries() -> None:
    images = ImageMap((image(Segment("__TEXT", 0x3000, 0x10)), image(TEXT)))
    assert found(images, 0xFFF, 0x1000, 0x17FF, 0x1800, 0x3000, 0x3010) == [-1, 1, 1, -1, 0, -1]


def test_a_binary_that_was_loaded_twice_is_found_by_time() -> None:
    first, second = image(TEXT, begin=0, end=50), image(TEXT, begin=50)
    images = ImageMap((second, first))
    assert found(images, 0x1000, tick=49) == [1]
    assert found(images, 0x1000, tick=50) == [0]
    assert found(ImageMap((first,)), 0x1000, tick=50) == [-1]


def test_the_link_edit_of_a_shared_cache_is_of_no_binary() -> None:
    cache = Segment("__LINKEDIT", 0x1000, 0x10000000)
    assert found(ImageMap((image(cache), image(TEXT))), 0x1000, 0x2000) == [1, -1]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "cut"),
        (whole(one(TEXT))[:-1], "cut"),
        (whole(one(TEXT))[:100], "cut"),
        (whole(one(TEXT))[:60], "cut"),
        (b"\0" + whole()[1:], "unknown form"),
        (whole().replace(b"\xee\xff\xc0", b"\0\0\0"), "end"),
        (struct.pack("<6I", 0xFF01FF02, 1, 0, 0, 0, 0xFFFFFFFF), "more than 65,536 binaries"),
        (struct.pack("<6I", 0xFF01FF02, 1, 0, 0, 0, 0xFFFF), "cut"),
        (whole(one(TEXT)).replace(struct.pack("<I", 16), b"\xff\xff\xff\xff", 1), "cut"),
    ],
)
def test_damaged_signatures(content: bytes, why: str) -> None:
    with pytest.raises(ArchiveError, match=why):
        read_signature(content)
