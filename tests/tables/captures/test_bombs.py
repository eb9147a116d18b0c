"""Small captures that would take gigabytes, or hours: they are bounded."""

from pathlib import Path

import pytest

from capture_writer import (
    ENCODER,
    FUNCTION,
    LIBRARY,
    METALLIB,
    PROBE,
    call,
    group,
    metallib,
    small_capture,
    stream,
)
from tracekit.tables.bundle.errors import ArchiveError
from tracekit.tables.captures import open_capture
from tracekit.tables.captures.air import read_air
from tracekit.tables.captures.records import read_stream


def test_a_stream_of_too_many_records_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracekit.tables.captures.records._MOST_RECORDS", 3)
    record = call(0xC017, "C", 5)
    assert read_stream(stream([record] * 3)).damage == ""
    result = read_stream(stream([record] * 5))
    assert len(result.records) == 3
    assert result.damage == "is not read after 3 records"
    assert result.unexplained == 2 * len(record)


def test_bitcode_of_endless_numbers_is_refused() -> None:
    # A block MODULE with an abbreviation of an array of single bits, and one such array.
    bits: list[int] = []

    def add(number: int, width: int) -> None:
        bits.extend((number >> place) & 1 for place in range(width))

    def add_vbr(number: int, width: int) -> None:
        limit = 1 << (width - 1)
        while number >= limit:
            add((number & (limit - 1)) | limit, width)
            number >>= width - 1
        add(number, width)

    count = (1 << 22) + 1
    add(1, 2)  # enter a block
    add_vbr(8, 8)
    add_vbr(3, 4)
    bits.extend([0] * (-len(bits) % 32))
    words_place = len(bits)
    add(0, 32)
    add(2, 3)  # define an abbreviation: a literal code, an array of bits
    add_vbr(3, 5)
    add(1, 1)
    add_vbr(7, 8)
    add(0, 1)
    add(3, 3)
    add(0, 1)
    add(1, 3)
    add_vbr(1, 5)
    add(4, 3)  # use it
    add_vbr(count, 6)
    bits.extend([1] * count)
    bits.extend([0] * (-len(bits) % 32))
    words = (len(bits) - words_place - 32) // 32
    bits[words_place : words_place + 32] = [(words >> place) & 1 for place in range(32)]
    number = int("".join(map(str, reversed(bits))), 2)
    content = b"BC\xc0\xde" + number.to_bytes(len(bits) // 8, "little") + bytes(16)
    with pytest.raises(ArchiveError, match="too much bitcode"):
        read_air(content, "probe")


def test_many_functions_of_one_kernel_are_read_once(tmp_path: Path) -> None:
    made = small_capture()
    functions = [
        group("function", handle, call(0xC05E, "CS", LIBRARY, "probe", result=("t", handle)))
        for handle in range(FUNCTION, FUNCTION + 0x4000, 8)
    ]
    library = call(0xC04E, "CU<b>t", 1, METALLIB, 0, result=("t", LIBRARY))
    made.resources[2] = group("library", LIBRARY, library, *functions)
    capture = open_capture(made.write(tmp_path / "made.gputrace"))
    assert len(capture.airs) == 0x800
    assert len({id(air) for air in capture.airs.values()}) == 1


def test_air_beyond_the_bound_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tracekit.tables.captures.capture._MOST_AIR_BYTES", len(PROBE) - 1)
    capture = open_capture(small_capture().write(tmp_path / "made.gputrace"))
    assert capture.airs == {}
    assert f"only {len(PROBE) - 1:,} bytes of AIR are read" in " ".join(map(str, capture.losses))


def test_libraries_beyond_the_bound_are_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = len(metallib({"probe": PROBE}))
    monkeypatch.setattr("tracekit.tables.captures.capture._MOST_LIBRARY_BYTES", size - 1)
    capture = open_capture(small_capture().write(tmp_path / "made.gputrace"))
    assert capture.metallibs == {}
    assert "is one library too many" in " ".join(map(str, capture.losses))


def test_sizes_of_a_grid_may_be_huge(tmp_path: Path) -> None:
    made = small_capture()
    huge = (2**64 - 1, 2**64 - 1, 2**64 - 1)
    made.calls[7] = call(0xC132, "C@3ul@3ul", ENCODER, huge, huge)
    capture = open_capture(made.write(tmp_path / "made.gputrace"))
    (dispatch,) = capture.commands.dispatches
    assert dispatch.groups == (1, 1, 1)
