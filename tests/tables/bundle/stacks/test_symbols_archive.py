"""Symbols of a binary out of literal archives."""

import struct
from uuid import UUID

import numpy as np
import pytest

from tracekit.tables.bundle.errors import ArchiveError
from tracekit.tables.bundle.stacks.symbols import SymbolsArchive

DYLD = "044CD67E-3A0A-3CA4-8BB3-A9687D5328FE"
POOL = b"HEAD\0_main\0main\0__ZN5dyld44APIs4loadEv\0"
NOTHING, MAIN_LINKED, MAIN, LOAD = 0, 5, 11, 16


def archive(*symbols: tuple[int, int, int, int], pool: bytes = POOL, sections: int = 2) -> bytes:
    body = struct.pack("<QQ16s", 0, 0x1000, b"__TEXT")
    body += struct.pack("<QQQ", 0, 0x1000, 0) * sections
    for offset, size, name, mangled in symbols:
        body += struct.pack("<5Ii", offset, size, 860505089, name, mangled, -1)
    body += struct.pack(f"<{len(symbols)}I", *range(len(symbols))) + bytes(8) + pool
    counts = struct.pack("<5I", 7, 0x60 + len(body), 1, sections, len(symbols))
    head = counts.ljust(0x34, b"\0") + UUID(DYLD).bytes
    head = head.ljust(0x54, b"\0") + struct.pack("<II", len(pool), 8)
    return head.ljust(0x60, b"\0") + body


def names(read: SymbolsArchive, *offsets: int) -> list[str | None]:
    found = read.find(np.array(offsets, np.int64)).tolist()
    return [None if symbol < 0 else read.name(symbol) for symbol in found]


def test_symbols_by_offset() -> None:
    read = SymbolsArchive(
        archive((0x200, 0x10, NOTHING, LOAD), (0x100, 0x20, MAIN, MAIN_LINKED)), DYLD
    )
    assert names(read, 0xFF, 0x100, 0x11F, 0x120) == [None, "main", "main", None]
    assert names(read, 0x200, 0x20F, 0x210) == ["dyld4::APIs::load()"] * 2 + [None]
    assert names(read, -1, -(1 << 60), 1 << 60) == [None, None, None]


def test_names_beyond_the_pool_are_none() -> None:
    far = SymbolsArchive(archive((0, 9, 10_000, 0), (10, 9, 0, 1 << 31)), DYLD)
    assert names(far, 0, 10) == ["HEAD", None]
    unended = SymbolsArchive(archive((0, 9, 5, 0), pool=b"HEAD\0main"), DYLD)
    assert names(unended, 0) == ["HEAD"]


WHOLE = archive((0x100, 0x20, MAIN, MAIN_LINKED))


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"", "cut"),
        (WHOLE[:0x60], "cut"),
        (WHOLE[:-1], "cut"),
        (WHOLE + b"\0", "cut"),
        (b"\x08" + WHOLE[1:], "version 8, which is not known"),
        (WHOLE[:0x34] + bytes(16) + WHOLE[0x44:], "another binary"),
        (WHOLE[:16] + b"\xff\xff\xff\xff" + WHOLE[20:], "cut"),
        (WHOLE[:0x54] + b"\xff\xff\xff\xff" + WHOLE[0x58:], "cut"),
    ],
)
def test_damaged_archives(content: bytes, why: str) -> None:
    with pytest.raises(ArchiveError, match=why):
        SymbolsArchive(content, DYLD)
