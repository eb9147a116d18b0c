"""Pipes that are drained line by line, whatever comes through them."""

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tracekit.record.xctrace.progress import OutputLines

pytestmark = pytest.mark.processes


@contextmanager
def lines_of(code: str) -> Iterator[OutputLines]:
    argv = (sys.executable, "-I", "-S", "-u", "-c", code)
    with subprocess.Popen(
        argv, bufsize=0, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        with OutputLines(out=process.stdout, err=process.stderr) as lines:
            yield lines
        process.kill()


def all_of(lines: OutputLines) -> list[tuple[str, str]]:
    heard: list[tuple[str, str]] = []
    deadline = time.monotonic() + 20
    while lines.open:
        assert time.monotonic() < deadline
        heard += lines.read(0.1)
    return heard + list(lines.rest())


def test_a_line_in_pieces_is_one_line_and_the_last_needs_no_end() -> None:
    code = (
        "import sys, time\nfor part in ('a', 'b\\nc'):\n  sys.stdout.write(part); time.sleep(.05)"
    )
    with lines_of(code) as lines:
        assert all_of(lines) == [("out", "ab"), ("out", "c")]


def test_bytes_without_a_line_end_do_not_pile_up() -> None:
    with lines_of("import sys; sys.stdout.write('x' * 3_000_000)") as lines:
        heard = all_of(lines)
    assert sum(len(line) for _, line in heard) == 3_000_000
    assert len(heard) > 1


def test_reading_does_not_wait_longer_than_it_may() -> None:
    with lines_of("import time; time.sleep(60)") as lines:
        assert list(lines.read(0.01)) == []
        assert lines.open


def test_what_an_ended_process_left_open_is_not_waited_for() -> None:
    code = "import subprocess; print('a'); subprocess.Popen(['sleep', '3'])"
    with lines_of(code) as lines:
        heard: list[tuple[str, str]] = []
        while not heard:
            heard += lines.read(0.1)
        assert heard == [("out", "a")]
        assert list(lines.rest()) == []
        assert lines.open
