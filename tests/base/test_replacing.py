"""Files that take the place of another whole, or not at all."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from devices import device
from nobody import folder_of_nobody
from tracekit.base.errors import RecordingError
from tracekit.base.files import replacing, require_writable


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_whose_a_file_is_the_umask_says(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        with replacing(tmp_path / "file") as file:
            file.write(b"whole")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode


def _begin_and_raise(path: Path, error: BaseException) -> None:
    with replacing(path) as file:
        file.write(b"half")
        raise error


def test_what_was_there_stays_if_writing_ends_early(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")
    with pytest.raises(KeyboardInterrupt):
        _begin_and_raise(path, KeyboardInterrupt())
    assert path.read_bytes() == b"before"
    assert names(tmp_path) == ["file"]


def test_a_link_stays_and_what_it_leads_to_is_replaced(tmp_path: Path) -> None:
    far = tmp_path / "far"
    far.mkdir()
    (far / "file").write_bytes(b"before")
    (far / "file").chmod(0o600)
    (tmp_path / "second").symlink_to("far/file")
    (tmp_path / "first").symlink_to("second")
    (tmp_path / "dangling").symlink_to("far/new")
    for name in ("first", "dangling"):
        require_writable(tmp_path / name)
        with replacing(tmp_path / name) as file:
            file.write(b"after")
    assert (far / "file").read_bytes() == (far / "new").read_bytes() == b"after"
    assert (far / "file").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "first").is_symlink()
    assert (tmp_path / "dangling").is_symlink()
    assert names(far) == ["file", "new"]


def test_a_file_that_its_owner_protects_is_not_replaced() -> None:
    with folder_of_nobody() as folder:
        path = folder / "file"
        path.write_bytes(b"before")
        path.chmod(0o400)
        for attempt in (require_writable, lambda path: replacing(path).__enter__()):
            with pytest.raises(RecordingError, match="cannot be written: Permission denied"):
                attempt(path)
        assert path.read_bytes() == b"before"
        assert names(folder) == ["file"]


@pytest.mark.processes
def test_a_pipe_gets_all_of_the_content_or_nothing(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    require_writable(pipe)
    with subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE) as reader:
        with pytest.raises(ValueError, match="early"):
            _begin_and_raise(pipe, ValueError("early"))
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
def test_what_standard_output_goes_to_is_written_to(tmp_path: Path, name: str) -> None:
    log = tmp_path / "log"
    log.write_text("before\n")
    (tmp_path / "link").symlink_to("/dev/stdout")  # itself, root could replace
    argv = [sys.executable, "-c", SAYING, str(tmp_path / name)]
    with log.open("ab") as out:
        subprocess.run(argv, check=True, stdout=out)
    assert log.read_text() == "before\nfirst\nsecond\nthird\n"
    if name != "log":
        piped = subprocess.run(argv, check=True, capture_output=True)
        assert piped.stdout == b"first\nsecond\nthird\n"


def test_a_file_appears_whole_and_who_reads_the_old_one_reads_all_of_it(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    with replacing(path) as file:
        file.write(b"whole")
        assert not path.exists()
    with path.open("rb") as reading:
        with replacing(path) as file:
            file.write(b"after")
        assert reading.read() == b"whole"
    assert path.read_bytes() == b"after"
    assert names(path.parent) == ["file"]


def test_a_device_stays_and_trouble_is_told_in_words(tmp_path: Path) -> None:
    null = device(tmp_path, "null")
    before = null.stat()
    require_writable(null)
    with replacing(null) as file:
        file.write(b"gone")
    assert (null.stat().st_ino, null.stat().st_mode) == (before.st_ino, before.st_mode)
    (tmp_path / "link").symlink_to(device(tmp_path, "full"))
    with (
        pytest.raises(RecordingError, match="link cannot be written: No space left"),
        replacing(tmp_path / "link") as file,
    ):
        file.write(b"too much")
    assert (tmp_path / "link").is_symlink()
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    for attempt in (require_writable, lambda path: replacing(path).__enter__()):
        with pytest.raises(RecordingError, match="cannot be written: Too many levels"):
            attempt(tmp_path / "a")
    assert (tmp_path / "a").is_symlink()
