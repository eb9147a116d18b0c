"""Frames, numbered by first occurrence, named by symbols or by their addresses."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from stored_arrays import NULL, StoredArrays
from tracekit.tables.bundle.container.uniquer import Ragged
from tracekit.tables.bundle.errors import DamagedCellError
from tracekit.tables.bundle.stacks.stacks import (
    NO_BINARY,
    NO_PROCESS,
    Binary,
    Frames,
    backtraces,
    callstacks,
    in_kernel,
    in_order,
    text_symbols,
    untagged,
)
from tracekit.tables.xml.node import FRAMES

DYLD = Binary("dyld", "044CD67E-3A0A-3CA4-8BB3-A9687D5328FE", "arm64e", 0x1000, "/usr/lib/dyld")
Numbers = NDArray[np.int64]


class OneBinary:
    """A binary from 0x1000 to 0x2000, with one symbol in its first half."""

    binaries: Sequence[Binary] = (DYLD,)

    def find(self, pids: Numbers, addresses: NDArray[np.uint64], times: Numbers) -> Numbers:
        """Return the binary where the address is its own, before it is gone."""
        within = (addresses >= 0x1000) & (addresses < 0x2000) & (pids == 4711) & (times < 100)
        return np.where(within, 0, NO_BINARY)

    def names(self, binaries: Numbers, addresses: NDArray[np.uint64]) -> list[str | None]:
        """Return the one name where it belongs."""
        pairs = zip(binaries.tolist(), addresses.tolist(), strict=True)
        return ["start" if not binary and one < 0x1800 else None for binary, one in pairs]


Seen = tuple[NDArray[np.uint64], Numbers, Numbers, NDArray[np.bool_]]


def named(frames: Frames, sightings: Seen) -> list[str]:
    return [frames.keys[number][2] for number in frames.number(*sightings).tolist()]


def seen(*addresses: int, leaves: Sequence[int] = (0,), time: int = 0) -> Seen:
    count = len(addresses)
    flags = np.zeros(count, np.bool_)
    flags[[*leaves]] = True
    return (
        np.array(addresses, np.uint64),
        np.full(count, 4711, np.int64),
        np.full(count, time, np.int64),
        flags,
    )


def test_one_address_as_leaf_and_as_caller_is_two_frames_only_without_a_symbol() -> None:
    frames = Frames(OneBinary())
    twice = seen(0x1101, 0x1101, 0x1901, 0x1901, leaves=(0, 2))
    assert frames.number(*twice).tolist() == [0, 0, 1, 2]
    assert named(frames, twice) == ["start", "start", "0x1901", "0x1900"]


def test_a_frame_is_looked_up_one_before_its_address() -> None:
    names = named(Frames(OneBinary()), seen(0x1000, 0x1001, 0x1800, 0x1801))
    assert names == ["0x1000", "start", "start", "0x1800"]


def test_a_frame_carries_its_binary() -> None:
    frames = Frames(OneBinary())
    frames.number(*seen(0x1101, 0x5000))
    assert frames.table().to_pylist() == [
        {
            "frame": 0,
            "name": "start",
            "address": 0x1101,
            "binary": "dyld",
            "uuid": "044CD67E-3A0A-3CA4-8BB3-A9687D5328FE",
            "arch": "arm64e",
            "load_address": 0x1000,
            "path": "/usr/lib/dyld",
            "source": None,
            "line": None,
        },
        dict.fromkeys(FRAMES.names) | {"frame": 1, "name": "0x4fff", "address": 0x5000},
    ]


def test_an_address_whose_binary_has_gone_is_another_frame() -> None:
    frames = Frames(OneBinary())
    assert frames.number(*seen(0x1101)).tolist() == [0]
    assert frames.number(*seen(0x1101, time=100)).tolist() == [1]


@given(st.lists(st.integers(0, 9)))
def test_numbers_in_order_of_first_occurrence(values: list[int]) -> None:
    codes, firsts = in_order(np.array(values, np.uint64))
    distinct = [*dict.fromkeys(values)]
    assert codes.tolist() == [distinct.index(one) for one in values]
    assert firsts.tolist() == [values.index(one) for one in distinct]


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
