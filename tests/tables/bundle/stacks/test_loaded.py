"""Which binaries the document of a bundle says that processes had loaded."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from bundle_writer.symbols import Image, signature
from documented_bundle import DEVICE, SYMBOL_STORES, bundle_of
from tracekit.tables.bundle.stacks.images import KERNEL, RunPlaces
from tracekit.tables.bundle.stacks.images import Image as Loaded

SIGNATURE = "com.apple.xray.symbolstore.signature"
CACHES = "com.apple.xray.symbolstore.sharedcache.signatures"
CACHE = UUID("0596a7b6-bce2-3f06-a2e8-3eaab5371ed8")
APP = Image(UUID(int=1), "/usr/local/bin/app", 0x100000000)
LIBRARY = Image(UUID(int=2), "/usr/lib/libobjc.A.dylib", 0x4000)
SIGNED = signature(4711, [APP])
IN_CACHE = SIGNED[:-24] + CACHE.bytes + (0x180000000).to_bytes(8, "little")
TIMES = [0, 125, 3, 1_000_000, 1774903878.0, "Etc/UTC"]


def loaded(folder: Path, stores: Any, times: Any = None, caches: Any = None) -> RunPlaces:
    run = {"mach_time_info": {DEVICE: TIMES} if times is None else times}
    top = {SYMBOL_STORES: stores} | ({} if caches is None else {CACHES: caches})
    return RunPlaces(bundle_of(folder, run, **top).runs[0])


def store(content: Any = SIGNED, **more: Any) -> dict[str, Any]:
    return {1: {f"{DEVICE}.4711": {SIGNATURE: content, **more}}}


def images(found: RunPlaces, pid: int) -> Sequence[Loaded]:
    found._asked = True
    return found._images(pid)


def paths(found: RunPlaces, pid: int = 4711) -> list[str]:
    return [image.binary.path for image in images(found, pid)]


def ticks(found: RunPlaces, *times: int, pid: int = 4711) -> list[int]:
    return found._ticks(pid, np.array(times, np.int64)).tolist()


@pytest.mark.parametrize("pid", ["0", "4294967295", "-1"])
def test_the_kernel_is_process_0_or_one_of_all_ones(tmp_path: Path, pid: str) -> None:
    found = loaded(tmp_path, {1: {f"{DEVICE}.{pid}": {SIGNATURE: SIGNED}}})
    assert paths(found, KERNEL) == ["/usr/local/bin/app"]


@pytest.mark.parametrize("key", [str(CACHE).upper(), CACHE])
def test_binaries_of_the_shared_cache_lie_where_the_cache_does(tmp_path: Path, key: Any) -> None:
    caches = {key: {0x4000: signature(0, [LIBRARY]), 0x8000: b""}}
    found = loaded(tmp_path, store(IN_CACHE, dsc_load_addresses=[0x4000, 0x9000]), caches=caches)
    binaries = [image.binary for image in images(found, 4711)]
    assert [one.name for one in binaries] == ["app", "libobjc.A.dylib"]
    assert [one.load_address for one in binaries] == [0x100000000, 0x180004000]
    assert found.remarks == ()


def test_times_are_mach_times_of_the_device(tmp_path: Path) -> None:
    assert ticks(loaded(tmp_path, store()), 0, 1000) == [1_000_000, 1_000_024]


@pytest.mark.parametrize(
    ("content", "why"),
    [(b"", "is cut"), (SIGNED[:-1], "is cut"), (b"\0" + SIGNED[1:], "is of an unknown form")],
)
def test_a_damaged_list_is_told_of(tmp_path: Path, content: bytes, why: str) -> None:
    found = loaded(tmp_path, store(content))
    assert paths(found) == paths(found) == []
    assert found.remarks == (
        f"The list of the binaries of process 4711 {why}: some of its addresses have no names.",
    )
