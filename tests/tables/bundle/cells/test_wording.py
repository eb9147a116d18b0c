"""Values in the words of an export, by their tags."""

import numpy as np
import pytest

from tracekit.tables.bundle.cells.wording import uuid_words, worded


@pytest.mark.parametrize(
    ("tag", "number", "words"),
    [
        ("uint64", 2370013267, "2,370,013,267"),
        ("duration", 21_459, "21.46 µs"),
        ("weight", 1_000_000, "1.00 ms"),
        ("start-time", 420_244_291, "00:00.420.244"),
        ("tid", 0x1D2FE4, "0x1d2fe4"),
        ("metal-encoder-id", 2370013267, "0x8d438853"),
        ("uint64-hex-lowercase", 125359813, "778d6c5"),
        ("os-signpost-identifier", 0xEEEEB0B5B2B2EEEE, "OS_SIGNPOST_ID_EXCLUSIVE"),
        ("os-signpost-identifier", 17, "0x11"),
        ("size-in-bytes", 16_384, "16.00 KiB"),
        ("boolean", 3, "Yes"),
        ("boolean", 0, "No"),
        ("gpu-frame-number", 1, "Frame 1"),
        ("pid", 4711, "4711"),
        ("never-heard-of", 4711, "4711"),
    ],
)
def test_numbers(tag: str, number: int, words: str) -> None:
    assert worded(tag, np.array([number], np.uint64)).to_pylist() == [words]


def test_a_uuid_is_two_halves() -> None:
    found = uuid_words(0x95EC3610E01A3730, 0x9CD5B6B18C5B0560)
    assert found == "95EC3610-E01A-3730-9CD5-B6B18C5B0560"
    assert uuid_words(0, 1) == "00000000-0000-0000-0000-000000000001"
