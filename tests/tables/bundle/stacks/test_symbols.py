"""Symbols of a binary out of literal archives, and their readable names."""

import string
import struct
from uuid import UUID

import numpy as np
import pytest

from tracekit.tables.bundle.errors import ArchiveError
from tracekit.tables.bundle.stacks.symbols import SymbolsArchive, readable

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


def names(content: bytes, *offsets: int) -> list[str | None]:
    read = SymbolsArchive(content, DYLD)
    symbols = read.find(np.array(offsets, np.int64)).tolist()
    return [None if symbol < 0 else read.name(symbol) for symbol in symbols]


def test_symbols_by_offset() -> None:
    content = archive((0x200, 0x10, NOTHING, LOAD), (0x100, 0x20, MAIN, MAIN_LINKED))
    assert names(content, 0xFF, 0x100, 0x11F, 0x120) == [None, "main", "main", None]
    assert names(content, 0x200, 0x20F, 0x210) == ["dyld4::APIs::load()"] * 2 + [None]
    assert names(content, -1, -(1 << 60), 1 << 60) == [None, None, None]


def test_names_beyond_the_pool_are_none() -> None:
    assert names(archive((0, 9, 10_000, 0), (10, 9, 0, 1 << 31)), 0, 10) == ["HEAD", None]
    assert names(archive((0, 9, 5, 0), pool=b"HEAD\0main"), 0) == ["HEAD"]


WHOLE = archive((0x100, 0x20, MAIN, MAIN_LINKED))


def test_damaged_archives(subtests: pytest.Subtests) -> None:
    for content, reason in (
        (b"", "cut"),
        (WHOLE[:0x60], "cut"),
        (WHOLE[:-1], "cut"),
        (WHOLE + b"\0", "cut"),
        (b"\x08" + WHOLE[1:], "version 8, which is not known"),
        (WHOLE[:0x34] + bytes(16) + WHOLE[0x44:], "another binary"),
        (WHOLE[:16] + b"\xff\xff\xff\xff" + WHOLE[20:], "cut"),
        (WHOLE[:0x54] + b"\xff\xff\xff\xff" + WHOLE[0x58:], "cut"),
    ):
        with subtests.test(reason), pytest.raises(ArchiveError, match=reason):
            SymbolsArchive(content, DYLD)


READABLE = {
    "__ZN5dyld4L7prepareERNS_4APIsEPKN6mach_o6HeaderE":
        "dyld4::prepare(dyld4::APIs&, mach_o::Header const*)",
    "____ZNK5dyld46Loader4findERNS_12RuntimeStateE_block_invoke":
        "invocation function for block in dyld4::Loader::find(dyld4::RuntimeState&) const",
    "_Z3foov": "foo()",
    "DYLD-STUB$$__objc_init": "DYLD-STUB$$_objc_init",
    "DYLD-STUB$$_strtoencf16": "DYLD-STUB$$strtoencf16",
}  # fmt: skip
PLAIN = ("-[MTLDevice newBuffer:]", "_$s4main3fooyyF", "__ZN3foo", "__Z", "_main", "")


def doubling(levels: int) -> str:
    """Return a name of which each part holds the one before it twice."""
    digits = string.digits + string.ascii_uppercase
    places = ["", *digits[: levels - 1]]
    return "_Z1f1A" + "".join(f"FvS{place}_S{place}_E" for place in places)


PACKS = f"_Z1fIJ{'i' * 500}EEv{'Dp' * 5}T_"


@pytest.mark.parametrize(("symbol", "name"), READABLE.items())
def test_names_are_readable(symbol: str, name: str) -> None:
    assert readable(symbol) == name


def test_plain_names_and_those_that_would_fill_all_memory_stay_as_they_are() -> None:
    for name in (*PLAIN, *map(doubling, (20, 30, 36)), PACKS):
        assert readable(name) == name
