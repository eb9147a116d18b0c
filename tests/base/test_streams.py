"""Text that comes from outside has no effect of its own; output that nobody reads is no failure."""

import io
import json
import os
import subprocess
import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.base.errors import RecordingError
from tracekit.base.streams import CLOSED, Guarded, guard_streams, on_one_line, visible

SEEN = {
    "plain µ ✓ 表": "plain µ ✓ 表",  # letters stay
    "a\x00b\x1b]0;x\x07c": r"a\u0000b\u001b]0;x\u0007c",  # controls
    "a\x9b31m\x7f": r"a\u009b31m\u007f",  # controls of eight bits
    "a\u2028b\u2029c": r"a\u2028b\u2029c",  # line separators
    "user\u202egnp.exe\u061c": r"user\u202egnp.exe\u061c",  # text direction
    "a\u2060b\u2066c\u2069": r"a\u2060b\u2066c\u2069",  # isolated text
    "a\ud800b": r"a\ud800b",  # half a character
    "a\ufeffb\u200bc": r"a\ufeffb\u200bc",  # no width
    "one\ntwo\tthree": "one\ntwo\tthree",  # lines and tabs stay
    "over\rwritten": r"over\u000dwritten",  # a return
}


def test_invisible_characters_are_written_out() -> None:
    assert {raw: visible(raw) for raw in SEEN} == SEEN
    for raw, visible_text in SEEN.items():
        assert on_one_line(raw) == visible_text.replace("\n", r"\n").replace("\t", r"\t")


@given(st.dictionaries(st.text(), st.text()))
def test_a_json_document_keeps_its_values(document: dict[str, str]) -> None:
    visible_text = visible(json.dumps(document, ensure_ascii=False))
    assert json.loads(visible_text) == document
    assert visible(visible_text) == visible_text


def test_a_letter_that_a_terminal_lacks_is_a_question_mark_and_a_closed_stream_takes_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    buffer = io.BytesIO()
    monkeypatch.setattr("sys.stdout", io.TextIOWrapper(buffer, encoding="ascii"))
    monkeypatch.setattr("sys.stderr", None)
    with guard_streams():
        nowhere = sys.stderr
        assert sys.stdout.encoding == "ascii"
        nowhere.write("lost")
        sys.stdout.write("µs\n")
        sys.stdout.flush()
    nowhere.close()
    assert buffer.getvalue() == b"?s\n"


@contextmanager
def stream(kind: str) -> Generator[int]:
    """Give a descriptor that nobody reads any more, on which nothing fits, or that takes all."""
    if kind == "closed":
        reading, writing = os.pipe()
        os.close(reading)
    else:
        writing = os.open("/dev/full" if kind == "full" else os.devnull, os.O_WRONLY)
    yield writing
    os.close(writing)


NO_SPACE = "error: The standard output cannot be written: No space left on"
NEEDS_FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")


@pytest.mark.processes
@pytest.mark.parametrize(
    ("arguments", "out", "code", "said"),
    [
        ("list rules", "closed", CLOSED, []),
        ("--help", "closed", CLOSED, []),
        pytest.param("list rules", "full", 3, [NO_SPACE], marks=NEEDS_FULL),
        ("analyze nowhere", "null", 2, None),
        ("analyze", "null", 2, None),
    ],
)
def test_how_a_command_ends_whose_output_nobody_takes(
    arguments: str, out: str, code: int, said: list[str] | None
) -> None:
    """In a process of its own, whose end flushes what is left; None is a closed stderr."""
    argv = [sys.executable, "-m", "tracekit", *arguments.split()]
    with stream(out) as stdout, stream("closed") as closed:
        stderr = closed if said is None else subprocess.PIPE
        completion = subprocess.run(argv, check=False, stdout=stdout, stderr=stderr, text=True)
    assert completion.returncode == code
    if said is not None:
        lines = completion.stderr.splitlines()
        assert [line[: len(words)] for line, words in zip(lines, said, strict=False)] == said
        assert len(lines) == 2 * len(said)  # with its hint


@NEEDS_FULL
def test_a_stream_that_could_not_be_written_is_as_before_when_the_command_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next command of the process writes again, once there is room, and nothing of the last."""
    file = tmp_path / "out.txt"
    with file.open("w", encoding="ascii") as output_file:
        monkeypatch.setattr("sys.stdout", output_file)
        saved_descriptor = os.dup(output_file.fileno())
        full = os.open("/dev/full", os.O_WRONLY)
        os.dup2(full, output_file.fileno())
        with guard_streams():
            sys.stdout.write("lost")
            with pytest.raises(RecordingError):
                sys.stdout.flush()
            sys.stdout.write("also lost")
        assert os.path.samestat(os.fstat(output_file.fileno()), os.fstat(full))
        assert (sys.stdout, output_file.errors) == (output_file, "strict")
        os.dup2(saved_descriptor, output_file.fileno())
        with guard_streams():
            sys.stdout.write("written\n")
            sys.stdout.flush()
    os.close(full)
    os.close(saved_descriptor)
    assert file.read_text() == "written\n"


class Terminal(io.TextIOWrapper):
    """A stream that somebody looks at."""

    def isatty(self) -> bool:
        return True


def test_bytes_for_a_pipe_are_as_they_are_and_shown_on_a_terminal() -> None:
    raw = io.TextIOWrapper(io.BytesIO(), "utf-8")
    stream = Guarded(raw)
    assert stream.buffer.write(b"a\x1bb\xff") == 4
    stream.writelines(["c\x1b", "d\n"])
    stream.flush()
    assert raw.buffer.getvalue() == b"a\x1bb\xffc\\u001bd\n"
    content = io.BytesIO()
    terminal = Terminal(content, "utf-8")
    stream = Guarded(terminal).buffer
    for part in (b"\xc2", b"\x9b31m \xe2\x9c", b"\x93\xff "):  # letters come in parts
        stream.write(part)
    stream.flush()
    assert content.getvalue() == r"\u009b31m ✓".encode() + "\ufffd ".encode()


def test_a_character_may_be_written_to_a_terminal_in_two_parts() -> None:
    content = io.BytesIO()
    stream = Guarded(Terminal(content, encoding="utf-8"))
    for part in (b"\xc3", b"\xa9"):
        stream.buffer.write(part)
    stream.flush()
    assert content.getvalue() == "é".encode()


class Failing(io.StringIO):
    """A stream on a broken disk, whose descriptor is gone."""

    buffer: Any = io.BufferedIOBase()

    def write(self, text: str) -> int:  # noqa: ARG002
        raise OSError(5, "Input/output error")

    def fileno(self) -> int:
        return -1


def test_unwritable_characters_are_an_error_of_standard_output_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("sys.stdout", Failing())
    monkeypatch.setattr("sys.stderr", Failing())
    with guard_streams():
        assert sys.stderr.write("lost") == sys.stderr.buffer.write(b"lost") == 4
        with pytest.raises(RecordingError, match="cannot be written: Input/output error"):
            sys.stdout.write("lost")
