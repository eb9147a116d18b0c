"""The places of texts without an end in packed contents: property lists and bitcode.

A text there may touch the next one, so that a search over the bytes would not see where it ends.
"""

import struct
from collections.abc import Iterator
from dataclasses import dataclass

from tracekit.tables.captures.bitcode import BitcodeBlock, find_start, find_strings, read_blocks

PROPERTY_LIST = b"bplist00"
_TRAILER = struct.Struct(">6xBBQQQ")
_ASCII = 0x5
_WIDE = 0x6
_LONG = 0xF
_INTEGER = 0x1
_MODULE = 8
_FUNCTION = 12
_METADATA = 15
_STRTAB = 23
_TEXTS = 35
_SOURCE_NAME = 16
_MOST = 1 << 22


@dataclass(frozen=True, slots=True)
class TextPlace:
    """The place of a text in a content: its first byte, its size in bytes, its encoding."""

    start: int
    size: int
    encoding: str = "utf-8"


def list_property_texts(content: bytes) -> Iterator[TextPlace]:
    """Yield the places of the texts of a binary property list."""
    if len(content) < len(PROPERTY_LIST) + _TRAILER.size:
        return
    trailer_start = len(content) - _TRAILER.size
    width, _, count, _, table = _TRAILER.unpack_from(content, trailer_start)
    if not 0 < width <= 8 or count > _MOST or table + count * width > len(content):  # noqa: PLR2004
        return
    for number in range(count):
        start = table + number * width
        place = int.from_bytes(content[start : start + width], "big")
        text = _read_text_place(content, place, trailer_start)
        if text is not None:
            yield text


def _read_text_place(content: bytes, place: int, end: int) -> TextPlace | None:
    if not len(PROPERTY_LIST) <= place < end:
        return None
    kind = content[place] >> 4
    length = content[place] & _LONG
    start = place + 1
    if kind not in {_ASCII, _WIDE}:
        return None
    if length == _LONG and start < end and content[start] >> 4 == _INTEGER:
        width = 1 << (content[start] & _LONG)
        length = int.from_bytes(content[start + 1 : start + 1 + width], "big")
        start += 1 + width
    size = length
    encoding = "utf-8"
    if kind == _WIDE:
        size = 2 * length
        encoding = "utf-16-be"
    if start + size > end:
        return None
    return TextPlace(start, size, encoding)


def list_air_texts(content: bytes) -> Iterator[TextPlace]:
    """Yield the places of the texts in the metadata of AIR; raise ArchiveError if it is damaged."""
    shift = find_start(content)
    for block in read_blocks(content, _has_texts):
        yield from _list_block_texts(block, shift)


def _has_texts(block_id: int, _: int) -> bool:
    return block_id in {_MODULE, _FUNCTION, _METADATA, _STRTAB}


def _list_block_texts(block: BitcodeBlock, shift: int) -> Iterator[TextPlace]:
    for member in block.members:
        if isinstance(member, BitcodeBlock):
            yield from _list_block_texts(member, shift)
        elif block.id == _METADATA and member.code == _TEXTS:
            count = member.numbers[0]
            for start, end in find_strings(count, member.numbers[1], member.blob):
                yield TextPlace(shift + member.place + start, end - start)
        elif block.id == _STRTAB and member.blob:
            yield TextPlace(shift + member.place, len(member.blob))


def read_source_name(content: bytes) -> bytes:
    """Return the name of its source that AIR holds in a form that no other text can replace."""
    for block in read_blocks(content, _has_texts):
        for record in block.records():
            if block.id == _MODULE and record.code == _SOURCE_NAME:
                return bytes(number & 0xFF for number in record.numbers)
    return b""
