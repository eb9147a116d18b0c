"""Binaries and symbols at the addresses of a run's processes."""

from dataclasses import replace
from pathlib import Path
from uuid import UUID

import numpy as np
import pytest

from bundle_writer import Image, RunInfo, Symbol, write_bundle
from documented_bundle import TICK
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.stacks.images import RunPlaces, symbols_file
from tracekit.tables.bundle.stacks.stacks import NO_BINARY

DYLD = Image(
    UUID("044cd67e-3a0a-3ca4-8bb3-a9687d5328fe"),
    "/usr/lib/dyld",
    0x195431000,
    size=0x1000,
    symbols=(Symbol(0x100, 0x40, "start"), Symbol(0x200, 0x40, "load")),
)
KERNEL = Image(
    UUID(int=3), "/System/kernel", 0xFFFFFE0007004000, symbols=(Symbol(0x10, 8, "_panic"),)
)
INFO = RunInfo(
    images={4711: [DYLD], 420: [replace(DYLD, address=0x500000)], (1 << 32) - 1: [KERNEL]}
)
FILE = symbols_file(str(DYLD.uuid).upper())
NAMELESS = (
    "Names of functions and binaries are not available, because made.trace has no form.template."
)


def bundle(folder: Path, info: RunInfo = INFO) -> Path:
    return write_bundle(folder / "made.trace", [TICK], info=info)


def places(path: Path) -> RunPlaces:
    return RunPlaces(Bundle(path).runs[0])


def named(found: RunPlaces, *at: tuple[int, int]) -> list[tuple[str, str | None]]:
    pids, addresses = (np.array(part) for part in zip(*at, strict=True))
    looked = addresses.astype(np.uint64)
    numbers = found.find(pids.astype(np.int64), looked, np.zeros(len(at), np.int64))
    binaries = ["" if one == NO_BINARY else found.binaries[one].name for one in numbers.tolist()]
    return [*zip(binaries, found.names(numbers, looked), strict=True)]


def test_each_process_has_its_own_binaries(tmp_path: Path) -> None:
    found = places(bundle(tmp_path))
    assert named(found, (4711, 0x195431100), (420, 0x195431100), (420, 0x500100)) == [
        ("dyld", "start"),
        ("", None),
        ("dyld", "start"),
    ]
    assert [one.load_address for one in found.binaries] == [0x500000, 0x195431000]
    assert found.remarks == ()


def test_names_end_where_their_symbols_do(tmp_path: Path) -> None:
    found = places(bundle(tmp_path))
    assert named(found, *((4711, 0x195431000 + one) for one in (0x200, 0x23F, 0x240, 0xFF))) == [
        ("dyld", "load"),
        ("dyld", "load"),
        ("dyld", None),
        ("dyld", None),
    ]


def test_an_address_of_the_kernel_is_looked_up_there(tmp_path: Path) -> None:
    found = places(bundle(tmp_path))
    assert named(found, (4711, 0xFFFFFE0007004010), (9, 0xFFFFFE0007004018)) == [
        ("kernel", "_panic"),
        ("kernel", None),
    ]


def test_a_binary_whose_symbols_are_not_kept(tmp_path: Path) -> None:
    path = bundle(tmp_path)
    (path / FILE).unlink()
    found = places(path)
    assert named(found, (4711, 0x195431100)) == [("dyld", None)]
    [said] = found.remarks
    assert said.startswith("symbols/stores has nothing on dyld: ")


@pytest.mark.parametrize("kept", [0, 0x40, 0x80])
def test_damaged_symbols_are_told_of(tmp_path: Path, kept: int) -> None:
    path = bundle(tmp_path)
    (path / FILE).write_bytes((path / FILE).read_bytes()[:kept])
    found = places(path)
    assert named(found, (4711, 0x195431100)) == [("dyld", None)]
    assert found.remarks == (f"made.trace: {FILE} is cut: its functions have no names.",)
