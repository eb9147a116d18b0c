"""Addresses of stacks out of literal arrays."""

from pathlib import Path

import numpy as np
import pytest

from stored_arrays import NULL, StoredArrays
from tracekit.tables.bundle.container.uniquer import Ragged
from tracekit.tables.bundle.errors import DamagedCellError
from tracekit.tables.bundle.stacks.stacks import (
    NO_PROCESS,
    backtraces,
    callstack_words,
    callstacks,
    in_kernel,
    text_symbols,
    untagged,
)

SIGNED = 0x0034_8001_9543_A35C  # of user space, its upper bits authenticate it
KERNEL = 0xFFFF_FE00_1234_5678


@pytest.fixture
def stored(tmp_path: Path) -> StoredArrays:
    return StoredArrays(tmp_path)


def numbers(*values: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(values, np.int64)


def listed(stacks: Ragged) -> list[list[int]]:
    return [part.tolist() for part in np.split(stacks.values, stacks.offsets[1:])[:-1]]


def test_a_backtrace_is_the_addresses_of_its_chunks_one_after_the_other(
    stored: StoredArrays,
) -> None:
    one, two = stored.backtrace(0x101, 0x200, 0x300), stored.backtrace(0x101, pid=420)
    found, pids = backtraces(stored.read(), numbers(two, one, two))
    assert listed(found) == [[0x101], [0x101, 0x200, 0x300], [0x101]]
    assert pids.tolist() == [420, 4711, 4711, 4711, 420]


def test_a_chunk_of_all_ones_ends_a_backtrace(stored: StoredArrays) -> None:
    ended = stored.id(stored.chunk(1), stored.chunk(2), NULL, stored.chunk(3))
    never = stored.id(NULL)
    whole = stored.id(stored.chunk(3), stored.chunk(4))
    found, _ = backtraces(stored.read(), numbers(ended, never, whole))
    assert listed(found) == [[1, 2], [], [3, 4]]


def test_a_chunk_of_no_process_has_none(stored: StoredArrays) -> None:
    trace = stored.id(NULL << 32 | stored.id(5, 6))
    unknown = stored.id(stored.id(NULL, 0) << 32 | stored.id(7))
    _, pids = backtraces(stored.read(), numbers(trace, unknown))
    assert pids.tolist() == [NO_PROCESS, NO_PROCESS, NO_PROCESS]


def test_addresses_of_user_space_lose_the_bits_that_authenticate_them(
    stored: StoredArrays,
) -> None:
    trace = stored.backtrace(SIGNED, KERNEL)
    found, _ = backtraces(stored.read(), numbers(trace))
    assert listed(found) == [[0x1_9543_A35C, KERNEL]]
    assert in_kernel(found.values).tolist() == [False, True]


def test_a_tagged_backtrace_wraps_another(stored: StoredArrays) -> None:
    inner = stored.backtrace(0x101, 0x200)
    outer = stored.id(inner, 7)
    assert untagged(stored.read(), numbers(outer, outer)).tolist() == [inner, inner]


def test_a_callstack_has_its_program_counter_in_front(stored: StoredArrays) -> None:
    one = stored.callstack(0x100, 0x200, 0, registers=(9, 9))
    two = stored.callstack(0x500)
    stacks, texts, there = callstacks(stored.read(), numbers(one, two))
    assert listed(stacks) == [[0x100, 0x200], [0x500]]
    assert there.tolist() == [True, True]
    assert texts == [
        "PC:0x100, 2 frames, 2 regs, pid: 4711",
        "PC:0x500, 0 frames, 0 regs, pid: 4711",
    ]


def test_a_callstack_in_words() -> None:
    assert callstack_words(0x100, 2, 3, 61) == "PC:0x100, 2 frames, 3 regs, pid: 61"
    assert callstack_words(None, 0, 0, NO_PROCESS) == "0 frames, 0 regs"


def test_what_a_callstack_lacks_is_not_there(stored: StoredArrays) -> None:
    ones = (1 << 64) - 1
    bare = stored.id(ones, ones, ones)
    narrow = stored.id(NULL, 0x100, NULL)
    stacks, texts, there = callstacks(stored.read(), numbers(bare, narrow))
    assert listed(stacks) == [[], [0x100]]
    assert there.tolist() == [False, True]
    assert texts == ["0 frames, 0 regs", "PC:0x100, 0 frames, 0 regs"]


def test_a_text_symbol_is_an_address_of_a_process(stored: StoredArrays) -> None:
    symbol = stored.id(stored.process(420), SIGNED)
    pids, addresses = text_symbols(stored.read(), numbers(symbol))
    assert (pids.tolist(), addresses.tolist()) == ([420], [0x1_9543_A35C])


def test_of_nothing_there_is_nothing(stored: StoredArrays) -> None:
    stored.id(1)
    arrays = stored.read()
    assert listed(backtraces(arrays, numbers())[0]) == []
    assert listed(callstacks(arrays, numbers())[0]) == []
    assert untagged(arrays, numbers()).tolist() == []
    assert text_symbols(arrays, numbers())[0].tolist() == []


def test_arrays_of_another_kind_are_told_apart(stored: StoredArrays) -> None:
    empty, one, far = stored.id(), stored.id(1), stored.id(1 << 40, 2)
    trace = stored.id(empty << 32 | one)
    arrays = stored.read()
    with pytest.raises(DamagedCellError, match="no callstack"):
        callstacks(arrays, numbers(one))
    with pytest.raises(DamagedCellError, match="no tagged backtrace"):
        untagged(arrays, numbers(empty))
    with pytest.raises(DamagedCellError, match="no tagged backtrace"):
        untagged(arrays, numbers(far))
    with pytest.raises(DamagedCellError, match="no text symbol"):
        text_symbols(arrays, numbers(one))
    with pytest.raises(DamagedCellError, match="no process"):
        backtraces(arrays, numbers(trace))


def test_an_array_beyond_the_last_is_not_looked_for(stored: StoredArrays) -> None:
    missing, farther = stored.id(99_999), stored.id(1 << 40, 1, stored.process())
    arrays = stored.read()
    with pytest.raises(DamagedCellError, match="does not hold"):
        backtraces(arrays, numbers(missing))
    with pytest.raises(DamagedCellError, match="does not hold"):
        callstacks(arrays, numbers(farther))


def test_a_stack_deeper_than_any_is_refused(stored: StoredArrays) -> None:
    chunk = stored.chunk(*range(1000))
    deep = stored.id(*[chunk] * 17)
    callstack = stored.callstack(1, *range(17_000))
    arrays = stored.read()
    with pytest.raises(DamagedCellError, match="more than 16,384 frames"):
        backtraces(arrays, numbers(deep))
    with pytest.raises(DamagedCellError, match="more than 16,384 frames"):
        callstacks(arrays, numbers(callstack))
