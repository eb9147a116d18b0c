"""Numbers in the words of Instruments."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit.tables.bundle.cells.wording import FMT, Numbers, joined, reordered, worded

MOST = (1 << 64) - 1


def numbers(*values: int) -> Numbers:
    return np.array(values, np.uint64)


@pytest.mark.parametrize(
    ("tag", "values", "words"),
    [
        ("tid", (0, 16, 0x8D438853, MOST), ["0x0", "0x10", "0x8d438853", "0xffffffffffffffff"]),
        ("uint64-hex-lowercase", (0x8D43, 0x1234), ["8d43", "1234"]),
        ("uint64", (0, 999, 1000, MOST), ["0", "999", "1,000", "18,446,744,073,709,551,615"]),
        ("duration", (583, 999, 1000, 21_459), ["583 ns", "999 ns", "1.00 µs", "21.46 µs"]),
        ("duration", (2_080_000_000, 59_999_000_000), ["2.08 s", "60.00 s"]),
        ("duration", (2_000_000_000, 5, 3_000_000), ["2.00 s", "5 ns", "3.00 ms"]),
        ("size-in-bytes", (0, 1023, 16_384), ["0 Bytes", "1023 Bytes", "16.00 KiB"]),
        ("size-in-bytes", (263_507_148, 3 << 40), ["251.30 MiB", "3.00 TiB"]),
        ("start-time", (420_244_999, 61_000_000_000), ["00:00.420.244", "01:01.000.000"]),
        ("never-heard-of", (0, MOST), ["0", str(MOST)]),
    ],
)
def test_numbers_as_texts(tag: str, values: tuple[int, ...], words: list[str]) -> None:
    assert worded(tag, numbers(*values)).to_pylist() == words


def test_of_nothing_there_are_no_texts() -> None:
    for tag in (*FMT, "never-heard-of"):
        assert worded(tag, numbers()).to_pylist() == []


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(1000, 10**13), min_size=1, max_size=20))
def test_durations_are_near_what_they_say(values: list[int]) -> None:
    units = {"µs": 10**3, "ms": 10**6, "s": 10**9}
    for value, words in zip(values, worded("duration", numbers(*values)).to_pylist(), strict=True):
        number, unit = words.split(" ")
        assert abs(float(number) * units[unit] - value) <= units[unit] * 0.0051


def test_texts_are_joined_cell_by_cell() -> None:
    parts = [worded("", numbers(1, 2)), "of", worded("", numbers(7, 8))]
    assert joined(parts, " ").to_pylist() == ["1 of 7", "2 of 8"]


def test_texts_return_to_their_places() -> None:
    places = [np.array([2, 0], np.int64), np.array([1], np.int64)]
    parts = list(zip(places, [worded("", numbers(20, 0)), worded("", numbers(10))], strict=True))
    assert reordered(parts).to_pylist() == ["0", "10", "20"]
    assert reordered(parts[:1]).to_pylist() == ["20", "0"]
