"""Files of a bundle: inflated, bounded, and never reached by a link."""

import io
import os
import zlib
from pathlib import Path

import pytest

from tracekit.tables.bundle.container.files import Files, inflated, most_inflated
from tracekit.tables.bundle.errors import BundleError


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder = tmp_path / "x.trace"
    (folder / "corespace" / "run1").mkdir(parents=True)
    return folder


@pytest.mark.parametrize("content", [b"a" * 101, zlib.compress(b"a" * 101)])
def test_a_file_beyond_its_bound_is_refused(bundle: Path, content: bytes) -> None:
    (bundle / "data").write_bytes(content)
    with pytest.raises(BundleError, match=r"x\.trace: data holds more than 100 bytes"):
        Files(bundle).read("data", 100)


def test_a_cut_stream_is_damaged(bundle: Path) -> None:
    (bundle / "data").write_bytes(zlib.compress(os.urandom(1000))[:-5])
    with pytest.raises(BundleError, match=r"data cannot be inflated \(it ends too early\)"):
        Files(bundle).read("data", 1000)


@pytest.mark.parametrize("size", [3000, 1 << 17])
@pytest.mark.parametrize("more", [b"x", b"x" * 70_000])
def test_bytes_behind_the_end_of_a_stream_are_damage_and_end_the_reading(
    bundle: Path, size: int, more: bytes
) -> None:
    (bundle / "data").write_bytes(zlib.compress(os.urandom(size)) + more)
    with pytest.raises(BundleError, match=r"data cannot be inflated \(bytes follow its end\)"):
        Files(bundle).read("data", size)


def test_a_missing_file_is_told_with_the_way_out(bundle: Path) -> None:
    files = Files(bundle)
    with pytest.raises(BundleError, match="corespace/run9 is missing") as raised:
        files.size("corespace/run9")
    assert "xcrun xctrace export" in (raised.value.hint or "")
    assert not files.exists("corespace/run9")


@pytest.mark.parametrize("name", ["link/data", "link", "file"])
def test_nothing_within_is_reached_by_a_link(bundle: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "data").write_bytes(b"secret")
    (bundle / "link").symlink_to(tmp_path / "elsewhere")
    (bundle / "file").symlink_to(tmp_path / "elsewhere" / "data")
    with pytest.raises(BundleError, match="is reached by a link"):
        Files(bundle).open(name)


def test_a_stream_comes_in_blocks_that_are_bounded() -> None:
    bomb = io.BytesIO(zlib.compress(bytes(10_000_000)))
    blocks = list(inflated(bomb, 1024))
    assert sum(map(len, blocks)) == 10_000_000
    assert max(map(len, blocks)) <= 1024 * 16
    assert most_inflated(len(zlib.compress(bytes(10_000_000)))) >= 10_000_000
