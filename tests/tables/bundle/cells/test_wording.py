"""Numbers in the words of Instruments, by their tags."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tracekit.tables.bundle.cells.labels import joined, reordered, uuid_words, worded

MOST = (1 << 64) - 1


def words_of(tag: str, *numbers: int) -> list[str]:
    return worded(tag, np.array(numbers, np.uint64)).to_pylist()


@pytest.mark.parametrize(
    ("tag", "values", "words"),
    [
        ("tid", (0, 16, MOST), ["0x0", "0x10", "0xffffffffffffffff"]),
        ("uint64-hex-lowercase", (0x8D43,), ["8d43"]),
        ("uint64", (0, 999, 1000, MOST), ["0", "999", "1,000", "18,446,744,073,709,551,615"]),
        ("duration", (0, 999, 1_000), ["0 ns", "999 ns", "1.00 µs"]),
        ("duration", (1_125, 1_135), ["1.12 µs", "1.14 µs"]),
        ("duration", (999_999, 1_295_000, 4_025_000), ["1000.00 µs", "1.29 ms", "4.03 ms"]),
        ("weight", (1_000_000, 59_999_000_000), ["1.00 ms", "60.00 s"]),
        ("size-in-bytes", (1023, 16_384, 3 << 40), ["1023 Bytes", "16.00 KiB", "3.00 TiB"]),
        ("start-time", (420_244_999, 61_000_000_000), ["00:00.420.244", "01:01.000.000"]),
        ("sample-time", (3_600_000_000_000,), ["60:00.000.000"]),
        ("gpu-frame-number", (1,), ["Frame 1"]),
        ("boolean", (0, 3), ["No", "Yes"]),
        ("private", (0,), ["<private>"]),
        ("os-signpost-identifier", (0xEEEEB0B5B2B2EEEE, 17), ["OS_SIGNPOST_ID_EXCLUSIVE", "0x11"]),
        ("time-sample-kind", (3, 77), ["Stackshot", "77"]),
        ("never-heard-of", (0, MOST), ["0", str(MOST)]),
        ("duration", (), []),
    ],
)  # fmt: skip
def test_numbers(tag: str, values: tuple[int, ...], words: list[str]) -> None:
    assert words_of(tag, *values) == words


@settings(deadline=None, max_examples=60)
@given(st.lists(st.integers(1000, 10**13), min_size=1, max_size=20))
def test_durations_are_near_what_they_say(values: list[int]) -> None:
    units = {"µs": 10**3, "ms": 10**6, "s": 10**9}
    for value, words in zip(values, words_of("duration", *values), strict=True):
        number, unit = words.split(" ")
        assert abs(float(number) * units[unit] - value) <= units[unit] * 0.0051


def test_a_uuid_is_two_halves() -> None:
    found = uuid_words(0x95EC3610E01A3730, 0x9CD5B6B18C5B0560)
    assert found == "95EC3610-E01A-3730-9CD5-B6B18C5B0560"
    assert uuid_words(0, 1) == "00000000-0000-0000-0000-000000000001"


def test_texts_are_joined_and_return_to_their_places() -> None:
    one, two = (worded("", np.array(numbers, np.uint64)) for numbers in ((20, 0), (10,)))
    assert joined([one, "of", one], " ").to_pylist() == ["20 of 20", "0 of 0"]
    parts = [(np.array([2, 0], np.int64), one), (np.array([1], np.int64), two)]
    assert reordered(parts).to_pylist() == ["0", "10", "20"]
    assert reordered(parts[:1]).to_pylist() == ["20", "0"]
