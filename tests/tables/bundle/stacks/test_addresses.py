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


def test_what_a_callstack_lacks_is_not_there(stored: StoredArrays) -> None:
    ones = (1 << 64) - 1
    bare = stored.id(ones, ones, ones)
    narrow = stored.id(NULL, 0x100, NULL)
    stacks, texts, there = callstacks(stored.read(), numbers(bare, narrow))
    assert listed(stacks) == [[], [0x100]]
    assert there.tolist() == [False, True]
    assert texts == ["0 frames, 0 regs", "PC:0x100, 0 frames, 0 regs"]


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
