"""Stacks of cells: their texts, and their numbers as an export would number them."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundle_writer.encoding import Arrays as Written
from tracekit.tables.bundle.cells.encodings import Encoding
from tracekit.tables.bundle.container.files import Files
from tracekit.tables.bundle.container.uniquer import Arrays, Numbers
from tracekit.tables.bundle.errors import ArchiveError
from tracekit.tables.bundle.stacks.stacks import (
    NO_BINARY,
    Addresses,
    Binary,
    StackCells,
    StackColumn,
    Stacks,
)
from tracekit.tables.xml.node import FRAMES, STACKS

BACKTRACE, CALLSTACK = Encoding.BACKTRACE, Encoding.CALLSTACK
TAGGED, SYMBOL = Encoding.TAGGED_BACKTRACE, Encoding.TEXT_SYMBOL
NULL = (1 << 32) - 1


class StoredArrays:
    """Arrays of a run as literal numbers, written to a folder when they are first read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._written = Written()

    def id(self, *values: int) -> int:
        return self._written.id(values)

    def process(self) -> int:
        return self.id(4711, 0)

    def chunk(self, *addresses: int) -> int:
        return self.process() << 32 | self.id(*addresses)

    def backtrace(self, *addresses: int) -> int:
        """Return the number of a backtrace: its leaf in one chunk, the others in another."""
        return self.id(*(self.chunk(*part) for part in (addresses[:1], addresses[1:]) if part))

    def callstack(self, pc: int, *returns: int) -> int:
        return self.id(self.id(*returns), pc, self.process())

    def read(self) -> Arrays:
        """Return the arrays as the reader has them; there are no more to come."""
        self._written.write(self._folder / "arrayUniquer")
        return Arrays(Files(self._folder), "arrayUniquer")


@pytest.fixture
def stored(tmp_path: Path) -> StoredArrays:
    return StoredArrays(tmp_path)


class NoPlaces:
    """Nothing is known of any address."""

    binaries: Sequence[Binary] = ()

    def find(self, pids: Numbers, addresses: Addresses, times: Numbers) -> Numbers:  # noqa: ARG002
        return np.full(pids.size, NO_BINARY, np.int64)

    def names(self, binaries: Numbers, addresses: Addresses) -> list[str | None]:  # noqa: ARG002
        return [None] * binaries.size


class OneBinary(NoPlaces):
    """A binary of process 4711 from 0x1000 to 0x2000, with a symbol in its first half."""

    binaries = (Binary("dyld", "0A", "arm64e", 0x1000, "/usr/lib/dyld"),)

    def find(self, pids: Numbers, addresses: Addresses, times: Numbers) -> Numbers:
        """Return the binary where the address is its own, before it is gone."""
        within = (addresses >= 0x1000) & (addresses < 0x2000) & (pids == 4711) & (times < 2)
        return np.where(within, 0, NO_BINARY)

    def names(self, binaries: Numbers, addresses: Addresses) -> list[str | None]:
        pairs = zip(binaries.tolist(), addresses.tolist(), strict=True)
        return ["start" if not binary and at < 0x1800 else None for binary, at in pairs]


def column(encoding: Encoding, *ids: int) -> StackColumn:
    return encoding, np.array(ids, np.uint32)


class Read:
    """The cells of columns, a table of their own, and the symbols behind them."""

    def __init__(
        self, stored: StoredArrays, *columns: StackColumn, places: NoPlaces | None = None
    ) -> None:
        self.stacks = Stacks(stored.read(), places or NoPlaces())
        self.cells = self.more(*columns)
        self.texts, self.numbers = (
            [one[place].to_pylist() for one in self.cells] for place in (0, 1)
        )

    def more(self, *columns: StackColumn) -> list[StackCells]:
        return self.stacks.cells(columns, np.arange(columns[0][1].size))

    @property
    def frames(self) -> list[list[int]]:
        return self.stacks.symbols().stacks["frames"].to_pylist()

    @property
    def addresses(self) -> list[int]:
        return self.stacks.symbols().frames["address"].to_pylist()


