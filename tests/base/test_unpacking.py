"""Bundles out of zip files, and zip files that are not to be trusted."""

import os
import shutil
import stat
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from tracekit.base import unpacking
from tracekit.base.errors import InputError, RecordingError
from tracekit.base.unpacking import unpack_bundle

WHOLE = {
    "x.trace/open.creq": b"plist",
    "x.trace/corespace/MANIFEST.plist": b"\0" * 5_000_000,
    "x.trace/attached/y.trace/corespace/run1/core/stores/indexed-store-1/bulkstore": b"records",
}
SIZE = 5_000_012


def pack(folder: Path, members: dict[str, bytes]) -> Path:
    path = folder / "x.trace.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in members.items():
            file.writestr(name, content)
    return path


@pytest.mark.parametrize("above", ["", "x.trace/", "some/where/x.trace/"])
def test_the_bundle_is_unpacked_from_any_folder(tmp_path: Path, above: str) -> None:
    members = {name.replace("x.trace/", above): content for name, content in WHOLE.items()}
    stray_members = {"__MACOSX/x.trace/open.creq": b"mac", "README": b"no"} if above else {}
    bundle_path = tmp_path / "recording.trace"
    unpack_bundle(pack(tmp_path, {**members, **stray_members}), bundle_path)
    files = {
        file.relative_to(bundle_path): file.read_bytes()
        for file in bundle_path.rglob("*")
        if file.is_file()
    }
    assert files == {Path(name).relative_to("x.trace"): WHOLE[name] for name in WHOLE}


def test_other_archives_are_refused_before_anything_is_written(
    tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for members, message in (
        ({}, "no bundle"),
        ({"a.txt": b""}, "no bundle"),
        ({"a.trace/open.creq": b"", "b.trace/open.creq": b""}, "2 bundles: a.trace, b.trace"),
        ({**WHOLE, "x.trace/../../evil": b""}, "leads out of its folder"),
        ({**WHOLE, "/etc/evil": b""}, "leads out of its folder"),
        ({**WHOLE, "x.trace\\..\\evil": b""}, "has a backslash in its name"),
        ({**WHOLE, "x.trace//open.creq": b""}, "holds 'x.trace/open.creq' twice"),
        ({**WHOLE, "./x.trace/open.creq": b""}, "holds 'x.trace/open.creq' twice"),
        ({**WHOLE, "x.trace/Open.creq": b""}, "holds 'x.trace/open.creq' twice"),
    ):
        with subtests.test(message):
            with pytest.raises(InputError, match=message):
                unpack_bundle(pack(tmp_path, members), tmp_path / "out")
            assert not (tmp_path / "out").exists(), members


@pytest.mark.parametrize("kind", [stat.S_IFLNK, stat.S_IFIFO, stat.S_IFCHR])
def test_links_and_devices_are_refused(tmp_path: Path, kind: int) -> None:
    special_entry = zipfile.ZipInfo("x.trace/corespace")
    special_entry.external_attr = (kind | 0o777) << 16
    archive = pack(tmp_path, WHOLE)
    with zipfile.ZipFile(archive, "a") as file:
        file.writestr(special_entry, "/etc")
    with pytest.raises(InputError, match="a link or a device"):
        unpack_bundle(archive, tmp_path / "out")


def test_damage_within_is_found_while_unpacking(tmp_path: Path) -> None:
    archive = pack(tmp_path, {**WHOLE, "x.trace/form.template": os.urandom(4000)})
    content = bytearray(archive.read_bytes())
    content[content.index(b"x.trace/form.template") + 1000] ^= 0xFF
    archive.write_bytes(content)
    with pytest.raises(InputError, match="not a readable zip file"):
        unpack_bundle(archive, tmp_path / "out")


@pytest.mark.parametrize(
    ("limit", "enough"), [("_MOST_BYTES", SIZE), ("_MOST_MEMBERS", 3), ("_ANY_RATIO", SIZE)]
)
def test_only_files_of_a_bundle_are_unpacked_and_bombs_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, enough: int
) -> None:
    archive = pack(tmp_path, WHOLE)
    monkeypatch.setattr(unpacking, limit, enough)
    unpack_bundle(archive, tmp_path / "fits")
    monkeypatch.setattr(unpacking, limit, enough - 1)
    with pytest.raises(InputError, match="more than any bundle"):
        unpack_bundle(archive, tmp_path / "out")


def test_a_folder_that_is_taken_or_has_no_room_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = pack(tmp_path, WHOLE)
    (tmp_path / "out" / "taken").mkdir(parents=True)
    with pytest.raises(RecordingError, match="cannot be unpacked into"):
        unpack_bundle(archive, tmp_path / "out")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=SIZE - 1))
    with pytest.raises(RecordingError, match="are free"):
        unpack_bundle(archive, tmp_path / "other")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=SIZE))
    unpack_bundle(archive, tmp_path / "third")


CAPTURE = {
    "x.gputrace/index": b"xdic",
    "x.gputrace/store0": b"",
    "x.gputrace/metadata": b"plist",
    "x.gputrace/MTLBuffer-5-0": b"contents",
}


def pack_links(folder: Path, links: dict[str, str]) -> Path:
    archive = pack(folder, {**CAPTURE, "README": b"no", "__MACOSX/x.gputrace/index": b"mac"})
    with zipfile.ZipFile(archive, "a") as file:
        for name, target in links.items():
            member = zipfile.ZipInfo(name)
            member.external_attr = (stat.S_IFLNK | 0o777) << 16
            file.writestr(member, target)
    return archive


def test_a_capture_is_unpacked_with_copies_for_its_links(tmp_path: Path) -> None:
    archive = pack_links(tmp_path, {"x.gputrace/MTLBuffer-5-1": "MTLBuffer-5-0"})
    assert unpacking.find_content(archive) == "capture"
    folder = tmp_path / "out.gputrace"
    assert unpacking.unpack_capture(archive, folder) == ("README",)
    assert {file.name: file.read_bytes() for file in folder.iterdir()} == {
        "index": b"xdic",
        "store0": b"",
        "metadata": b"plist",
        "MTLBuffer-5-0": b"contents",
        "MTLBuffer-5-1": b"contents",
    }
    assert not (folder / "MTLBuffer-5-1").is_symlink()


@pytest.mark.parametrize("target", ["../secret", "/etc/passwd", "nothing", "b", "x" * 300, ""])
def test_a_link_of_a_capture_leads_nowhere_else(tmp_path: Path, target: str) -> None:
    (tmp_path / "secret").write_bytes(b"secret")
    archive = pack_links(tmp_path, {"x.gputrace/a": target, "x.gputrace/b": "a"})
    with pytest.raises(InputError, match="is a link to another place"):
        unpacking.unpack_capture(archive, tmp_path / "out.gputrace")
    assert not (tmp_path / "out.gputrace").exists()
