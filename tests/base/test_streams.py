"""What becomes of standard output and standard error where nobody reads them, or nothing fits."""

import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracekit.base.errors import RecordingError
from tracekit.base.streams import CLOSED, Guarded

pytestmark = pytest.mark.processes

PROGRAM = [sys.executable, "-m", "tracekit"]
FULL = Path("/dev/full")


def closed_pipe() -> int:
    """Return a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def ended(*arguments: str, out: int, err: int) -> int:
    """Run a command in a process of its own, whose end flushes what is left; close its streams."""
    try:
        return subprocess.run(
            [*PROGRAM, *arguments], check=False, stdout=out, stderr=err, timeout=60
        ).returncode
    finally:
        for one in {out, err} - {subprocess.DEVNULL}:
            os.close(one)


@pytest.mark.parametrize("arguments", [("rules",), ("--help",)])
def test_a_closed_pipe_is_no_regression(arguments: tuple[str, ...]) -> None:
    reading, writing = os.pipe()
    assert ended(*arguments, out=closed_pipe(), err=writing) == CLOSED
    with os.fdopen(reading) as errors:
        assert errors.read() == ""


def test_an_error_that_nobody_reads_keeps_its_exit_code() -> None:
    assert ended("analyze", "nowhere", out=subprocess.DEVNULL, err=closed_pipe()) == 3
    assert ended("analyze", out=subprocess.DEVNULL, err=closed_pipe()) == 2


@pytest.mark.skipif(not FULL.exists(), reason="no /dev/full here")
def test_a_full_disk_below_standard_output_is_an_error_in_a_sentence() -> None:
    reading, writing = os.pipe()
    assert ended("rules", out=os.open(FULL, os.O_WRONLY), err=writing) == 3
    with os.fdopen(reading) as errors:
        told = errors.read().splitlines()
    assert told[0] == "error: The standard output cannot be written: No space left on device."
    assert told[1].startswith("hint: ")
    assert len(told) == 2


def test_bytes_for_a_pipe_are_as_they_are() -> None:
    raw = io.TextIOWrapper(io.BytesIO(), "utf-8")
    stream = Guarded(raw)
    assert stream.buffer.write(b"a\x1bb\xff") == 4
    stream.writelines(["c\x1b", "d\n"])
    stream.flush()
    assert raw.buffer.getvalue() == b"a\x1bb\xffc\\u001bd\n"


class Terminal(io.TextIOWrapper):
    """A stream that somebody looks at."""

    def isatty(self) -> bool:
        """Tell that it is a terminal."""
        return True


def test_bytes_for_a_terminal_are_shown_though_letters_come_in_parts() -> None:
    raw = Terminal(io.BytesIO(), "utf-8")
    stream = Guarded(raw).buffer
    stream.write(b"\xc2")
    stream.write(b"\x9b31m \xe2\x9c")
    stream.write(b"\x93")
    stream.flush()
    assert raw.buffer.getvalue() == r"\u009b31m ✓".encode()


class Failing(io.StringIO):
    """A stream on a broken disk."""

    def write(self, text: str) -> int:  # noqa: ARG002
        """Fail."""
        raise OSError(5, "Input/output error")


def test_what_cannot_be_written_is_an_error_of_standard_output_alone() -> None:
    assert Guarded(Failing(), error=True).write("lost") == 4
    with pytest.raises(RecordingError, match="cannot be written: Input/output error"):
        Guarded(Failing()).write("lost")
