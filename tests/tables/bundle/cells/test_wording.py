"""Numbers in the words of Instruments, by their tags."""

import numpy as np
import pytest

from tracekit.tables.bundle.cells.labels import worded

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
