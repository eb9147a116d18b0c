"""Files that take the place of another whole, or not at all."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tracekit.errors import RecordingError
from tracekit.replacing import replacing

KILLED = """
import sys, time
from pathlib import Path
from tracekit.replacing import replacing
with replacing(Path(sys.argv[1])) as file:
    file.write(b"half")
    file.flush()
    print("writing", flush=True)
    time.sleep(600)
"""


def names(folder: Path) -> list[str]:
    return sorted(one.name for one in folder.iterdir())


def an_hour_ago(path: Path) -> None:
    then = time.time() - 3600
    os.utime(path, (then, then))


@pytest.fixture
def writer(tmp_path: Path) -> subprocess.Popen[str]:
    """Start a process that is in the middle of replacing a file."""
    (tmp_path / "file").write_bytes(b"before")
    started = subprocess.Popen(
        [sys.executable, "-c", KILLED, str(tmp_path / "file")],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert started.stdout is not None
    with started:
        assert started.stdout.readline() == "writing\n"
        yield started
        started.kill()


def test_a_file_appears_whole(tmp_path: Path) -> None:
    path = tmp_path / "new" / "file"
    with replacing(path) as file:
        file.write(b"whole")
        assert not path.exists()
    assert path.read_bytes() == b"whole"
    assert names(path.parent) == ["file"]


@pytest.mark.parametrize(("umask", "mode"), [(0o022, 0o644), (0o077, 0o600)])
def test_whose_a_file_is_the_umask_says(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        with replacing(tmp_path / "file") as file:
            file.write(b"whole")
    finally:
        os.umask(before)
    assert (tmp_path / "file").stat().st_mode & 0o777 == mode


def _begin_and_raise(path: Path, error: type[BaseException]) -> None:
    with replacing(path) as file:
        file.write(b"half")
        raise error


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_what_was_there_stays_if_writing_ends_early(
    tmp_path: Path, error: type[BaseException]
) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"before")
    with pytest.raises(error):
        _begin_and_raise(path, error)
    assert path.read_bytes() == b"before"
    assert names(tmp_path) == ["file"]


def test_a_file_that_cannot_be_written_is_told_in_words(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(RecordingError, match="cannot be written: File exists"):
        replacing(tmp_path / "file" / "below").__enter__()


def test_what_a_killed_process_left_is_removed_by_the_next(
    tmp_path: Path, writer: subprocess.Popen[str]
) -> None:
    writer.send_signal(signal.SIGKILL)
    writer.wait(timeout=60)
    path = tmp_path / "file"
    assert path.read_bytes() == b"before"
    (left,) = tmp_path.glob(".file.*")
    with replacing(path) as file:
        file.write(b"after")
    assert left.exists()  # it is young: its writer might be about to lock it
    an_hour_ago(left)
    with replacing(path) as file:
        file.write(b"after")
    assert names(tmp_path) == ["file"]


def test_what_another_process_writes_is_left_alone(
    tmp_path: Path, writer: subprocess.Popen[str]
) -> None:
    (left,) = tmp_path.glob(".file.*")
    an_hour_ago(left)
    with replacing(tmp_path / "file") as file:
        file.write(b"after")
    assert left.exists()
    assert (tmp_path / "file").read_bytes() == b"after"


def test_files_of_others_are_left_alone(tmp_path: Path) -> None:
    for name in (".file.original", ".file.unfinished", ".other.unfinished-12345678"):
        (tmp_path / name).write_text("mine")
        an_hour_ago(tmp_path / name)
    with replacing(tmp_path / "file") as file:
        file.write(b"after")
    assert len(names(tmp_path)) == 4