def test_a_backtrace_is_worded_as_an_export_words_it(stored: StoredArrays) -> None:
    deep, alone = stored.backtrace(0x195480311, 0x1954390FC), stored.backtrace(0x101)
    found = Read(stored, column(BACKTRACE, deep, NULL, alone, deep))
    words = "0x195480311 ← (1 other frames)"
    assert found.texts == [[words, None, "0x101 ← (0 other frames)", words]]
    assert found.numbers == [[0, None, 1, 0]]
    assert found.frames == [[0, 1], [2]]
    assert found.addresses == [0x195480311, 0x1954390FC, 0x101]


def test_frames_are_looked_up_one_before_their_addresses_and_carry_binaries(
    stored: StoredArrays,
) -> None:
    traces = [stored.backtrace(0x1000, 0x1001, 0x1800, 0x1801), stored.backtrace(0x1801, 0x1001)]
    gone = stored.backtrace(0x1001)
    found = Read(stored, column(BACKTRACE, *traces, gone), places=OneBinary())
    frames = found.stacks.symbols().frames
    assert frames["name"].to_pylist() == [
        *("0x1000", "start", "start", "0x1800"),
        *("0x1801", "0x1001"),  # a leaf without a symbol, and one whose binary has gone
    ]
    assert frames["binary"].to_pylist() == [None, *["dyld"] * 4, None]
    assert frames["load_address"].to_pylist() == [None, *[0x1000] * 4, None]
    assert found.frames == [[0, 1, 2, 3], [4, 1], [5]]


def test_a_chunk_of_all_ones_ends_a_backtrace_and_one_may_have_no_process(
    stored: StoredArrays,
) -> None:
    ended = stored.id(stored.chunk(1), stored.chunk(2), NULL, stored.chunk(3))
    unowned = stored.id(NULL << 32 | stored.id(0x1002), stored.id(NULL, 0) << 32 | stored.id(5))
    found = Read(stored, column(BACKTRACE, ended, stored.id(NULL), unowned), places=OneBinary())
    assert found.texts == [["0x1 ← (1 other frames)", "", "0x1002 ← (1 other frames)"]]
    assert found.numbers == [[0, None, 1]]


def test_addresses_of_user_space_lose_the_bits_that_authenticate_them(
    stored: StoredArrays,
) -> None:
    kernel = 0xFFFF_FE00_1234_5678
    found = Read(stored, column(BACKTRACE, stored.backtrace(0x0034_8001_9543_A35C, kernel, 0)))
    assert found.addresses == [0x1_9543_A35C, kernel, 0]
    names = found.stacks.symbols().frames["name"].to_pylist()
    assert names == ["0x19543a35c", hex(kernel - 1), "0x0"]


@pytest.mark.parametrize(
    ("encoding", "array", "why"),
    [
        (CALLSTACK, (1,), "no callstack"),
        (TAGGED, (), "no tagged backtrace"),
        (TAGGED, (1 << 40, 2), "no tagged backtrace"),
        (SYMBOL, (1,), "no text symbol"),
        (BACKTRACE, (99_999,), "does not hold"),
        (CALLSTACK, (1 << 40, 1, 0), "does not hold"),
    ],
)
def test_arrays_of_another_kind_are_refused(
    stored: StoredArrays, encoding: Encoding, array: tuple[int, ...], why: str
) -> None:
    stored.process()
    with pytest.raises(ArchiveError, match=why):
        Read(stored, column(encoding, stored.id(*array)))


@pytest.mark.parametrize("encoding", [BACKTRACE, CALLSTACK])
def test_a_stack_deeper_than_any_is_refused(stored: StoredArrays, encoding: Encoding) -> None:
    deepest, deeper = (
        stored.backtrace(*range(1, depth + 1))
        if encoding is BACKTRACE
        else stored.callstack(1, *range(1, depth + 1))
        for depth in (1 << 14, (1 << 14) + 1)
    )
    found = Read(stored, column(encoding, deepest))
    with pytest.raises(ArchiveError, match="more than 16,384 frames"):
        found.more(column(encoding, deeper))


