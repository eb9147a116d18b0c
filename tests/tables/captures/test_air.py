"""AIR: a module that LLVM's own assembler wrote, damaged ones, and the metallib around it."""

import hashlib
import random

import pytest

from capture_writer import PROBE, metallib
from tracekit.tables.bundle.errors import ArchiveError
from tracekit.tables.captures.air import AirArgument, read_air
from tracekit.tables.captures.metallib import Metallib


def test_the_facts_of_a_kernel_are_read() -> None:
    air = read_air(PROBE, "probe")
    # 64 floats; and i8, float, <3 x float> at 16, i16 at 32, up to a multiple of 16
    assert air.threadgroup_memory == 256 + 48
    assert (air.barriers, air.loop_barriers) == (3, 2)
    assert air.constants == ("has_mask",)
    assert air.arguments == (
        AirArgument("buffer", "out", 0, "read_write", 1, 4, 4, "float"),
        AirArgument("buffer", "count", 1, "read", 2, 4, 4, "uint"),
        AirArgument("buffer", "spare", 2, "read", 2, 4, 4, "uint", is_used=False),
        AirArgument("thread_index_in_threadgroup", "lane", type_name="uint"),
    )


def test_another_kernel_is_not_there() -> None:
    with pytest.raises(ArchiveError, match="without the kernel other"):
        read_air(PROBE, "other")


def test_damaged_bitcode_is_refused_or_read() -> None:
    chance = random.Random(41)
    refused_count = 0
    for _ in range(300):
        content = bytearray(PROBE)
        for _ in range(chance.randint(1, 4)):
            content[chance.randrange(len(content))] = chance.randrange(256)
        try:
            read_air(bytes(content), "probe")
        except ArchiveError:
            refused_count += 1
    assert refused_count > 100


def test_cut_bitcode_is_refused() -> None:
    for size in (0, 3, 19, 100, 1000, len(PROBE) // 2):
        with pytest.raises(ArchiveError):
            read_air(PROBE[:size], "probe")


def test_a_library_lists_its_functions_and_their_hashes() -> None:
    content = metallib({"probe": PROBE, "other": PROBE[:64]})
    library = Metallib(content)
    probe = library.functions["probe"]
    other = library.functions["other"]
    assert probe.is_kernel
    assert probe.digest == hashlib.sha256(PROBE).digest()
    assert library.read_air(probe) == PROBE
    assert library.read_air(other) == PROBE[:64]
    assert [library.is_intact(function) for function in (probe, other)] == [True, True]
    assert library.list_sources() == []


def test_changed_air_has_another_hash() -> None:
    content = bytearray(metallib({"probe": PROBE}))
    content[-20] ^= 1
    library = Metallib(bytes(content))
    assert library.is_intact(library.functions["probe"]) is False


def test_sources_come_out_of_a_library() -> None:
    sources = {"/Users/anne/probe.metal": b"kernel void probe() {}\n", "options.txt": b"-O2\n"}
    library = Metallib(metallib({"probe": PROBE}, sources))
    assert {source.path: source.content for source in library.list_sources()} == sources


def test_a_damaged_library_is_refused() -> None:
    good = metallib({"probe": PROBE}, {"probe.metal": b"x" * 500})
    for name, content in (
        ("other content", b"MTLX" + good[4:]),
        ("cut head", good[:60]),
        ("cut AIR", good[:300]),
        ("too many functions", good[:88] + b"\xff\xff\xff\xff" + good[92:]),
        ("a list beyond the end", good[:24] + b"\xff" * 7 + b"\0" + good[32:]),
    ):
        with pytest.raises(ArchiveError, match="Metal library"):
            pytest.fail(f"{name}: {Metallib(content)}")


def test_damaged_sources_are_refused() -> None:
    content = bytearray(metallib({"probe": PROBE}, {"probe.metal": b"x" * 500}))
    start = content.index(b"BZh")
    content[start + 20] ^= 0xFF
    with pytest.raises(ArchiveError, match="sources"):
        Metallib(bytes(content)).list_sources()
