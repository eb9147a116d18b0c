"""Files that came from elsewhere: what is no file is refused, at once and in words."""

import errno
import os
import socket
from pathlib import Path

import pytest

from tracekit.base.errors import InputError
from tracekit.base.files import declares_document_type, legible, open_input, read_input


def refusal(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        open_input(path)
    return caught.value


def test_a_file_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"content")
    with open_input(path) as file:
        assert file.read() == b"content"
    (tmp_path / "link").symlink_to(path)
    with open_input(tmp_path / "link") as file:
        assert file.read() == b"content"


def test_a_pipe_that_nobody_writes_to_does_not_hang(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    error = refusal(path)
    assert error.message == f"{path} is a pipe, not a file."
    assert "Write it to a file first" in error.hint


def test_a_folder_is_refused(tmp_path: Path) -> None:
    error = refusal(tmp_path)
    assert error.message == f"{tmp_path} is a folder, not a file."
    assert "tracekit import" in error.hint


def test_a_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        assert "cannot be read" in refusal(Path("socket")).message


def test_a_file_that_cannot_be_opened_is_told_in_words(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.symlink_to(path)
    words = os.strerror(errno.ELOOP)
    assert refusal(path).message == f"{path} cannot be read: {words}."


@pytest.mark.parametrize(
    ("beginning", "declared"),
    [
        (b"<!DOCTYPE a>", True),
        (b"\xef\xbb\xbf<?xml version='1.0'?>\n<!-- > --> <!DOCTYPE a>", True),
        (b"<a><!DOCTYPE a>", False),
        (b"", False),
        (b"<?a b?>" * 10_000 + b"<row>", False),
        (b"<!-- a -->\n" * 10_000 + b"<!DOCTYPE a>", True),
    ],
)
def test_a_document_type_is_seen_where_it_may_stand(beginning: bytes, *, declared: bool) -> None:
    assert declares_document_type(beginning) is declared


def test_the_bytes_of_a_file_are_read_or_it_is_said_why_not(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    assert read_input(tmp_path / "file") == b"content"
    for nothing in ("gone", "file/below"):
        with pytest.raises(FileNotFoundError):
            read_input(tmp_path / nothing)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(InputError, match="is a pipe, not a file"):
        read_input(tmp_path / "pipe")


@pytest.mark.parametrize(
    ("name", "told"), [("run ü ☃", "run ü ☃"), ("run \udcff\ud800", r"run \udcff\ud800")]
)
def test_a_name_that_is_no_text_is_written_out(name: str, told: str) -> None:
    assert legible(name) == told
