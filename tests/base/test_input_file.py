"""Files that came from elsewhere: what is no file is refused, at once and in words."""

import errno
import os
import socket
from pathlib import Path

import pytest

from tracekit.base.errors import InputError
from tracekit.base.files import declares_document_type, legible, open_input, read_input


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


@pytest.mark.parametrize(
    ("name", "told"), [("run ü ☃", "run ü ☃"), ("run \udcff\ud800", r"run \udcff\ud800")]
)
def test_a_name_that_is_no_text_is_written_out(name: str, told: str) -> None:
    assert legible(name) == told


def test_a_file_is_read_and_what_is_none_is_refused(
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
            assert file.read() == b"content"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        for name, words, hint in (
            ("pipe", "pipe is a pipe, not a file.", "Write it to a file first"),
            ("folder", "folder is a folder, not a file.", "tracekit import"),
            ("socket", "socket cannot be read", ""),
            ("loop", f"loop cannot be read: {os.strerror(errno.ELOOP)}.", ""),
        ):
            for read in (open_input, read_input):
                with pytest.raises(InputError) as caught:
                    read(Path(name))
                assert caught.value.message.startswith(words)
                assert hint in caught.value.hint
    for nothing in ("gone", "file/below"):
        with pytest.raises(FileNotFoundError):
            read_input(Path(nothing))
