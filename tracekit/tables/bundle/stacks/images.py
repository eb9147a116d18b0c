"""The binaries that the processes of a run have loaded, and which of them lies at an address.

Layout: docs/explanation/trace-bundles.md. The document keeps a signature for each process: its
binaries, from when to when they were there, and their segments.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple
from uuid import UUID

import numpy as np

from tracekit.tables.bundle.container.uniquer import Numbers
from tracekit.tables.bundle.stacks.frames import NO_BINARY, Addresses, Binary

_HEAD = struct.Struct("<6I")
_IMAGE = struct.Struct("<16sIIQQIIII")
_SEGMENT = struct.Struct("<16sQQ")
_TRAILER = struct.Struct("<II16sQ")
_HEAD_MAGIC, _HEAD_VERSION = 0xFF01FF02, 1
_TRAILER_MAGIC, _TRAILER_VERSION = 0x00C0FFEE, 4
_OPEN_END = 0x7FFFFFFFFFFFFFFF
_ARM64 = 0x0100000C
_SUBTYPE = 0x00FFFFFF  # the rest are flags
_ARCHS = {0: "arm64", 2: "arm64e"}
_TEXT = "__TEXT"
_SHARED = "__LINKEDIT"  # of all binaries of a shared cache in one place; never code
_MOST_VARIANTS = 16
_MOST_IMAGES = 1 << 16


class SignatureError(ValueError):
    """What says which binaries a process has loaded is damaged, or of an unknown form."""


class Segment(NamedTuple):
    """A part of a binary, as the process has it."""

    name: str
    address: int
    size: int


@dataclass(frozen=True)
class Image:
    """A binary of a process, there from one mach time to another."""

    binary: Binary
    begin: int
    end: int
    segments: tuple[Segment, ...]

    def moved(self, base: int) -> "Image":
        """Return the image with all its addresses so much higher."""
        load = self.binary.load_address
        binary = Binary(
            self.binary.name,
            self.binary.uuid,
            self.binary.arch,
            None if load is None else load + base,
            self.binary.path,
        )
        segments = tuple(Segment(one.name, one.address + base, one.size) for one in self.segments)
        return Image(binary, self.begin, self.end, segments)


class Signature(NamedTuple):
    """The binaries of a process, and the shared cache beside: its UUID and where it lies."""

    images: tuple[Image, ...]
    cache: UUID
    base: int


def read_signature(content: bytes) -> Signature:
    """Return the binaries of a process.

    Raises:
        SignatureError: The signature is cut, damaged, or of a version that is not known.
    """
    try:
        magic, version, _, _, _, count = _HEAD.unpack_from(content)
        if (magic, version) != (_HEAD_MAGIC, _HEAD_VERSION):
            raise SignatureError("is of an unknown form")
        if count > _MOST_IMAGES:
            raise SignatureError(f"names more than {_MOST_IMAGES:,} binaries")
        offset, images = _HEAD.size, list[Image]()
        for _ in range(count):
            image, offset = _image(content, offset)
            images.append(image)
        magic, version, cache, base = _TRAILER.unpack_from(content, offset)
    except struct.error as error:
        raise SignatureError("is cut") from error
    if (magic, version) != (_TRAILER_MAGIC, _TRAILER_VERSION):
        raise SignatureError("does not end as it must")
    return Signature(tuple(images), UUID(bytes=cache), base)


def _image(content: bytes, offset: int) -> tuple[Image, int]:
    uuid, _, _, begin, end, cpu, subtype, segments, length = _IMAGE.unpack_from(content, offset)
    offset += _IMAGE.size
    if offset + length + segments * _SEGMENT.size > len(content):
        raise SignatureError("is cut")
    path = content[offset : offset + length].rstrip(b"\0").decode(errors="replace")
    offset += length
    found = tuple(_segments(content, offset, segments))
    load = next((one.address for one in found if one.name == _TEXT), None)
    arch = _ARCHS.get(subtype & _SUBTYPE) if cpu == _ARM64 else None
    name = path.rpartition("/")[2]
    binary = Binary(name, str(UUID(bytes=uuid)).upper(), arch, load, path)
    return Image(binary, begin, end, found), offset + segments * _SEGMENT.size


def _segments(content: bytes, offset: int, count: int) -> Iterator[Segment]:
    for place in range(offset, offset + count * _SEGMENT.size, _SEGMENT.size):
        name, address, size = _SEGMENT.unpack_from(content, place)
        yield Segment(name.rstrip(b"\0").decode(errors="replace"), address, size)


class ImageMap:
    """Which binary of a process lies at an address at a time."""

    def __init__(self, images: tuple[Image, ...]) -> None:
        """Take the binaries of one process."""
        parts = [
            (one.address, one.size, image.begin, image.end, number)
            for number, image in enumerate(images)
            for one in image.segments
            if one.size and one.name != _SHARED and one.address + one.size < 1 << 64
        ]
        parts.sort()
        table = np.array(parts, np.uint64).reshape(-1, 5)
        self._starts, sizes, self._begins, self._ends, numbers = table.T.copy()
        self._sizes = sizes
        self._numbers = numbers.astype(np.int64)

    def find(self, addresses: Addresses, ticks: Addresses) -> Numbers:
        """Return the number of the binary at each address at each mach time, or `NO_BINARY`."""
        found = np.full(addresses.size, NO_BINARY, np.int64)
        place = np.searchsorted(self._starts, addresses, side="right") - 1
        for _ in range(_MOST_VARIANTS):
            left = np.flatnonzero((found == NO_BINARY) & (place >= 0))
            if not left.size:
                break
            at, tick = place[left], ticks[left]
            there = addresses[left] - self._starts[at] < self._sizes[at]
            there &= (self._begins[at] <= tick) & (
                (tick < self._ends[at]) | (self._ends[at] == _OPEN_END)
            )
            found[left[there]] = self._numbers[at[there]]
            place[left] -= 1
        return found
