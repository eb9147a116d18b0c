"""A command that is told of a regression; whatever becomes of it."""

import json
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from gate_night import NIGHT
from tracekit.base.errors import UsageError
from tracekit.nightly.gate.notify import command_of, facts, tell
from tracekit.nightly.gate.report.model import of_night

REPORT = of_night(NIGHT)
PYTHON = (sys.executable, "-c")


def test_a_command_is_parted_as_a_shell_would() -> None:
    assert command_of("mail -s 'it is slow' $HOME") == ("mail", "-s", "it is slow", "$HOME")


@pytest.mark.parametrize(
    ("text", "said"), [("mail 'x", "No closing quotation"), (" ", "no command")]
)
def test_a_command_that_is_none_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        command_of(text)


@pytest.mark.processes
def test_it_gets_the_report_and_the_facts(tmp_path: Path) -> None:
    out = tmp_path / "told.json"
    program = (
        "import json, os, sys\n"
        "told = {'report': json.load(sys.stdin), 'env': {k: v for k, v in os.environ.items()"
        " if k.startswith('TRACEKIT_')}}\n"
        f"open({str(out)!r}, 'w').write(json.dumps(told))"
    )
    assert tell((*PYTHON, program), REPORT) == ""
    told = json.loads(out.read_text())
    assert told["report"]["subject"] == NIGHT.id
    assert told["report"]["suites"][0]["cases"][0]["change"] == 0.098
    assert told["env"]["TRACEKIT_OUTCOME"] == "failed"
    assert told["env"]["TRACEKIT_WORSE"] == "decode: step_p50"
    assert told["env"]["TRACEKIT_COMMIT"] == "5d6e7f8"


def test_facts_are_lines_whatever_they_hold() -> None:
    told = facts(replace(REPORT, reason="a\nb\0c", title="\ud800"))
    assert told["TRACEKIT_REASON"] == r"a b\u0000c"
    assert told["TRACEKIT_TITLE"].encode()


@pytest.mark.processes
@pytest.mark.parametrize(
    ("command", "said"),
    [
        pytest.param((*PYTHON, "raise SystemExit(7)"), "ended with 7", id="fails"),
        pytest.param((*PYTHON, "import os; os.kill(os.getpid(), 9)"), "with -9", id="killed"),
        pytest.param(("/nowhere/mail",), "could not be run: No such file", id="missing"),
        pytest.param(("/",), "could not be run: Permission denied", id="folder"),
        pytest.param(("a\0b",), "could not be run", id="nul"),
    ],
)
def test_what_goes_wrong_is_told(command: tuple[str, ...], said: str) -> None:
    assert said in tell(command, REPORT)


@pytest.mark.processes
def test_one_that_reads_nothing_does_no_harm() -> None:
    long = replace(REPORT, warnings=("x" * 1_000_000,))
    assert tell((*PYTHON, "import os; os.close(0)"), long) == ""


@pytest.mark.processes
def test_one_that_hangs_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    out = tmp_path / "pid"
    program = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(out)!r}, 'w').write(str(child.pid))\n"
        "time.sleep(60)"
    )
    assert "did not end within 2 s" in tell((*PYTHON, program), REPORT, patience=2.0)
    child = int(out.read_text())
    for _ in range(100):
        if not psutil.pid_exists(child) or psutil.Process(child).status() == "zombie":
            break
        time.sleep(0.05)
    else:
        pytest.fail("the command's child still runs")
