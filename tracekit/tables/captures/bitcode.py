"""The bitstream of LLVM: blocks of records, in which abbreviations shorten the records.

The format is that of LLVM's public description of its bitcode files. A record is a code and its
numbers; the letters of a text are numbers too. A block that nobody asked for is skipped by the
length in its head, and no length is believed beyond the end of the content.
"""

import struct
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from tracekit.tables.bundle.errors import ArchiveError

WRAPPER = 0x0B17C0DE
_MAGIC = b"BC\xc0\xde"
_WRAPPED = struct.Struct("<5I")
_END_BLOCK = 0
_ENTER_SUBBLOCK = 1
_DEFINE_ABBREV = 2
_UNABBREV_RECORD = 3
_BLOCKINFO = 0
_SETBID = 1
_FIXED = 1
_VBR = 2
_ARRAY = 3
_CHAR6 = 4
_BLOB = 5
_LETTERS = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._"
_WORD = 32
_DEEPEST = 32  # blocks within blocks; a module has five
_MOST_NUMBERS = 1 << 22  # of a module; a kernel with 12 KB of bitcode has 15,000
_WIDEST = 64  # bits of a number


@dataclass(frozen=True, slots=True)
class BitcodeRecord:
    """A record: its code, its numbers, and its bytes with their place, if it has any.

    The place counts the bytes of the bitcode without its wrapper.
    """

    code: int
    numbers: list[int]
    blob: bytes = b""
    place: int = 0


@dataclass(frozen=True, slots=True)
class BitcodeBlock:
    """A block: its id, and its records and blocks in their order."""

    id: int
    members: "list[BitcodeRecord | BitcodeBlock]"

    def records(self) -> Iterator[BitcodeRecord]:
        """Yield the records, without those of inner blocks."""
        for member in self.members:
            if isinstance(member, BitcodeRecord):
                yield member

    def blocks(self, block_id: int) -> "Iterator[BitcodeBlock]":
        """Yield the inner blocks of an id."""
        for member in self.members:
            if isinstance(member, BitcodeBlock) and member.id == block_id:
                yield member


class _Operand(NamedTuple):
    """One operand of an abbreviation: a literal value, or an encoding with its width."""

    kind: int
    value: int


_Abbreviation = list[_Operand]
_LITERAL = 0


@dataclass(slots=True)
class _Bits:
    """Content that is read bit by bit; a read beyond its end raises ArchiveError."""

    content: bytes
    place: int = 0
    number_count: int = 0

    @property
    def end(self) -> int:
        return len(self.content) * 8

    def read(self, width: int) -> int:
        """Return the next number of a width."""
        place = self.place
        if width > _WIDEST or place + width > self.end:
            raise ArchiveError("has bitcode that ends too early")
        window_end = (place + width + 7) >> 3
        window = int.from_bytes(self.content[place >> 3 : window_end], "little")
        self.place = place + width
        return (window >> (place & 7)) & ((1 << width) - 1)

    def read_vbr(self, width: int) -> int:
        """Return the next number in chunks of a width, each with a bit that another follows."""
        if width < 2:  # noqa: PLR2004  a bit for the value, one for the next chunk
            raise ArchiveError("has bitcode with numbers of no width")
        more_bit = 1 << (width - 1)
        value = 0
        shift = 0
        while True:
            chunk = self.read(width)
            value |= (chunk & (more_bit - 1)) << shift
            if not chunk & more_bit:
                return value
            shift += width - 1
            if shift > _WIDEST:
                raise ArchiveError("has bitcode with a number that does not end")

    def align(self) -> None:
        """Go on to the next word."""
        self.place = (self.place + _WORD - 1) & -_WORD

    def read_bytes(self, size: int) -> bytes:
        """Return whole bytes, from a word on."""
        self.align()
        start = self.place >> 3
        if start + size > len(self.content):
            raise ArchiveError("has bitcode that ends too early")
        self.place += size * 8
        return self.content[start : start + size]

    def read_count(self) -> int:
        """Return the number of numbers that follow, each of which has one bit at least."""
        count = self.read_vbr(6)
        if self.place + count > self.end:
            raise ArchiveError("has bitcode that ends too early")
        self.number_count += count
        if self.number_count > _MOST_NUMBERS:
            raise ArchiveError("has too much bitcode")
        return count


def find_start(content: bytes) -> int:
    """Return the place of bitcode in the wrapper that may surround it."""
    if len(content) < _WRAPPED.size:
        raise ArchiveError("has bitcode that ends too early")
    magic, _, offset, _, _ = _WRAPPED.unpack_from(content)
    start = offset if magic == WRAPPER else 0
    if content[start : start + 4] != _MAGIC:
        raise ArchiveError("has bitcode without its magic number")
    return start


def read_blocks(content: bytes, is_wanted: Callable[[int, int], bool]) -> list[BitcodeBlock]:
    """Return the blocks of bitcode.

    `is_wanted` gets the ids of a block and of the block around it, -1 for none; a block that is not
    wanted is skipped. Raise ArchiveError if the content is damaged.
    """
    bits = _Bits(_unwrap(content), 32)
    reader = _BlockReader(bits, is_wanted)
    blocks: list[BitcodeBlock] = []
    while bits.place + _WORD <= bits.end:
        if bits.read(2) != _ENTER_SUBBLOCK:
            raise ArchiveError("has bitcode with a record outside its blocks")
        block = reader.read_block(-1, 0)
        if block is not None:
            blocks.append(block)
    return blocks


