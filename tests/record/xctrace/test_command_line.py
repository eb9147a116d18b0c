"""The command lines of recordings, word for word."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import UsageError
from tracekit.base.recording import Recording
from tracekit.record.recorder import Attach, Launch, Request
from tracekit.record.xctrace.command_line import Selection, absolute, record_line, time_limit
from tracekit.record.xctrace.tool import Xctrace

ENVIRONMENT = {"HOME": "/Users/a", "PATH": "/usr/bin:/bin", "SECRET": "x", "MTL_HUD_ENABLED": "1"}
HELP = "--no-prompt --instrument --target-stdout"


@pytest.fixture
def line(answers: Any, say: Any, tool: Any) -> Callable[..., tuple[str, ...]]:
    """Make the line for a target, with an Xcode whose help is given."""

    def make(
        target: Launch | Attach,
        *,
        limit: float = 5,
        selection: Selection | None = None,
        help_: str = HELP,
    ) -> tuple[str, ...]:
        xctrace: Xctrace = tool(answers(say(help_)))
        return record_line(
            xctrace,
            Request(target, limit),
            target,
            selection or Selection("Metal System Trace"),
            Recording(Path("/r")),
            environment=ENVIRONMENT,
        )

    return make


PROGRAM = Launch(("/bin/sh", "-c", "true"), {"KEY": "a b", "MTL_DEBUG_LAYER": "1"})
WORKER = Launch(
    (
        sys.executable,
        "-P",
        "-X",
        "faulthandler",
        "-m",
        "tracekit.workload.worker",
        "/r/worker.json",
    ),
    journal=Path("/r/workload.jsonl"),
)
PLAIN = ("--template", "Metal System Trace")
COUNTERS = (*PLAIN, "--instrument", "Metal GPU Counters")
CUSTOM = ("--template", "/t/My Counters.tracetemplate")
TO_THE_PROGRAM = (
    "--target-stdout", "/r/target-output.txt",
    "--env", "HOME=/Users/a",
    "--env", "KEY=a b",
    "--env", "PATH=/usr/bin:/bin",
    "--launch", "--", "/bin/sh", "-c", "true",
)  # fmt: skip
TO_THE_WORKER = (
    "--target-stdout", "/r/target-output.txt",
    "--env", "HOME=/Users/a",
    "--env", "PATH=/usr/bin:/bin",
    "--launch", "--",
    sys.executable, "-P", "-X", "faulthandler", "-m", "tracekit.workload.worker", "/r/worker.json",
)  # fmt: skip


@pytest.mark.parametrize(
    ("selection", "words"),
    [
        pytest.param(Selection("Metal System Trace"), PLAIN, id="no counters"),
        pytest.param(Selection("Metal System Trace", adds_counters=True), COUNTERS, id="counters"),
        pytest.param(Selection("/t/My Counters.tracetemplate"), CUSTOM, id="a template by path"),
    ],
)
@pytest.mark.parametrize(
    ("target", "rest"),
    [
        pytest.param(WORKER, TO_THE_WORKER, id="launch a workload"),
        pytest.param(PROGRAM, TO_THE_PROGRAM, id="launch a program"),
        pytest.param(Attach(27364), ("--attach", "27364"), id="attach"),
    ],
)
def test_the_whole_line(
    line: Callable[..., tuple[str, ...]],
    target: Launch | Attach,
    rest: tuple[str, ...],
    selection: Selection,
    words: tuple[str, ...],
) -> None:
    assert line(target, selection=selection) == (
        "/X/xctrace", "record",
        *words,
        "--time-limit", "5s",
        "--output", "/r/recording.trace",
        "--no-prompt",
        *rest,
    )  # fmt: skip


def test_an_xctrace_without_no_prompt_is_not_given_it(
    line: Callable[..., tuple[str, ...]],
) -> None:
    assert "--no-prompt" not in line(Attach(1), help_="--template")


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (10, "10s"),
        (0.5, "500ms"),
        (2.5, "2500ms"),
        (90.0, "90s"),
        (1.0004, "1s"),
        (0.001, "1ms"),
        (1.001, "1001ms"),
    ],
)
def test_time_limits_are_whole_numbers(seconds: float, text: str) -> None:
    assert time_limit(seconds) == text


@pytest.mark.parametrize("seconds", [0, -1, 0.0001])
def test_time_limits_of_nothing_are_refused(seconds: float) -> None:
    with pytest.raises(UsageError, match="too short to record"):
        time_limit(seconds)


def test_programs_are_found_on_the_path() -> None:
    assert absolute(("sh", "-c", "x"), {"PATH": "/bin"}) == ("/bin/sh", "-c", "x")


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
