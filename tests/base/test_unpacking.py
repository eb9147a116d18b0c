"""Bundles out of zip files, and zip files that are not to be trusted."""

import os
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

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


def files_of(folder: Path) -> Members:
    return {
        one.relative_to(folder).as_posix(): one.read_bytes()
        for one in folder.rglob("*")
        if one.is_file()
    }


@pytest.mark.parametrize("above", ["", "x.trace/", "some/where/x.trace/"])
def test_the_bundle_is_unpacked_wherever_it_stands(packed: Zip, tmp_path: Path, above: str) -> None:
    members = {name.replace("x.trace/", above): content for name, content in WHOLE.items()}
    beside = {"__MACOSX/x.trace/open.creq": b"mac", "README": b"no"} if above else {}
    archive = packed({**members, **beside})
    unpack_bundle(archive, tmp_path / "recording.trace")
    found = files_of(tmp_path / "recording.trace")
    assert found == {name.removeprefix("x.trace/"): content for name, content in WHOLE.items()}


@pytest.mark.parametrize(
    ("members", "told"),
    [
        ({}, "no bundle"),
        ({"a.txt": b""}, "no bundle"),
        ({"a.trace/open.creq": b"", "b.trace/open.creq": b""}, "2 bundles"),
        ({**WHOLE, "x.trace/../../evil": b""}, "leads out of its folder"),
        ({**WHOLE, "/etc/evil": b""}, "leads out of its folder"),
        ({**WHOLE, "x.trace\\..\\evil": b""}, "leads out of its folder"),
        ({**WHOLE, "x.trace//open.creq": b""}, "holds a file twice"),
        ({**WHOLE, "./x.trace/open.creq": b""}, "holds a file twice"),
        ({**WHOLE, "x.trace/Open.creq": b""}, "holds a file twice"),
    ],
)
def test_other_archives_are_refused_before_anything_is_written(
    packed: Zip, tmp_path: Path, members: Members, told: str
) -> None:
    archive = packed(members)
    with pytest.raises(InputError, match=told):
        unpack_bundle(archive, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize("kind", [None, stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_a_file_that_is_there_twice_links_and_devices_are_refused(
    tmp_path: Path, kind: int | None
) -> None:
    archive = tmp_path / "x.trace.zip"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("x.trace/open.creq", b"")
        other = zipfile.ZipInfo("x.trace/corespace" if kind else "x.trace/open.creq")
        other.external_attr = ((kind or 0) | 0o777) << 16
        file.writestr(other, "/etc")
    with pytest.raises(InputError, match="a link or a device" if kind else "holds a file twice"):
        unpack_bundle(archive, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_damage_within_is_found_while_unpacking(packed: Zip, tmp_path: Path) -> None:
    archive = packed({**WHOLE, "x.trace/form.template": os.urandom(4000)})
    content = bytearray(archive.read_bytes())
    middle = content.index(b"x.trace/form.template") + 1000
    content[middle] ^= 0xFF
    archive.write_bytes(content)
    with pytest.raises(InputError, match="no zip file that can be read"):
        unpack_bundle(archive, tmp_path / "out")


def test_no_more_is_taken_than_a_bundle_has(
    packed: Zip, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = packed(WHOLE)
    monkeypatch.setattr(unpacking, "_MOST_BYTES", 5000)
    with pytest.raises(InputError, match="more than any bundle"):
        unpack_bundle(archive, tmp_path / "out")
    monkeypatch.undo()
    zeros = packed({**WHOLE, "x.trace/corespace/zeros": bytes(1 << 20)})
    monkeypatch.setattr(unpacking, "_ANY_RATIO", 5000)
    with pytest.raises(InputError, match="more than any bundle"):
        unpack_bundle(zeros, tmp_path / "out")
    monkeypatch.undo()
    monkeypatch.setattr(unpacking, "_MOST_MEMBERS", 2)
    with pytest.raises(InputError, match="more than any bundle"):
        unpack_bundle(archive, tmp_path / "out")


def test_a_folder_that_is_taken_is_said(packed: Zip, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    with pytest.raises(RecordingError, match="cannot be unpacked into"):
        unpack_bundle(packed(WHOLE), tmp_path / "out")
