"""Frames, numbered by first occurrence, named by symbols or by their addresses."""

from collections.abc import Sequence

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tracekit.tables.bundle.stacks.frames import (
    NO_BINARY,
    Binary,
    Frames,
    in_order,
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
