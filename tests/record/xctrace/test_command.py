"""Commands: what they say, how long they may take, how their failures read."""

from pathlib import Path
from shlex import quote

import pytest

from children import until_gone
from tracekit.base.errors import ToolError
from tracekit.record.xctrace.command import Completed, failure, run


def test_a_command_returns_its_output_and_is_ended_with_its_children(tmp_path: Path) -> None:
    argv = ("/bin/sh", "-c", "echo out; echo µ >&2; exit 3")
    assert run(argv, 20) == Completed(argv, 3, "out\n", "µ\n")
    with pytest.raises(ToolError, match="xcrun cannot be started: No such file") as caught:
        run(("/nowhere/xcrun", "--find", "xctrace"), 1)
    assert "--recorder host" in caught.value.hint
    file = tmp_path / "pid"
    with pytest.raises(ToolError, match=r"wait' did not end within 1\.5 s and was stopped"):
        run(("/bin/sh", "-c", f"sleep 60 & echo $! > {quote(str(file))}; wait"), 1.5)
    until_gone(int(file.read_text()))


NO_XCODE = "Only the Command Line Tools are installed or selected"


def test_failures_quote_line_and_tool() -> None:
    for code, error_text, meaning, hint in (
        (72, 'unable to find utility "xctrace", not a', NO_XCODE, "sudo xcode-select --switch /"),
        (1, "tool 'xctrace' requires Xcode, but active developer directory", NO_XCODE, "DEVELOPER"),
        (69, "You have not agreed to the Xcode license agreements.", "The licence of ", "-license"),
        (2, "something new", "/X/xctrace version failed with exit code 2", ""),
    ):
        error = failure(Completed(("/X/xctrace", "version"), code, "", error_text))
        assert error.message.startswith(meaning), code
        assert f"/X/xctrace version failed with exit code {code}:\n{error_text}" in error.message
        assert hint in error.hint
    long, end = ("\n".join(map(str, range(start, 20))) for start in (0, 8))
    assert failure(Completed(("x",), 1, long)).message.endswith(f"exit code 1:\n{end}")
