"""Binaries and symbols at the addresses of a run's processes, as the document lists them."""

import struct
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from bundle_writer import Image, RunInfo, Symbol, write_bundle
from bundle_writer.document import DEVICE
from bundle_writer.symbols import signature
from small_bundle import SYMBOL_STORES, TICK, write_documented_bundle
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.errors import ArchiveError
from tracekit.tables.bundle.stacks.images import (
    ImageMap,
    RunPlaces,
    Segment,
    read_signature,
    symbols_file,
)
from tracekit.tables.bundle.stacks.stacks import NO_BINARY, Binary

CACHE = UUID("0596a7b6-bce2-3f06-a2e8-3eaab5371ed8")
DYLD = Image(
    UUID("044cd67e-3a0a-3ca4-8bb3-a9687d5328fe"),
    "/usr/lib/dyld",
    0x195431000,
    size=0x1000,
    symbols=(Symbol(0x100, 0x40, "start"), Symbol(0x200, 0x40, "load")),
)
SMALL = replace(DYLD, address=0x1000, size=0x800)


def image_map(*images: Image) -> ImageMap:
    return ImageMap(read_signature(signature(4711, images)).images)


def find_images(images: ImageMap, *addresses: int, tick: int = 50) -> list[int]:
    ticks = np.full(len(addresses), tick, np.uint64)
    return images.find(np.array(addresses, np.uint64), ticks).tolist()


def test_a_binary_of_a_signature() -> None:
    data = ("__DATA", 0x9000, 0x100)
    loaded = replace(SMALL, begin=7, end=9, other_segments=(data,))
    read = read_signature(signature(4711, [loaded], CACHE, 0x180000000))
    assert (read.cache, read.base) == (CACHE, 0x180000000)
    (image,) = read.images
    uuid = "044CD67E-3A0A-3CA4-8BB3-A9687D5328FE"
    assert image.binary == Binary("dyld", uuid, "arm64e", 0x1000, "/usr/lib/dyld")
    assert (image.begin, image.end) == (7, 9)
    assert image.segments == (Segment(*data), Segment("__TEXT", 0x1000, 0x800))


def test_addresses_of_binaries_and_the_link_edit_of_a_shared_cache_that_is_of_none() -> None:
    images = image_map(replace(SMALL, address=0x3000, size=0x10), SMALL)
    assert find_images(images, 0xFFF, 0x1000, 0x17FF, 0x1800, 0x3000, 0x3010) == [
        -1,
        1,
        1,
        -1,
        0,
        -1,
    ]
    of_cache = replace(
        SMALL, address=0x90000000, other_segments=(("__LINKEDIT", 0x1000, 0x10000000),)
    )
    assert find_images(image_map(of_cache, SMALL), 0x1000, 0x2000) == [1, -1]


def test_a_binary_that_was_loaded_twice_is_found_by_time() -> None:
    first_image, second = replace(SMALL, end=50), replace(SMALL, begin=50)
    images = image_map(second, first_image)
    assert find_images(images, 0x1000, tick=49) == [1]
    assert find_images(images, 0x1000, tick=50) == [0]
    assert find_images(image_map(first_image), 0x1000, tick=50) == [-1]


SIGNED = signature(4711, [DYLD])


def test_damaged_signatures(subtests: pytest.Subtests) -> None:
    for content, reason in (
        (b"", "cut"),
        (SIGNED[:-1], "cut"),
        (SIGNED[:100], "cut"),
        (SIGNED[:60], "cut"),
        (b"\0" + SIGNED[1:], "unknown form"),
        (SIGNED.replace(b"\xee\xff\xc0", b"\0\0\0"), "end"),
        (struct.pack("<6I", 0xFF01FF02, 1, 0, 0, 0, 0xFFFFFFFF), "more than 65,536 binaries"),
        (struct.pack("<6I", 0xFF01FF02, 1, 0, 0, 0, 0xFFFF), "cut"),
        (SIGNED.replace(struct.pack("<I", 16), b"\xff\xff\xff\xff", 1), "cut"),
    ):
        with subtests.test(reason), pytest.raises(ArchiveError, match=reason):
            read_signature(content)


PANIC = (Symbol(0x10, 8, "_panic"),)
OF_KERNEL = Image(UUID(int=3), "/System/kernel", 0xFFFFFE0007004000, 0x20, symbols=PANIC)
SIGNATURE = "com.apple.xray.symbolstore.signature"
CACHES = "com.apple.xray.symbolstore.sharedcache.signatures"
TIMES = [0, 125, 3, 1_000_000, 1774903878.0, "Etc/UTC"]


def places_of(folder: Path, pid: str, content: bytes, **more: Any) -> RunPlaces:
    """Return the places of a document that lists binaries of one process; `top` is beside."""
    top = more.pop("top", {})
    stores = {1: {f"{DEVICE}.{pid}": {SIGNATURE: content, **more}}}
    run = {"mach_time_info": {DEVICE: TIMES}}
    return RunPlaces(write_documented_bundle(folder, run, **{SYMBOL_STORES: stores}, **top).runs[0])


