"""Commands: what they say, how long they may take, how their failures read."""

import sys
from pathlib import Path

import pytest

from children import until_gone
from tracekit.base.errors import ToolError
from tracekit.record.xctrace.command import Completed, failure, run


def python(code: str) -> tuple[str, ...]:
    return (sys.executable, "-I", "-S", "-c", "import os, signal, subprocess, sys, time\n" + code)


@pytest.mark.processes
def test_a_command_says_what_it_says_on_both_pipes() -> None:
    argv = python("print('out'); print('µ', file=sys.stderr); sys.exit(3)")
    assert run(argv, 20) == Completed(argv, 3, "out\n", "µ\n")
    with pytest.raises(ToolError, match="xcrun cannot be started: No such file") as caught:
        run(("/nowhere/xcrun", "--find", "xctrace"), 1)
    assert "--recorder host" in caught.value.hint


@pytest.mark.processes
@pytest.mark.parametrize(
    ("code", "error"),
    [
        (
            "say(subprocess.Popen(['sleep', '60']).pid)",
            r"did not end within 1\.5 s and was stopped",
        ),
        ("say(os.getpid()); os.kill(os.getppid(), signal.SIGINT)", None),
    ],
)
def test_one_that_takes_too_long_or_is_interrupted_is_ended_with_its_children(
    code: str, error: str | None, tmp_path: Path
) -> None:
    file = tmp_path / "pid"
    say = f"say = lambda pid: open({str(file)!r}, 'w').write(str(pid))\n"
    with pytest.raises(ToolError if error else KeyboardInterrupt, match=error):
        run(python(f"{say}{code}\ntime.sleep(60)"), 1.5 if error else 30)
    until_gone(int(file.read_text()))


NO_XCODE = "Only the Command Line Tools are installed or selected"


@pytest.mark.parametrize(
    ("code", "said", "meaning", "hint"),
    [
        (72, 'unable to find utility "xctrace", not a', NO_XCODE, "sudo xcode-select --switch /"),
        (1, "tool 'xctrace' requires Xcode, but active developer directory", NO_XCODE, "DEVELOPER"),
        (
            69, "You have not agreed to the Xcode license agreements.",
            "The licence of Xcode has not been accepted", "sudo xcodebuild -license",
        ),
        (2, "something new", "/X/xctrace version failed with exit code 2", ""),
    ],
)  # fmt: skip
def test_failures_quote_line_and_tool(code: int, said: str, meaning: str, hint: str) -> None:
    error = failure(Completed(("/X/xctrace", "version"), code, "", said))
    assert error.message.startswith(meaning)
    assert f"/X/xctrace version failed with exit code {code}:\n{said}" in error.message
    assert hint in error.hint
    long, end = ("\n".join(map(str, range(first, 20))) for first in (0, 8))
    assert failure(Completed(("x",), 1, long)).message.endswith(f"exit code 1:\n{end}")
