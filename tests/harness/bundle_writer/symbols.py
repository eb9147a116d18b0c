"""Writes the images of a process, and the names of an image's places.

Layout: docs/explanation/trace-bundles.md.
"""

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

_ARM64 = 0x0100000C
_SUBTYPES = {"arm64": 0, "arm64e": 2}
_NO_CACHE = UUID(int=0)


@dataclass(frozen=True)
class Symbol:
    """A named place of an image: bytes from the start of its text, bytes that it takes."""

    offset: int
    size: int
    name: str


@dataclass(frozen=True)
class Image:
    """A binary as a process has it loaded, its text at an address, between two mach times.

    `other_segments` are further segments: name, address, size. They stand before the text.
    """

    uuid: UUID
    path: str
    address: int
    size: int = 1 << 20
    arch: str = "arm64e"
    symbols: tuple[Symbol, ...] = ()
    begin: int = 0
    end: int = 0x7FFFFFFFFFFFFFFF
    other_segments: tuple[tuple[str, int, int], ...] = ()


def signature(pid: int, images: Sequence[Image], cache: UUID = _NO_CACHE, base: int = 0) -> bytes:
    """Return where the images of a process lie, and where its shared cache does."""
    head = struct.pack("<6I", 0xFF01FF02, 1, pid, 0, 0, len(images))
    trailer = struct.pack("<II16sQ", 0x00C0FFEE, 4, cache.bytes, base)
    return head + b"".join(map(_image, images)) + trailer


def _image(image: Image) -> bytes:
    path = image.path.encode() + b"\0"
    path = path.ljust(len(path) + -len(path) % 8, b"\0")
    kind = (_ARM64, _SUBTYPES[image.arch])
    segments = (*image.other_segments, ("__TEXT", image.address, image.size))
    times = (image.begin, image.end)
    fields = struct.pack("<IIQQIIII", 0, 0, *times, *kind, len(segments), len(path))
    packed = (struct.pack("<16sQQ", name.encode(), *place) for name, *place in segments)
    return image.uuid.bytes + fields + path + b"".join(packed)


def symbols_archive(image: Image) -> bytes:
    pool, places = bytearray(b"\0"), dict[str, int]()
    for text in ("1.0", "__TEXT", *(symbol.name for symbol in image.symbols)):
        if text not in places:
            places[text] = len(pool)
            pool += text.encode() + b"\0"
    count = len(image.symbols)
    segments = struct.pack("<QQ16s", 0, image.size, b"__TEXT")
    symbols = b"".join(
        struct.pack(
            "<5Ii", symbol.offset, symbol.size, 0, places[symbol.name], places[symbol.name], -1
        )
        for symbol in image.symbols
    )
    numbers = struct.pack(f"<{count}I", *range(count))
    body = segments + symbols + numbers + bytes(pool)
    size = 0x60 + len(body)
    head = bytearray(0x60)
    struct.pack_into("<5I", head, 0, 7, size, 1, 0, count)
    struct.pack_into("<II", head, 0x2C, places["1.0"], 0)
    kind = (_ARM64, _SUBTYPES[image.arch])
    struct.pack_into("<16sII", head, 0x34, image.uuid.bytes, *kind)
    struct.pack_into("<II", head, 0x54, len(pool), 0)
    return bytes(head) + body