def _unwrap(content: bytes) -> bytes:
    start = find_start(content)
    size = len(content) - start
    if start:
        size = _WRAPPED.unpack_from(content)[3]
    return content[start : start + size]


@dataclass(slots=True)
class _BlockReader:
    bits: _Bits
    is_wanted: Callable[[int, int], bool]
    shared: dict[int, list[_Abbreviation]] = field(default_factory=dict[int, list[_Abbreviation]])

    def read_block(self, around: int, depth: int) -> BitcodeBlock | None:
        """Read the block whose head begins here; return None if it is skipped."""
        bits = self.bits
        block_id = bits.read_vbr(8)
        width = bits.read_vbr(4)
        bits.align()
        words = bits.read(_WORD)
        end = bits.place + words * _WORD
        if end > bits.end or depth > _DEEPEST:
            raise ArchiveError("has bitcode with a block beyond its end")
        if block_id != _BLOCKINFO and not self.is_wanted(block_id, around):
            bits.place = end
            return None
        block = BitcodeBlock(block_id, [])
        abbreviations = list(self.shared.get(block_id, ()))
        self._fill(block, width, abbreviations, depth)
        if block_id == _BLOCKINFO:
            return None
        return block

    def _fill(
        self, block: BitcodeBlock, width: int, abbreviations: list[_Abbreviation], depth: int
    ) -> None:
        bits = self.bits
        described = -1  # the block that a BLOCKINFO describes
        while True:
            abbreviation_id = bits.read(width)
            if abbreviation_id == _END_BLOCK:
                bits.align()
                return
            if abbreviation_id == _ENTER_SUBBLOCK:
                inner = self.read_block(block.id, depth + 1)
                if inner is not None:
                    block.members.append(inner)
            elif abbreviation_id == _DEFINE_ABBREV:
                abbreviation = self._read_abbreviation()
                if block.id == _BLOCKINFO:
                    self.shared.setdefault(described, []).append(abbreviation)
                else:
                    abbreviations.append(abbreviation)
            else:
                record = self._read_record(abbreviation_id, abbreviations)
                if block.id != _BLOCKINFO:
                    block.members.append(record)
                elif record.code == _SETBID and record.numbers:
                    described = record.numbers[0]

    def _read_abbreviation(self) -> _Abbreviation:
        bits = self.bits
        operands: _Abbreviation = []
        for _ in range(bits.read_vbr(5)):
            if bits.read(1):
                operands.append(_Operand(_LITERAL, bits.read_vbr(8)))
                continue
            kind = bits.read(3)
            value = 0
            if kind in {_FIXED, _VBR}:
                value = bits.read_vbr(5)
            operands.append(_Operand(kind, value))
        return operands

    def _read_record(
        self, abbreviation_id: int, abbreviations: list[_Abbreviation]
    ) -> BitcodeRecord:
        bits = self.bits
        if abbreviation_id == _UNABBREV_RECORD:
            code = bits.read_vbr(6)
            numbers = [bits.read_vbr(6) for _ in range(bits.read_count())]
            return BitcodeRecord(code, numbers)
        place = abbreviation_id - _UNABBREV_RECORD - 1
        if place >= len(abbreviations):
            raise ArchiveError("has bitcode with an undefined abbreviation")
        return self._read_abbreviated(abbreviations[place])

    def _read_abbreviated(self, operands: _Abbreviation) -> BitcodeRecord:
        bits = self.bits
        numbers: list[int] = []
        blob = b""
        place = 0
        for operand in operands:
            if operand.kind == _ARRAY:
                element = operands[-1]
                numbers += [self._read_number(element) for _ in range(bits.read_count())]
                break
            if operand.kind == _BLOB:
                blob = bits.read_bytes(bits.read_vbr(6))
                place = (bits.place >> 3) - len(blob)
                bits.align()
                break
            numbers.append(self._read_number(operand))
        if not numbers:
            raise ArchiveError("has bitcode with a record without a code")
        return BitcodeRecord(numbers[0], numbers[1:], blob, place)

    def _read_number(self, operand: _Operand) -> int:
        kind = operand.kind
        if kind == _LITERAL:
            return operand.value
        if kind == _CHAR6:
            return _LETTERS[self.bits.read(6)]
        if kind not in {_FIXED, _VBR}:
            raise ArchiveError("has bitcode with an unknown encoding")
        if operand.value == 0:
            return 0
        if kind == _FIXED:
            return self.bits.read(operand.value)
        return self.bits.read_vbr(operand.value)


def read_strings(count: int, offset: int, blob: bytes) -> list[str]:
    """Return the texts of a record METADATA_STRINGS."""
    places = find_strings(count, offset, blob)
    return [blob[start:end].decode("utf-8", "replace") for start, end in places]


def find_strings(count: int, offset: int, blob: bytes) -> list[tuple[int, int]]:
    """Return the begin and end of each text of a METADATA_STRINGS: lengths, then letters."""
    if not 0 <= offset <= len(blob):
        raise ArchiveError("has bitcode with texts beyond their record")
    lengths = _Bits(blob[:offset])
    places: list[tuple[int, int]] = []
    start = offset
    for _ in range(count):  # which ends at the end of the lengths at the latest
        end = start + lengths.read_vbr(6)
        if end > len(blob):
            raise ArchiveError("has bitcode with texts beyond their record")
        places.append((start, end))
        start = end
    return places
