"""What `fmt` says of numbers."""

import pytest

from tracekit.tables.bundle.cells.wording import FMT


@pytest.mark.parametrize(
    ("tag", "number", "words"),
    [
        ("start-time", 420_244_291, "00:00.420.244"),
        ("sample-time", 61_000_999, "00:00.061.000"),
        ("event-time", 83_000_000_000, "01:23.000.000"),
        ("start-time", 3_600_000_000_000, "60:00.000.000"),
        ("duration", 0, "0 ns"),
        ("duration", 999, "999 ns"),
        ("duration", 1_000, "1.00 µs"),
        ("duration", 21_459, "21.46 µs"),
        ("duration", 1_125, "1.12 µs"),
        ("duration", 1_135, "1.14 µs"),
        ("duration", 4_025_000, "4.03 ms"),
        ("duration", 1_295_000, "1.29 ms"),
        ("duration", 999_999, "1000.00 µs"),
        ("weight", 1_000_000, "1.00 ms"),
        ("duration", 2_080_000_001, "2.08 s"),
        ("size-in-bytes", 1023, "1023 Bytes"),
        ("size-in-bytes", 16_384, "16.00 KiB"),
        ("size-in-bytes", 272_089_088, "259.48 MiB"),
        ("metal-encoder-id", 2_370_013_267, "0x8d438853"),
        ("metal-workload-priority", 0, "0x0"),
        ("uint64", 2_370_013_267, "2,370,013,267"),
        ("uint64-hex-lowercase", 289, "121"),
        ("gpu-frame-number", 1, "Frame 1"),
        ("boolean", 0, "No"),
        ("boolean", 3, "Yes"),
        ("private", 0, "<private>"),
        ("os-signpost-identifier", 0xEEEEB0B5B2B2EEEE, "OS_SIGNPOST_ID_EXCLUSIVE"),
        ("os-signpost-identifier", 125_359_813, "0x778d6c5"),
        ("time-sample-kind", 3, "Stackshot"),
        ("time-sample-kind", 77, "77"),
    ],
)
def test_a_number_in_the_words_of_instruments(tag: str, number: int, words: str) -> None:
    assert FMT[tag](number) == words
