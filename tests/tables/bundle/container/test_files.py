"""Files of a bundle: inflated, bounded, never reached by a link; what it requires of a reader."""

import io
import os
import plistlib
import zlib
from pathlib import Path
from typing import Any

import pytest

from tracekit.tables.bundle.container.files import Files, inflate, most_inflated
from tracekit.tables.bundle.container.requirements import Requirements, requirements
from tracekit.tables.bundle.errors import BundleError, UnknownBundleError


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    folder = tmp_path / "x.trace"
    (folder / "corespace" / "run1").mkdir(parents=True)
    return folder


LONG = os.urandom(1 << 17)
PACKED, PACKED_LONG = zlib.compress(LONG[:1000]), zlib.compress(LONG)
TOO_MUCH = "holds more than 131,072 bytes"
CUT, FOLLOWED = (
    rf"cannot be inflated \({reason}\)" for reason in ("it ends too early", "bytes follow its end")
)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"a" + LONG, TOO_MUCH),
        (zlib.compress(b"a" + LONG), TOO_MUCH),
        (PACKED[:-5], CUT),
        (PACKED + b"x", FOLLOWED),
        (PACKED + b"x" * 70_000, FOLLOWED),
        (PACKED_LONG + b"x", FOLLOWED),
        (PACKED_LONG + b"x" * 70_000, FOLLOWED),
    ],
    ids=range(7),
)
def test_a_file_beyond_its_bound_or_damaged_is_refused(
    bundle: Path, content: bytes, why: str
) -> None:
    (bundle / "data").write_bytes(content)
    with pytest.raises(BundleError, match=rf"x\.trace: data {why}"):
        Files(bundle).read("data", 1 << 17)


def test_a_missing_file_is_reported_with_a_remedy(bundle: Path) -> None:
    files = Files(bundle)
    with pytest.raises(BundleError, match="corespace/run9 is missing") as raised:
        files.size("corespace/run9")
    assert "xcrun xctrace export" in (raised.value.hint or "")
    assert not files.exists("corespace/run9")
    for name in ("run10", "run9", "runs"):
        (bundle / "corespace" / name).mkdir()
    assert files.list_numbers("corespace", "run") == [1, 9, 10]


@pytest.mark.parametrize("name", ["link/data", "link", "file"])
def test_nothing_within_is_reached_by_a_link(bundle: Path, tmp_path: Path, name: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "data").write_bytes(b"secret")
    (bundle / "link").symlink_to(tmp_path / "elsewhere")
    (bundle / "file").symlink_to(tmp_path / "elsewhere" / "data")
    with pytest.raises(BundleError, match="is reached by a link"):
        Files(bundle).open_file(name)


def test_a_stream_comes_in_blocks_that_are_bounded() -> None:
    bomb = zlib.compress(bytes(10_000_000))
    sizes = [len(block) for block in inflate(io.BytesIO(bomb), 1024)]
    assert (sum(sizes), max(sizes) <= 1024 * 16) == (10_000_000, True)
    assert most_inflated(1000) - most_inflated(0) == 128_000


KNOWN: dict[str, Any] = {
    "com.apple.dt.trace": [5, "A newer version saved this."],
    "com.apple.dt.path-manager.compression": [1, "It is compressed."],
    "com.apple.dt.Instruments.Hierarchies": [1, "It has hierarchies."],
    "com.apple.dt.ac.topology.XRT64_CC32_R_TypeID": [1, "A topology."],
    "com.apple.dt.etype.XRProcessTypeID": [1, "the new engineering type 'process'."],
    "com.apple.dt.etype.XRNewTypeID": [1, "no tag in here"],
    "com.apple.dt.etype.XRRouteTypeID": [2, "the new engineering type 'route'."],
}


def read_requirements(folder: Path, **changes: Any) -> Requirements:
    listed = {name: entry for name, entry in (KNOWN | changes).items() if entry is not None}
    (folder / "open.creq").write_bytes(plistlib.dumps(listed))
    return requirements(Files(folder))


def test_types_have_tags_and_some_are_of_a_newer_version(tmp_path: Path) -> None:
    tags = {"XRProcess": "process", "XRRoute": "route"}
    with pytest.raises(UnknownBundleError, match=r"no open\.creq"):  # it is older
        requirements(Files(tmp_path))
    assert read_requirements(tmp_path) == Requirements(tags, frozenset({"XRRoute"}))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"com.apple.dt.trace": None}, "its com.apple.dt.trace is none"),
        ({"com.apple.dt.trace": [6, "newer"]}, "is 6, and 5"),
        ({"com.apple.dt.path-manager.compression": [2, "other"]}, "compression 2"),
        ({"com.apple.dt.ac.topology.XRT50_C22_TypeID": [1, "old"]}, "XRT50_C22_TypeID 1"),
        ({"com.apple.dt.ac.topology.XRT64_CC32_R_TypeID": [2, "new"]}, "TypeID 2"),
        ({"com.apple.dt.encryption": [1, "It is encrypted."]}, r'1, .*"It is encrypted\."'),
    ],
)
def test_unknown_formats_are_refused(tmp_path: Path, changes: dict[str, Any], words: str) -> None:
    with pytest.raises(UnknownBundleError, match=words) as raised:
        read_requirements(tmp_path, **changes)
    assert "is not read directly" in raised.value.message
    assert "xcrun xctrace export" in (raised.value.hint or "")


@pytest.mark.parametrize("entry", [5, [], ["5", "text"], [5], "5"])
def test_a_capability_without_a_version_is_damage(tmp_path: Path, entry: Any) -> None:
    with pytest.raises(BundleError, match=r"has com\.apple\.dt\.trace without a version"):
        read_requirements(tmp_path, **{"com.apple.dt.trace": entry})
