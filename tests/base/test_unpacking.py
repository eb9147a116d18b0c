"""Bundles out of zip files, and zip files that are not to be trusted."""

import os
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from tracekit.base import unpacking
from tracekit.base.errors import InputError, RecordingError
from tracekit.base.unpacking import unpack_bundle

Members = dict[str, bytes]
Zip = Callable[[Members], Path]
WHOLE = {
    "x.trace/open.creq": b"plist",
    "x.trace/corespace/MANIFEST.plist": b"\0" * 5000,
    "x.trace/corespace/run1/core/stores/indexed-store-1/bulkstore": b"records",
}


@pytest.fixture
def packed(tmp_path: Path) -> Zip:
    """Pack members into a file."""

    def pack(members: Members) -> Path:
        path = tmp_path / "x.trace.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
            for name, content in members.items():
                file.writestr(name, content)
        return path

    return pack


@pytest.mark.parametrize("above", ["", "x.trace/", "some/where/x.trace/"])
def test_the_bundle_is_unpacked_wherever_it_stands(packed: Zip, tmp_path: Path, above: str) -> None:
    members = {name.replace("x.trace/", above): content for name, content in WHOLE.items()}
    beside = {"__MACOSX/x.trace/open.creq": b"mac", "README": b"no"} if above else {}
    out = tmp_path / "recording.trace"
    unpack_bundle(packed({**members, **beside}), out)
    files = {file.relative_to(out): file.read_bytes() for file in out.rglob("*") if file.is_file()}
    assert files == {Path(name).relative_to("x.trace"): WHOLE[name] for name in WHOLE}


@pytest.mark.parametrize(
    ("members", "kind", "said"),
    [
        ({}, None, "no bundle"),
        ({"a.txt": b""}, None, "no bundle"),
        ({"a.trace/open.creq": b"", "b.trace/open.creq": b""}, None, "2 bundles"),
        ({**WHOLE, "x.trace/../../evil": b""}, None, "leads out of its folder"),
        ({**WHOLE, "/etc/evil": b""}, None, "leads out of its folder"),
        ({**WHOLE, "x.trace\\..\\evil": b""}, None, "leads out of its folder"),
        ({**WHOLE, "x.trace//open.creq": b""}, None, "holds a file twice"),
        ({**WHOLE, "./x.trace/open.creq": b""}, None, "holds a file twice"),
        ({**WHOLE, "x.trace/Open.creq": b""}, None, "holds a file twice"),
        (WHOLE, stat.S_IFLNK, "a link or a device"),
        (WHOLE, stat.S_IFIFO, "a link or a device"),
        (WHOLE, stat.S_IFCHR, "a link or a device"),
    ],
)
def test_other_archives_are_refused_before_anything_is_written(
    packed: Zip, tmp_path: Path, members: Members, kind: int | None, said: str
) -> None:
    archive = packed(members)
    if kind is not None:
        other = zipfile.ZipInfo("x.trace/corespace")
        other.external_attr = (kind | 0o777) << 16
        with zipfile.ZipFile(archive, "a") as file:
            file.writestr(other, "/etc")
    with pytest.raises(InputError, match=said):
        unpack_bundle(archive, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_damage_within_is_found_while_unpacking(packed: Zip, tmp_path: Path) -> None:
    archive = packed({**WHOLE, "x.trace/form.template": os.urandom(4000)})
    content = bytearray(archive.read_bytes())
    content[content.index(b"x.trace/form.template") + 1000] ^= 0xFF
    archive.write_bytes(content)
    with pytest.raises(InputError, match="no zip file that can be read"):
        unpack_bundle(archive, tmp_path / "out")


@pytest.mark.parametrize(("limit", "enough"), [("_MOST_BYTES", 5012), ("_MOST_MEMBERS", 3)])
def test_no_more_is_taken_than_a_bundle_has(
    packed: Zip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, enough: int
) -> None:
    archive = packed(WHOLE)
    monkeypatch.setattr(unpacking, limit, enough)
    unpack_bundle(archive, tmp_path / "fits")
    monkeypatch.setattr(unpacking, limit, enough - 1)
    with pytest.raises(InputError, match="more than any bundle"):
        unpack_bundle(archive, tmp_path / "out")


def test_what_is_packed_too_well_is_no_bundle(
    packed: Zip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    zeros = packed({**WHOLE, "x.trace/corespace/zeros": bytes(1 << 20)})
    unpack_bundle(zeros, tmp_path / "small")
    monkeypatch.setattr(unpacking, "_ANY_RATIO", 5000)
    with pytest.raises(InputError, match="more than any bundle"):
        unpack_bundle(zeros, tmp_path / "out")


def test_a_folder_that_is_taken_or_has_no_room_is_said(
    packed: Zip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = packed(WHOLE)
    (tmp_path / "out").mkdir()
    with pytest.raises(RecordingError, match="cannot be unpacked into"):
        unpack_bundle(archive, tmp_path / "out")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5011))
    with pytest.raises(RecordingError, match="are free"):
        unpack_bundle(archive, tmp_path / "other")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=5012))
    unpack_bundle(archive, tmp_path / "third")
