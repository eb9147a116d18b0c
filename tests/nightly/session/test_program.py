"""A program that is run to its end: what it says is kept, and it is ended in time."""

import os
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tracekit.base.errors import RecordingError, ToolError
from tracekit.nightly.session.program import Bounds, BudgetSpentError, Program, run

pytestmark = [pytest.mark.usefixtures("children"), pytest.mark.processes]

Make = Callable[..., Program]


@pytest.fixture
def program(tmp_path: Path) -> Make:
    """Describe a line of shell."""

    def make(line: str, **values: Path) -> Program:
        log = tmp_path / "logs" / "one.log"
        return Program(("sh", "-c", line), dict(os.environ), tmp_path, **{"log": log, **values})

    return make


def test_what_it_says_is_added_to_the_log_and_its_output_may_go_elsewhere(
    program: Make, bounds: Bounds, tmp_path: Path
) -> None:
    output = tmp_path / "logs" / "output"
    assert run(program("pwd; echo two >&2; exit 5"), bounds, 10) == 5
    assert run(program("kill -9 $$"), bounds, 10) == -9
    for _ in range(2):
        assert run(program("echo one; echo three >&2", output=output), bounds, 10) == 0
    assert (tmp_path / "logs" / "one.log").read_text() == f"{tmp_path}\ntwo\nthree\nthree\n"
    assert output.read_text() == "one\n", "of the last one alone"


def test_one_that_takes_too_long_is_ended(program: Make, bounds: Bounds) -> None:
    reason = r"did not end within 0\.5 s and was ended\. Its last words: slow"
    with pytest.raises(ToolError, match=reason):
        run(program("echo slow; exec sleep 60"), bounds, 0.5)
    with pytest.raises(BudgetSpentError, match="time was spent while"):
        run(program("exec sleep 60"), replace(bounds, deadline=time.monotonic() + 0.2), 60)


def test_a_log_that_cannot_be_written_is_an_error(
    program: Make, bounds: Bounds, tmp_path: Path
) -> None:
    (tmp_path / "logs").touch()
    with pytest.raises(RecordingError, match=r"one\.log cannot be written"):
        run(program("true"), bounds, 10)
