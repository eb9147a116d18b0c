"""Commands: what they say, how long they may take, how their failures read."""

import os
import sys
import time
from pathlib import Path

import pytest

from tracekit.base.errors import ToolError
from tracekit.record.xctrace.command import Completed, failure, run

pytestmark = pytest.mark.processes


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", code)


def test_a_command_says_what_it_says_on_both_pipes() -> None:
    argv = python("import sys; print('out'); print('µ', file=sys.stderr); sys.exit(3)")
    assert run(argv, 20) == Completed(argv, 3, "out\n", "µ\n")


def test_a_command_that_takes_too_long_is_ended_with_its_children(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    code = (
        "import subprocess, sys, time, pathlib\n"
        "child = subprocess.Popen(['sleep', '60'])\n"
        f"pathlib.Path({str(pid_file)!r}).write_text(str(child.pid))\n"
        "time.sleep(60)"
    )
    with pytest.raises(ToolError, match=r"did not end within 1\.5 s and was stopped"):
        run(python(code), 1.5)
    deadline = time.monotonic() + 10
    while _runs(int(pid_file.read_text())):
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_ctrl_c_ends_the_command_too(tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    code = (
        "import os, signal, time, pathlib\n"
        f"pathlib.Path({str(pid_file)!r}).write_text(str(os.getpid()))\n"
        "os.kill(os.getppid(), signal.SIGINT)\n"
        "time.sleep(60)"
    )
    with pytest.raises(KeyboardInterrupt):
        run(python(code), 30)
    assert not _runs(int(pid_file.read_text()))


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"


def test_a_program_that_is_not_there() -> None:
    with pytest.raises(ToolError, match="xcrun cannot be started: No such file") as caught:
        run(("/nowhere/xcrun", "--find", "xctrace"), 1)
    assert "--recorder host" in caught.value.hint


@pytest.mark.parametrize(
    ("code", "said", "meaning", "hint"),
    [
        (
            72,
            'xcrun: error: unable to find utility "xctrace", not a developer tool or in PATH',
            "Only the Command Line Tools are installed or selected",
            "sudo xcode-select --switch /Applications/Xcode.app",
        ),
        (
            1,
            "xcode-select: error: tool 'xctrace' requires Xcode, but active developer directory",
            "Only the Command Line Tools are installed or selected",
            "DEVELOPER_DIR=/Applications/Xcode.app/Contents/Developer",
        ),
        (
            69,
            "You have not agreed to the Xcode license agreements.",
            "The licence of Xcode has not been accepted",
            "sudo xcodebuild -license",
        ),
        (2, "something new", "/X/xctrace version failed with exit code 2", ""),
    ],
)
def test_failures_quote_the_line_and_the_tool(
    code: int, said: str, meaning: str, hint: str
) -> None:
    error = failure(Completed(("/X/xctrace", "version"), code, "", said))
    assert error.message.startswith(meaning)
    assert f"/X/xctrace version failed with exit code {code}:\n{said}" in error.message
    assert hint in error.hint