def test_zeros_before_the_last_address_are_frames(stored: StoredArrays) -> None:
    one, none = stored.callstack(5, 0, 7, 0, 0), stored.callstack(0, 0)
    found = Read(stored, column(CALLSTACK, one, none))
    assert (found.numbers, found.frames) == ([[0, 1]], [[0, 1, 2], []])


def test_what_a_callstack_lacks_is_not_said(stored: StoredArrays) -> None:
    ones = (1 << 64) - 1
    bare, narrow = stored.id(ones, ones, ones), stored.id(NULL, 0x100, NULL)
    found = Read(stored, column(CALLSTACK, bare, narrow))
    assert found.texts == [["0 frames, 0 regs", "PC:0x100, 0 frames, 0 regs"]]
    assert found.numbers == [[None, 0]]


def test_stacks_are_numbered_row_by_row_over_all_columns(stored: StoredArrays) -> None:
    kernel, user, other = (stored.callstack(pc) for pc in (0x30, 0x20, 0x10))
    columns = column(CALLSTACK, NULL, kernel, other), column(CALLSTACK, user, other, kernel)
    found = Read(stored, *columns)
    assert found.numbers == [[None, 1, 2], [0, 2, 1]]
    assert found.addresses == [0x20, 0x30, 0x10]


def test_bare_addresses_are_numbered_behind_all_frames(stored: StoredArrays) -> None:
    callstack, trace = stored.callstack(0x10), stored.backtrace(0x21, 0x10)
    found = Read(stored, column(CALLSTACK, callstack), column(BACKTRACE, trace))
    symbols = found.stacks.symbols()
    assert found.frames == [[2], [0, 1]]
    assert symbols.frames["name"].to_pylist() == ["0x21", "0xf", None]
    assert (symbols.frames.schema, symbols.stacks.schema) == (FRAMES, STACKS)


def test_a_tagged_backtrace_is_the_stack_that_it_wraps_and_a_text_symbol_has_none(
    stored: StoredArrays,
) -> None:
    trace = stored.backtrace(0x11, 0x20)
    tagged = column(TAGGED, stored.id(trace, 3), NULL, stored.id(trace))  # the last has no tag
    symbol = stored.id(stored.process(), 0x1007C6CA8)
    found = Read(stored, tagged, column(SYMBOL, symbol, NULL, NULL))
    words = "0x11 ← (1 other frames)"
    assert found.texts == [[words, None, words], ["0x1007c6ca7  ", None, None]]
    assert (found.numbers, found.frames) == ([[0, None, 1], [None] * 3], [[0, 1], [0, 1]])


def test_the_same_array_repeated_beyond_all_memory_is_refused(
    stored: StoredArrays, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracekit.tables.bundle.stacks.stacks._MOST", 10_009)
    chunk = stored.chunk(*range(1000))
    ids = [stored.id(chunk, stored.chunk(number)) for number in range(10)]
    found = Read(stored, column(BACKTRACE, *ids[:9]))
    with pytest.raises(ArchiveError, match="more frames than are read"):
        found.more(column(BACKTRACE, *ids))


@given(st.data())
def test_numbering_equals_a_plain_loop(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    stored = StoredArrays(tmp_path_factory.mktemp("arrays"))
    deep = st.lists(st.integers(1, 6), min_size=1, max_size=4)
    ids = [stored.callstack(*one) for one in data.draw(st.lists(deep, min_size=1, max_size=5))]
    rows = data.draw(st.lists(st.tuples(*[st.sampled_from([NULL, *ids])] * 2), max_size=8))
    columns = [column(CALLSTACK, *(row[place] for row in rows)) for place in (0, 1)]
    found = Read(stored, *columns).numbers
    order = [*dict.fromkeys(one for row in rows for one in row if one != NULL)]
    numbers = {one: number for number, one in enumerate(order)} | {NULL: None}
    assert found == [[numbers[row[place]] for row in rows] for place in (0, 1)]
