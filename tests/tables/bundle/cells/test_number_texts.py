"""Numbers in the words of Instruments."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit.tables.bundle.cells.wording import (
    Numbers,
    durations,
    grouped,
    hexadecimal,
    joined,
    moments,
    plain,
    reordered,
    sizes,
)

MOST = (1 << 64) - 1
U64 = st.lists(st.integers(0, MOST), max_size=30)


def numbers(*values: int) -> Numbers:
    return np.array(values, np.uint64)


def test_hexadecimal_numbers_have_a_prefix_and_no_zeros_in_front() -> None:
    found = hexadecimal(numbers(0, 15, 16, 0x8D438853, MOST)).to_pylist()
    assert found == ["0x0", "0xf", "0x10", "0x8d438853", "0xffffffffffffffff"]
    assert hexadecimal(numbers(0x8D43, 0x1234), b"").to_pylist() == ["8d43", "1234"]


def test_groups_have_three_digits() -> None:
    found = grouped(numbers(0, 999, 1000, 2370013267, MOST)).to_pylist()
    assert found == ["0", "999", "1,000", "2,370,013,267", "18,446,744,073,709,551,615"]


@pytest.mark.parametrize(
    ("nanoseconds", "words"),
    [
        (0, "0 ns"), (583, "583 ns"), (999, "999 ns"), (1000, "1.00 µs"), (21_459, "21.46 µs"),
        (9_480_000, "9.48 ms"), (2_080_000_000, "2.08 s"), (59_999_000_000, "60.00 s"),
    ],
)  # fmt: skip
def test_durations_have_two_places(nanoseconds: int, words: str) -> None:
    assert durations(numbers(nanoseconds)).to_pylist() == [words]


def test_durations_of_several_units_keep_their_places() -> None:
    found = durations(numbers(2_000_000_000, 5, 7_000, 3_000_000, 6)).to_pylist()
    assert found == ["2.00 s", "5 ns", "7.00 µs", "3.00 ms", "6 ns"]


def test_sizes_go_by_1024() -> None:
    found = sizes(numbers(0, 1023, 16_384, 263_507_148)).to_pylist()
    assert found == ["0 Bytes", "1023 Bytes", "16.00 KiB", "251.30 MiB"]


def test_moments_are_cut_after_microseconds() -> None:
    found = moments(numbers(420_244_999, 61_000_000_000, 0)).to_pylist()
    assert found == ["00:00.420.244", "01:01.000.000", "00:00.000.000"]


def test_of_nothing_there_are_no_texts() -> None:
    for wording in (plain, hexadecimal, grouped, durations, sizes, moments):
        assert wording(numbers()).to_pylist() == []


@settings(deadline=None, max_examples=60)
@given(U64)
def test_digits_are_those_of_python(values: list[int]) -> None:
    stored = numbers(*values)
    assert plain(stored).to_pylist() == [str(one) for one in values]
    assert hexadecimal(stored).to_pylist() == [hex(one) for one in values]
    assert grouped(stored).to_pylist() == [f"{one:,}" for one in values]


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(1000, 10**13), min_size=1, max_size=20))
def test_durations_are_near_what_they_say(values: list[int]) -> None:
    units = {"µs": 10**3, "ms": 10**6, "s": 10**9}
    for value, words in zip(values, durations(numbers(*values)).to_pylist(), strict=True):
        number, unit = words.split(" ")
        assert abs(float(number) * units[unit] - value) <= units[unit] * 0.0051


def test_texts_are_joined_cell_by_cell() -> None:
    parts = [plain(numbers(1, 2)), "of", plain(numbers(7, 8))]
    assert joined(parts, " ").to_pylist() == ["1 of 7", "2 of 8"]


def test_texts_return_to_their_places() -> None:
    places = [np.array([2, 0], np.int64), np.array([1], np.int64)]
    parts = list(zip(places, [plain(numbers(20, 0)), plain(numbers(10))], strict=True))
    assert reordered(parts).to_pylist() == ["0", "10", "20"]
    assert reordered(parts[:1]).to_pylist() == ["20", "0"]