def name_addresses(
    places: RunPlaces, *pid_addresses: tuple[int, int]
) -> list[tuple[str, str | None]]:
    pids = np.array([pid for pid, _ in pid_addresses], np.int64)
    addresses = np.array([address for _, address in pid_addresses], np.uint64)
    numbers = places.find(pids, addresses, np.zeros(len(pid_addresses), np.int64))
    binaries = places.binaries
    names = ["" if number == NO_BINARY else binaries[number].name for number in numbers.tolist()]
    return [*zip(names, places.names(numbers, addresses), strict=True)]


@pytest.mark.parametrize("pid", ["0", "4294967295", "-1"])
def test_the_kernel_is_process_0_or_one_of_all_ones(tmp_path: Path, pid: str) -> None:
    places = places_of(tmp_path, pid, signature(0, [OF_KERNEL]))
    assert name_addresses(places, (4711, OF_KERNEL.address)) == [("kernel", None)]


@pytest.mark.parametrize("key", [str(CACHE).upper(), CACHE])
def test_binaries_of_the_shared_cache_are_placed_with_the_cache(tmp_path: Path, key: Any) -> None:
    library = Image(UUID(int=2), "/usr/lib/libobjc.A.dylib", 0x4000)
    signed = signature(4711, [DYLD], CACHE, 0x180000000)
    top = {CACHES: {key: {0x4000: signature(0, [library]), 0x8000: b""}}}
    places = places_of(tmp_path, "4711", signed, dsc_load_addresses=[0x4000, 0x9000], top=top)
    names = name_addresses(places, (4711, DYLD.address), (4711, 0x180004000))
    assert names == [("dyld", None), ("libobjc.A.dylib", None)]
    assert [binary.load_address for binary in places.binaries] == [DYLD.address, 0x180004000]


def test_times_are_mach_times_of_the_device(tmp_path: Path) -> None:
    places = places_of(tmp_path, "4711", signature(4711, [replace(DYLD, begin=1_000_024)]))
    addresses = np.full(2, DYLD.address, np.uint64)
    binary_numbers = places.find(np.array([4711, 4711]), addresses, np.array([999, 1000]))
    assert binary_numbers.tolist() == [NO_BINARY, 0]


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"", "is cut"), (SIGNED[:-1], "is cut"), (b"\0" + SIGNED[1:], "is of an unknown form")],
)
def test_a_damaged_list_is_reported(tmp_path: Path, content: bytes, why: str) -> None:
    places = places_of(tmp_path, "4711", content)
    for _ in range(2):
        assert name_addresses(places, (4711, DYLD.address)) == [("", None)]
    assert [*map(str, places.losses)] == [
        f"The list of the binaries of process 4711 {why}: some of its addresses have no names.",
    ]


INFO = RunInfo(
    images={4711: [DYLD], 420: [replace(DYLD, address=0x500000)], (1 << 32) - 1: [OF_KERNEL]}
)
FILE = symbols_file(str(DYLD.uuid).upper())


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_bundle(tmp_path / "made.trace", [TICK], info=INFO)


def test_each_process_has_its_own_binaries_and_all_have_the_kernel(bundle: Path) -> None:
    places = RunPlaces(Bundle(bundle).runs[0])
    expected_names = {
        (4711, 0x195431100): ("dyld", "start"),
        (4711, 0x195431200): ("dyld", "load"),
        (4711, 0x19543123F): ("dyld", "load"),
        (4711, 0x195431240): ("dyld", None),  # names end where their symbols do
        (4711, 0x1954310FF): ("dyld", None),
        (420, 0x195431100): ("", None),
        (420, 0x500100): ("dyld", "start"),
        (4711, 0xFFFFFE0007004010): ("kernel", "_panic"),
        (9, 0xFFFFFE000700401F): ("kernel", None),
        (9, 0xFFFFFE0007004020): ("", None),
    }
    assert name_addresses(places, *expected_names) == [*expected_names.values()]
    loaded = [binary.load_address for binary in places.binaries]
    assert loaded == [OF_KERNEL.address, 0x500000, 0x195431000]
    assert places.losses == ()


def test_a_binary_whose_symbols_are_not_kept(bundle: Path) -> None:
    (bundle / FILE).unlink()
    places = RunPlaces(Bundle(bundle).runs[0])
    assert name_addresses(places, (4711, 0x195431100)) == [("dyld", None)]
    [loss] = places.losses
    assert loss.text.startswith("symbols/stores has nothing on dyld: ")


@pytest.mark.parametrize("kept", [0, 0x40, 0x80])
def test_damaged_symbols_are_reported(bundle: Path, kept: int) -> None:
    (bundle / FILE).write_bytes((bundle / FILE).read_bytes()[:kept])
    places = RunPlaces(Bundle(bundle).runs[0])
    assert name_addresses(places, (4711, 0x195431100)) == [("dyld", None)]
    [loss] = places.losses
    assert str(loss) == f"made.trace: {FILE} is cut: its functions have no names."
