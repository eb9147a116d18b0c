import pytest

from tracekit.record.host.writer import Compound, leaf, process, thread


@pytest.mark.parametrize(
    ("kind", "value", "text", "fmt"),
    [
        ("start-time", 481424333, "481424333", "00:00.481.424"),
        ("start-time", 3_661_000_001_000, "3661000001000", "61:01.000.001"),
        ("event-time", -1_500_000, "-1500000", "-00:00.001.500"),
        ("duration", 999, "999", "999 ns"),
        ("duration", 11417, "11417", "11.42 µs"),
        ("duration", 2_500_000, "2500000", "2.50 ms"),
        ("duration", 1_250_000_000, "1250000000", "1.25 s"),
        ("uint64", 2**64 - 1, "18446744073709551615", "18,446,744,073,709,551,615"),
        ("pid", 37931, "37931", "37931"),
        ("tid", 3677, "3677", "0xe5d"),
        ("metal-command-buffer-id", 82586193, "82586193", "0x4ec2a51"),
        ("size-in-bytes", 12, "12", "12 Bytes"),
        ("size-in-bytes", 16384, "16384", "16.00 KiB"),
        ("fixed-decimal", 0.5, "0.500000000", "0.50"),
        ("percent", 12.345, "12.345000000", "12.35 %"),
        ("boolean", True, "1", "Yes"),
        ("boolean", False, "0", "No"),
        ("string", " ( ", " ( ", " ( "),
    ],
)
def test_a_value_has_a_text_and_words(kind: str, value: float | str, text: str, fmt: str) -> None:
    assert leaf(kind, value) == (text, fmt)


def test_half_a_count_is_refused() -> None:
    with pytest.raises(TypeError, match=r"uint64 holds whole numbers, not 1\.5"):
        leaf("uint64", 1.5)


def test_processes_and_threads_are_nested() -> None:
    owner = process("WindowServer", 420, "TODO")
    assert owner == Compound("WindowServer (420)", (("pid", 420), ("device-session", "TODO")))
    assert thread("Main Thread", 3677, owner) == Compound(
        "Main Thread 0xe5d (WindowServer, pid: 420)", (("tid", 3677), ("process", owner))
    )


def test_a_name_with_brackets_stays_whole() -> None:
    owner = process("Helper (GPU)", 7)
    assert owner.fmt == "Helper (GPU) (7)"
    assert thread("Main Thread", 1, owner).fmt == "Main Thread 0x1 (Helper (GPU), pid: 7)"
