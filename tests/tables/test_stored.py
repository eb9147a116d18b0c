"""Tables in bundles, read and kept as exports are."""

import shutil
import time
from pathlib import Path

import pandas as pd
import pytest

from bundle_writer import write_bundle
from small_bundle import PYTHON, SERVER, intervals, ticks
from tracekit.base.errors import InputError
from tracekit.tables import place as stamps
from tracekit.tables.bundle.errors import BundleError
from tracekit.tables.cache import Kept, kept_or_read
from tracekit.tables.direct import Stored
from tracekit.tables.exports import index
from tracekit.tables.flat import read_flat

HOUR = 3600 * 10**9


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    return write_bundle(
        tmp_path / "x.trace", [intervals((10, 5, PYTHON), (0, 10, SERVER)), ticks([1, 2])]
    )


@pytest.fixture
def gpu(bundle: Path) -> Stored:
    """The table metal-gpu-intervals."""
    [one] = index(bundle).tables["metal-gpu-intervals"]
    assert isinstance(one.ref, Stored)
    return one.ref


def test_it_is_kept_and_loaded_again(
    gpu: Stored, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time_ns
    monkeypatch.setattr(stamps.time, "time_ns", lambda: now() + HOUR)
    cache = tmp_path / "kept"
    first = kept_or_read(cache, gpu, "metal-gpu-intervals")
    assert isinstance(first, Kept)
    monkeypatch.setattr(Stored, "digest", None)  # while its stamp lasts it is not hashed again
    again = kept_or_read(cache, gpu, "metal-gpu-intervals")
    assert isinstance(again, Kept)
    assert again.path == first.path
    pd.testing.assert_frame_equal(again.part(), read_flat(gpu).frame)


@pytest.mark.parametrize("name", ["own", "shared"])
def test_what_was_kept_of_other_files_is_not_taken(bundle: Path, gpu: Stored, name: str) -> None:
    cache = bundle.parent / "kept"
    before = kept_or_read(cache, gpu, "metal-gpu-intervals").part()
    other = write_bundle(
        bundle.parent / "y.trace",
        [intervals((10, 5, PYTHON), (1, 10, SERVER)), ticks([1, 2])]
        if name == "own"
        else [intervals((10, 5, PYTHON), (0, 10, PYTHON)), ticks([1, 2])],
    )
    shutil.rmtree(bundle)
    other.rename(bundle)
    after = kept_or_read(cache, gpu, "metal-gpu-intervals").part()
    assert not after.equals(before)
    pd.testing.assert_frame_equal(after, read_flat(gpu).frame)
    assert len(list((bundle.parent / "kept").glob("*.parquet"))) == 1


@pytest.mark.parametrize("name", ["bulkstore", "bulkstore_descriptor", "schema.xml", "spec.plist"])
def test_what_is_missing_is_said(gpu: Stored, tmp_path: Path, name: str) -> None:
    gpu.file.with_name(name).unlink()
    with pytest.raises(InputError, match=name):
        read_flat(gpu)
    with pytest.raises(InputError, match=name):
        kept_or_read(tmp_path / "kept", gpu, "metal-gpu-intervals")


def test_links_are_not_followed(gpu: Stored, tmp_path: Path) -> None:
    gpu.file.rename(tmp_path / "records")
    gpu.file.symlink_to(tmp_path / "records")
    with pytest.raises(BundleError, match="link"):
        gpu.digest()
