import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tracekit.base.errors import RecordingError, ToolError
from tracekit.nightly.session.program import Bounds, BudgetSpentError, Program, last_words, run
from tracekit.record.supervisor.supervisor import Supervisor

pytestmark = [pytest.mark.usefixtures("children"), pytest.mark.processes]


@pytest.fixture
def bounds(tmp_path: Path) -> Iterator[Bounds]:
    with Supervisor(tmp_path) as supervisor:
        yield Bounds(supervisor)


@pytest.fixture
def program(tmp_path: Path) -> Callable[..., Program]:
    """Describe a line of shell."""

    def make(line: str, **values: Path) -> Program:
        log = tmp_path / "logs" / "one.log"
        return Program(("sh", "-c", line), dict(os.environ), tmp_path, **{"log": log, **values})

    return make


def test_what_it_says_is_added_to_the_log(
    program: Callable[..., Program], bounds: Bounds, tmp_path: Path
) -> None:
    assert run(program("pwd; echo two >&2; exit 5"), bounds, 10) == 5
    assert run(program("kill -9 $$"), bounds, 10) == -9
    assert run(program("echo three"), bounds, 10) == 0
    assert (tmp_path / "logs" / "one.log").read_text() == f"{tmp_path}\ntwo\nthree\n"


def test_its_output_can_go_elsewhere(
    program: Callable[..., Program], bounds: Bounds, tmp_path: Path
) -> None:
    output = tmp_path / "logs" / "output"
    for _ in range(2):
        run(program("echo one; echo two >&2", output=output), bounds, 10)
    assert output.read_text() == "one\n"
    assert (tmp_path / "logs" / "one.log").read_text() == "two\ntwo\n"


def test_one_that_takes_too_long_is_ended(program: Callable[..., Program], bounds: Bounds) -> None:
    told = r"did not end within 0\.2 s and was ended\. Its last words: slow"
    with pytest.raises(ToolError, match=told):
        run(program("echo slow; exec sleep 60"), bounds, 0.2)


def test_the_night_s_end_is_another_reason(program: Callable[..., Program], bounds: Bounds) -> None:
    with pytest.raises(BudgetSpentError, match="time was spent while"):
        run(program("exec sleep 60"), replace(bounds, deadline=time.monotonic() + 0.2), 60)


def test_what_it_leaves_behind_is_ended(
    program: Callable[..., Program], bounds: Bounds, tmp_path: Path
) -> None:
    assert run(program("sleep 60 & echo $! > pid"), bounds, 10) == 0
    pid = int((tmp_path / "pid").read_text())
    for _ in range(500):
        state = subprocess.run(
            ["ps", "-o", "stat=", "-p", str(pid)], capture_output=True, text=True, check=False
        )
        if state.stdout.strip() in {"", "Z"}:
            return
        time.sleep(0.01)
    pytest.fail(f"process {pid} lives")


def test_ctrl_c_ends_it(program: Callable[..., Program], bounds: Bounds, tmp_path: Path) -> None:
    def interrupt() -> None:
        while not (tmp_path / "begun").exists():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    helper = threading.Thread(target=interrupt)
    helper.start()
    with pytest.raises(KeyboardInterrupt):
        run(program("touch begun; exec sleep 60"), bounds, 60)
    helper.join()


def test_a_log_that_cannot_be_written_is_told(
    program: Callable[..., Program], bounds: Bounds, tmp_path: Path
) -> None:
    (tmp_path / "logs").touch()
    with pytest.raises(RecordingError, match=r"one\.log cannot be written"):
        run(program("true"), bounds, 10)


def test_last_words_are_the_end_of_a_log(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert last_words(log) == ""
    log.write_bytes(b"x" * 5000 + b"\xff the end\n")
    assert last_words(log).endswith("� the end")
    assert len(last_words(log)) < 2100
    assert last_words(log, 5000) == " Its last words: � the end"
    assert last_words(log, log.stat().st_size) == ""


def test_it_stands_in_the_folder_that_is_given(bounds: Bounds, tmp_path: Path) -> None:
    code = "import os; print(os.getcwd())"
    argv = (sys.executable, "-c", code)
    one = Program(argv, dict(os.environ), tmp_path, tmp_path / "log")
    assert run(one, bounds, 20) == 0
    assert (tmp_path / "log").read_text().strip() == str(tmp_path)
