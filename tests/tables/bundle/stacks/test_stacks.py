"""Stacks of cells: their texts, and their numbers as an export would number them."""

from pathlib import Path
from uuid import UUID

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bundle_writer import Encoder, Image, RunInfo, Symbol, write_bundle
from small_bundle import PYTHON, TICK
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.cells.encodings import Encoding
from tracekit.tables.bundle.errors import ArchiveError
from tracekit.tables.bundle.stacks.images import RunPlaces
from tracekit.tables.bundle.stacks.stacks import BundleStacks, StackCells, StackColumn
from tracekit.tables.xml.node import FRAMES, STACKS

BACKTRACE, CALLSTACK = Encoding.BACKTRACE, Encoding.CALLSTACK
TAGGED, SYMBOL = Encoding.TAGGED_BACKTRACE, Encoding.TEXT_SYMBOL
NULL = (1 << 32) - 1


class Stored:
    """Arrays of a run as literal numbers, of a bundle that is written when they are first read."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "x.trace"
        self._encoder = Encoder()

    def id(self, *values: int) -> int:
        return self._encoder.arrays.id(values)

    def process(self) -> int:
        return self._encoder.process(PYTHON)

    def chunk(self, *addresses: int) -> int:
        return self.process() << 32 | self.id(*addresses)

    def backtrace(self, *addresses: int) -> int:
        """Return the number of a backtrace: its leaf in one chunk, the others in another."""
        return self.id(*(self.chunk(*part) for part in (addresses[:1], addresses[1:]) if part))

    def callstack(self, pc: int, *returns: int) -> int:
        return self.id(self.id(*returns), pc, self.process())

    def stacks(self, images: list[Image]) -> BundleStacks:
        """Return the stacks as the reader has them, with binaries that the process has loaded."""
        info = RunInfo(images={4711: images})
        run = Bundle(write_bundle(self._path, [TICK], encoder=self._encoder, info=info)).runs[0]
        return BundleStacks(run.arrays, RunPlaces(run))


@pytest.fixture
def stored(tmp_path: Path) -> Stored:
    return Stored(tmp_path)


def column(encoding: Encoding, *ids: int) -> StackColumn:
    return encoding, np.array(ids, np.uint32)


class Read:
    """The cells of columns, with a row each microsecond, and the symbols behind them."""

    def __init__(self, stored: Stored, *columns: StackColumn, image: Image | None = None) -> None:
        self.stacks = stored.stacks([image] if image else [])
        cells = self.more(*columns)
        self.texts, self.numbers = ([cell[place].to_pylist() for cell in cells] for place in (0, 1))

    def more(self, *columns: StackColumn) -> list[StackCells]:
        return self.stacks.cells(columns, 1000 * np.arange(columns[0][1].size))

    @property
    def frames(self) -> list[list[int]]:
        return self.stacks.symbols().stacks["frames"].to_pylist()

    @property
    def addresses(self) -> list[int]:
        return self.stacks.symbols().frames["address"].to_pylist()


def test_a_backtrace_is_worded_as_an_export_words_it(stored: Stored) -> None:
    deep, alone = stored.backtrace(0x195480311, 0x1954390FC), stored.backtrace(0x101)
    cells = Read(stored, column(BACKTRACE, deep, NULL, alone, deep))
    words = "0x195480311 ← (1 other frames)"
    assert cells.texts == [[words, None, "0x101 ← (0 other frames)", words]]
    assert cells.numbers == [[0, None, 1, 0]]
    assert cells.frames == [[0, 1], [2]]
    assert cells.addresses == [0x195480311, 0x1954390FC, 0x101]


START = (Symbol(0, 0x800, "start"),)
UNTIL = 1_000_000_000 + 48  # a mach time: two microseconds after the start of the recording
DYLD = Image(UUID(int=1), "/usr/lib/dyld", 0x1000, 0x1000, symbols=START, end=UNTIL)


def test_frames_are_looked_up_one_before_their_addresses_and_carry_binaries(stored: Stored) -> None:
    traces = [stored.backtrace(0x1000, 0x1001, 0x1800, 0x1801), stored.backtrace(0x1801, 0x1001)]
    unloaded_trace = stored.backtrace(0x1001)
    cells = Read(stored, column(BACKTRACE, *traces, unloaded_trace), image=DYLD)
    frames = cells.stacks.symbols().frames
    assert frames["name"].to_pylist() == [
        *("0x1000", "start", "start", "0x1800"),
        *("0x1801", "0x1001"),  # a leaf without a symbol, and one whose binary has gone
    ]
    assert frames["binary"].to_pylist() == [None, *["dyld"] * 4, None]
    assert frames["load_address"].to_pylist() == [None, *[0x1000] * 4, None]
    assert cells.frames == [[0, 1, 2, 3], [4, 1], [5]]


def test_a_chunk_of_all_ones_ends_a_backtrace_and_one_may_have_no_process(stored: Stored) -> None:
    ended_trace = stored.id(stored.chunk(1), stored.chunk(2), NULL, stored.chunk(3))
    unowned = stored.id(NULL << 32 | stored.id(0x1002), stored.id(NULL, 0) << 32 | stored.id(5))
    cells = Read(stored, column(BACKTRACE, ended_trace, stored.id(NULL), unowned), image=DYLD)
    assert cells.texts == [["0x1 ← (1 other frames)", "", "0x1002 ← (1 other frames)"]]
    assert cells.numbers == [[0, None, 1]]


def test_addresses_of_user_space_lose_the_bits_that_authenticate_them(stored: Stored) -> None:
    kernel = 0xFFFF_FE00_1234_5678
    cells = Read(stored, column(BACKTRACE, stored.backtrace(0x0034_8001_9543_A35C, kernel, 0)))
    assert cells.addresses == [0x1_9543_A35C, kernel, 0]
    names = cells.stacks.symbols().frames["name"].to_pylist()
    assert names == ["0x19543a35c", hex(kernel - 1), "0x0"]


@pytest.mark.parametrize(
    ("encoding", "array", "why"),
    [
        (CALLSTACK, (1,), "not a callstack"),
        (TAGGED, (), "not a tagged backtrace"),
        (TAGGED, (1 << 40, 2), "not a tagged backtrace"),
        (SYMBOL, (1,), "not a text symbol"),
        (BACKTRACE, (99_999,), "does not hold"),
        (CALLSTACK, (1 << 40, 1, 0), "does not hold"),
    ],
)
def test_arrays_of_another_kind_are_refused(
    stored: Stored, encoding: Encoding, array: tuple[int, ...], why: str
) -> None:
    stored.process()
    with pytest.raises(ArchiveError, match=why):
        Read(stored, column(encoding, stored.id(*array)))


@pytest.mark.parametrize("encoding", [BACKTRACE, CALLSTACK])
def test_a_stack_deeper_than_any_is_refused(stored: Stored, encoding: Encoding) -> None:
    deepest, deeper = (
        stored.backtrace(*range(1, depth + 1))
        if encoding is BACKTRACE
        else stored.callstack(1, *range(1, depth + 1))
        for depth in (1 << 14, (1 << 14) + 1)
    )
    cells = Read(stored, column(encoding, deepest))
    with pytest.raises(ArchiveError, match="more than 16,384 frames"):
        cells.more(column(encoding, deeper))


def test_zeros_before_the_last_address_are_frames(stored: Stored) -> None:
    padded_stack, empty_stack = stored.callstack(5, 0, 7, 0, 0), stored.callstack(0, 0)
    cells = Read(stored, column(CALLSTACK, padded_stack, empty_stack))
    assert (cells.numbers, cells.frames) == ([[0, 1]], [[0, 1, 2], []])


def test_missing_parts_of_a_callstack_are_left_out(stored: Stored) -> None:
    ones = (1 << 64) - 1
    bare_stack, narrow = stored.id(ones, ones, ones), stored.id(NULL, 0x100, NULL)
    cells = Read(stored, column(CALLSTACK, bare_stack, narrow))
    assert cells.texts == [["0 frames, 0 regs", "PC:0x100, 0 frames, 0 regs"]]
    assert cells.numbers == [[None, 0]]


def test_stacks_are_numbered_row_by_row_over_all_columns(stored: Stored) -> None:
    kernel, user, other_stack = (stored.callstack(pc) for pc in (0x30, 0x20, 0x10))
    columns = (
        column(CALLSTACK, NULL, kernel, other_stack),
        column(CALLSTACK, user, other_stack, kernel),
    )
    cells = Read(stored, *columns)
    assert cells.numbers == [[None, 1, 2], [0, 2, 1]]
    assert cells.addresses == [0x20, 0x30, 0x10]


def test_bare_addresses_are_numbered_behind_all_frames(stored: Stored) -> None:
    callstack, trace = stored.callstack(0x10), stored.backtrace(0x21, 0x10)
    cells = Read(stored, column(CALLSTACK, callstack), column(BACKTRACE, trace))
    symbols = cells.stacks.symbols()
    assert cells.frames == [[2], [0, 1]]
    assert symbols.frames["name"].to_pylist() == ["0x21", "0xf", None]
    assert (symbols.frames.schema, symbols.stacks.schema) == (FRAMES, STACKS)


def test_a_tagged_backtrace_is_the_stack_that_it_wraps_and_a_text_symbol_has_none(
    stored: Stored,
) -> None:
    trace = stored.backtrace(0x11, 0x20)
    tagged = column(TAGGED, stored.id(trace, 3), NULL, stored.id(trace))  # the last has no tag
    symbol = stored.id(stored.process(), 0x1007C6CA8)
    cells = Read(stored, tagged, column(SYMBOL, symbol, NULL, NULL))
    words = "0x11 ← (1 other frames)"
    assert cells.texts == [[words, None, words], ["0x1007c6ca7  ", None, None]]
    assert (cells.numbers, cells.frames) == ([[0, None, 1], [None] * 3], [[0, 1], [0, 1]])


def test_the_same_array_repeated_beyond_all_memory_is_refused(
    stored: Stored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracekit.tables.bundle.stacks.stacks._MOST", 10_009)
    chunk = stored.chunk(*range(1000))
    ids = [stored.id(chunk, stored.chunk(number)) for number in range(10)]
    cells = Read(stored, column(BACKTRACE, *ids[:9]))
    with pytest.raises(ArchiveError, match="more frames than are read"):
        cells.more(column(BACKTRACE, *ids))


@given(st.data())
def test_numbering_equals_a_plain_loop(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    stored = Stored(tmp_path_factory.mktemp("arrays"))
    deep = st.lists(st.integers(1, 6), min_size=1, max_size=4)
    ids = [stored.callstack(*one) for one in data.draw(st.lists(deep, min_size=1, max_size=5))]
    rows = data.draw(st.lists(st.tuples(*[st.sampled_from([NULL, *ids])] * 2), max_size=8))
    columns = [column(CALLSTACK, *(row[place] for row in rows)) for place in (0, 1)]
    cell_numbers = Read(stored, *columns).numbers
    order = [*dict.fromkeys(one for row in rows for one in row if one != NULL)]
    numbers = {one: number for number, one in enumerate(order)} | {NULL: None}
    assert cell_numbers == [[numbers[row[place]] for row in rows] for place in (0, 1)]
