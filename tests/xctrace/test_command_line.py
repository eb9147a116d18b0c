"""The command lines of recordings, word for word."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.errors import UsageError
from tracekit.recorder import Attach, Launch, Request, Target
from tracekit.xctrace.command_line import absolute, record_line, time_limit
from tracekit.xctrace.selection import Selection
from tracekit.xctrace.tool import Xctrace

ENVIRONMENT = {"HOME": "/Users/a", "PATH": "/usr/bin:/bin", "SECRET": "x", "MTL_HUD_ENABLED": "1"}
HELP = "--no-prompt --instrument --target-stdout"


@pytest.fixture
def line(answers: Any, say: Any, tool: Any) -> Callable[..., tuple[str, ...]]:
    """Make the line for a target, with an Xcode whose help is given."""

    def make(
        target: Target, *, limit: float = 5, selection: Selection | None = None, help_: str = HELP
    ) -> tuple[str, ...]:
        xctrace: Xctrace = tool(answers(say(help_)))
        return record_line(
            xctrace,
            Request(target, limit),
            selection or Selection("Metal System Trace"),
            bundle=Path("/r/recording.trace"),
            target_output=Path("/r/target-output.txt"),
            environment=ENVIRONMENT,
        )

    return make


def test_attaching(line: Callable[..., tuple[str, ...]]) -> None:
    assert line(Attach(27364)) == (
        "/X/xctrace", "record",
        "--template", "Metal System Trace",
        "--time-limit", "5s",
        "--output", "/r/recording.trace",
        "--no-prompt",
        "--attach", "27364",
    )  # fmt: skip


def test_launching(line: Callable[..., tuple[str, ...]]) -> None:
    target = Launch(("/bin/sh", "-c", "true"), {"KEY": "a b", "MTL_DEBUG_LAYER": "1"})
    assert line(target, limit=2.5) == (
        "/X/xctrace", "record",
        "--template", "Metal System Trace",
        "--time-limit", "2500ms",
        "--output", "/r/recording.trace",
        "--no-prompt",
        "--target-stdout", "/r/target-output.txt",
        "--env", "HOME=/Users/a",
        "--env", "KEY=a b",
        "--env", "PATH=/usr/bin:/bin",
        "--launch", "--", "/bin/sh", "-c", "true",
    )  # fmt: skip


def test_counters_are_an_instrument_beside_the_template(
    line: Callable[..., tuple[str, ...]],
) -> None:
    selection = Selection("Metal System Trace", ("Metal GPU Counters", "Points of Interest"))
    assert line(Attach(1), selection=selection)[2:8] == (
        "--template", "Metal System Trace",
        "--instrument", "Metal GPU Counters",
        "--instrument", "Points of Interest",
    )  # fmt: skip


def test_an_xctrace_without_no_prompt_is_not_given_it(
    line: Callable[..., tuple[str, ...]],
) -> None:
    assert "--no-prompt" not in line(Attach(1), help_="--template")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(10, "10s"), (0.5, "500ms"), (2.5, "2500ms"), (90.0, "90s"), (1.0004, "1s"), (0.001, "1ms")],
)
def test_time_limits_are_whole_numbers(seconds: float, text: str) -> None:
    assert time_limit(seconds) == text


@pytest.mark.parametrize("seconds", [0, -1, 0.0001])
def test_time_limits_of_nothing_are_refused(seconds: float) -> None:
    with pytest.raises(UsageError, match="too short to record"):
        time_limit(seconds)


def test_programs_are_found_on_the_path() -> None:
    assert absolute(("sh", "-c", "x"), {"PATH": "/bin"}) == ("/bin/sh", "-c", "x")


def test_programs_are_found_from_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "run me"
    program.touch(mode=0o755)
    monkeypatch.chdir(tmp_path)
    assert absolute(("./run me",), {"PATH": "/bin"}) == (str(program),)


def test_links_are_kept_because_a_virtual_environment_is_one(tmp_path: Path) -> None:
    link = tmp_path / "python"
    link.symlink_to("/bin/sh")
    assert absolute((str(link),), os.environ) == (str(link),)


@pytest.mark.parametrize(
    ("argv", "message"),
    [
        ((), "There is no command to record"),
        (("no-such-program",), "There is no program 'no-such-program' that can be run"),
        (("/Applications/A.app",), "is an app bundle, not a program"),
        (("/Applications/A.app/",), "is an app bundle, not a program"),
    ],
)
def test_what_cannot_be_launched(argv: tuple[str, ...], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        absolute(argv, {"PATH": "/bin"})
