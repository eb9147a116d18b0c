"""Files: notes of ours, input that is checked, output that takes its place whole or not at all."""

import errno
import os
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from devices import device
from nobody import folder_of_nobody
from tracekit.base.errors import InputError, RecordingError
from tracekit.base.files import (
    declares_document_type,
    find_shipped_folder,
    hostile,
    is_text,
    legible,
    notes_folder,
    open_input,
    read_input,
    replacing,
    require_writable,
)


def test_notes_are_kept_in_the_named_folder_or_the_systems_cache(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert (find_shipped_folder("templates") / "report").is_dir()
    monkeypatch.setenv("HOME", "/Users/ada")
    for platform, cache, override, folder in (
        ("linux", "/cache", "/somewhere", "/somewhere"),
        ("linux", "/cache", "", "/cache/tracekit"),
        ("linux", "", "", "/Users/ada/.cache/tracekit"),
        ("darwin", "/cache", "", "/Users/ada/Library/Caches/tracekit"),
    ):
        monkeypatch.setattr("sys.platform", platform)
        monkeypatch.setenv("XDG_CACHE_HOME", cache)
        monkeypatch.setenv("TRACEKIT_CACHE", override)
        assert notes_folder() == Path(folder)


DECLARED = (
    b"<!DOCTYPE a>",
    b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- > --> <!DOCTYPE a>",
    b"<!-- a -->\n" * 10_000 + b"<!DOCTYPE a>",
)
UNDECLARED = (b"<a><!DOCTYPE a>", b"", b"<?a b?>" * 10_000 + b"<row>")


def test_a_document_type_is_recognized_only_in_the_prolog() -> None:
    assert [*map(declares_document_type, (*DECLARED, *UNDECLARED))] == [True] * 3 + [False] * 3
    assert hostile(Path("a.xml")).message.startswith("a.xml declares a document type")


def test_a_name_in_no_encoding_is_written_out() -> None:
    assert legible("run ü ☃") == "run ü ☃"
    assert legible("run \udcff\ud800") == r"run \udcff\ud800"
    assert [is_text(Path(name)) for name in ("run ü ☃", "run \udcff")] == [True, False]


def test_a_file_is_read_and_other_things_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_bytes(b"content")
    Path("link").symlink_to("file")
    Path("folder").mkdir()
    Path("loop").symlink_to("loop")
    os.mkfifo("pipe")  # one that nobody writes to, which must not hang
    for name in ("file", "link"):
        assert read_input(Path(name)) == b"content"
        with open_input(Path(name)) as file:
            assert file.read() == b"content", name
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        for name, words, hint in (
            ("pipe", "pipe is a pipe or a device, not a file.", "Write it to a file first"),
            ("folder", "folder is a folder, not a file.", "tracekit import"),
            ("socket", "socket cannot be read", ""),
            ("loop", f"loop cannot be read: {os.strerror(errno.ELOOP)}.", ""),
        ):
            for read in (open_input, read_input):
                with pytest.raises(InputError) as caught:
                    read(Path(name))
                assert caught.value.message.startswith(words), read
                assert hint in caught.value.hint, (name, read)
    for absent_path in ("gone", "file/below"):
        with pytest.raises(FileNotFoundError) as missing:
            read_input(Path(absent_path))
        assert missing.value.strerror == os.strerror(errno.ENOENT), absent_path
        assert missing.value.filename == absent_path


def names(folder: Path) -> list[str]:
    return sorted(file.name for file in folder.iterdir())


def write(path: Path, content: bytes, error: BaseException | None = None) -> None:
    """Write a file in place of what is there, and raise the error before it is complete."""
    with replacing(path) as file:
        file.write(content)
        if error is not None:
            raise error


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_whose_a_file_is_the_umask_says(tmp_path: Path, umask: int, mode: int) -> None:
    old_umask = os.umask(umask)
    try:
        write(tmp_path / "file", b"whole")
    finally:
        os.umask(old_umask)
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    with replacing(path) as file:
        file.write(b"whole")
        assert not path.exists()
    with path.open("rb") as reading:
        write(path, b"after")
        assert reading.read() == b"whole"  # who reads the old one reads all of it
    with pytest.raises(KeyboardInterrupt):
        write(path, b"half", KeyboardInterrupt())
    assert path.read_bytes() == b"after"
    assert names(path.parent) == ["file"]


def test_files_of_a_killed_writer_are_removed_after_a_day(tmp_path: Path) -> None:
    leftovers = {age: tmp_path / f".[file].unfinished-{age:08d}" for age in (86_300, 86_500)}
    for age, file in leftovers.items():
        file.touch()
        os.utime(file, (time.time() - age,) * 2)
    write(tmp_path / "[file]", b"whole")
    assert [file.exists() for file in leftovers.values()] == [True, False]


def test_a_link_stays_and_its_target_is_replaced(tmp_path: Path) -> None:
    far = tmp_path / "far"
    far.mkdir()
    (far / "file").write_bytes(b"before")
    (far / "file").chmod(0o600)
    (tmp_path / "second").symlink_to("far/file")
    (tmp_path / "first").symlink_to("second")
    (tmp_path / "dangling").symlink_to("far/new")
    for name in ("first", "dangling"):
        require_writable(tmp_path / name)
        write(tmp_path / name, b"after")
        assert (tmp_path / name).is_symlink()
    assert (far / "file").read_bytes() == (far / "new").read_bytes() == b"after"
    assert (far / "file").stat().st_mode & 0o777 == 0o600
    assert names(far) == ["file", "new"]


def refuse(path: Path, reason: str) -> None:
    for attempt in (require_writable, lambda path: write(path, b"after")):
        with pytest.raises(RecordingError, match=f"cannot be written: {reason}"):
            attempt(path)


def test_a_file_that_its_owner_protects_is_not_replaced() -> None:
    with folder_of_nobody() as folder:
        path = folder / "file"
        path.write_bytes(b"before")
        path.chmod(0o400)
        refuse(path, "Permission denied")
        assert path.read_bytes() == b"before"
        assert names(folder) == ["file"]


@pytest.mark.processes
def test_a_pipe_gets_all_of_the_content_or_nothing(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    require_writable(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        with pytest.raises(ValueError, match="early"):
            write(pipe, b"half", ValueError("early"))
        with replacing(pipe) as file:
            file.write(b"whole")
            file.seek(0)
            file.write(b"W")
        assert reader.communicate()[0] == b"Whole"
    assert stat.S_ISFIFO(pipe.stat().st_mode)


SAYING = """
import sys
from pathlib import Path
from tracekit.base.files import replacing
print("first")
with replacing(Path(sys.argv[1])) as file:
    file.write(b"second\\n")
print("third")
"""


@pytest.mark.processes
@pytest.mark.parametrize("name", ["link", "/dev/fd/1", "log"])
def test_the_target_of_standard_output_is_written(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    log = tmp_path / "log"
    log.write_text("before\n")
    (tmp_path / "link").symlink_to("/dev/stdout")  # itself, root could replace
    argv = [sys.executable, "-c", SAYING, str(tmp_path / name)]
    with log.open("ab") as log_file:
        subprocess.run(argv, check=True, stdout=log_file)
        if name == "log":  # standard error alike
            subprocess.run(argv, check=True, stdout=subprocess.DEVNULL, stderr=log_file)
    assert log.read_text() == "before\nfirst\nsecond\nthird\n" + "second\n" * (name == "log")
    if name == "link":
        piped = subprocess.run(argv, check=True, capture_output=True)
        assert piped.stdout == b"first\nsecond\nthird\n"


def test_a_device_stays_and_trouble_is_reported(tmp_path: Path) -> None:
    null = device(tmp_path, "null")
    old_status = null.stat()
    require_writable(null)
    write(null, b"gone")
    assert (null.stat().st_ino, null.stat().st_mode) == (old_status.st_ino, old_status.st_mode)
    (tmp_path / "link").symlink_to(device(tmp_path, "full"))
    with pytest.raises(RecordingError, match="link cannot be written: No space left"):
        write(tmp_path / "link", b"too much")
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    refuse(tmp_path / "a", "Too many levels")
    assert (tmp_path / "a").is_symlink()
