"""A program that is recorded from some time after its start."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from command_line import assert_error
from tracekit import open as open_run

Scenario = Callable[..., None]
ENDLESS = "import time; print('loaded', flush=True); time.sleep(600)"

pytestmark = pytest.mark.usefixtures("nothing_is_left_running", "scenario")


@pytest.fixture
def record(tracekit: Callable[..., Any], tmp_path: Path) -> Callable[..., Any]:
    """Record a program with these options, before its own words after `--`."""
    options = ("--telemetry", "off", "--output", tmp_path / "run", "--time-limit", "300ms")
    return lambda *more: tracekit("record", *options, *more)


def test_the_beginning_of_a_program_is_left_out_and_its_output_kept(
    record: Callable[..., Any], scenario: Scenario, tmp_path: Path
) -> None:
    scenario(busy=True)
    program = (sys.executable, "-I", "-S", "-c", ENDLESS)
    done = record("--after", "500ms", "--", *program)
    assert done.code == 0, done.err
    provenance = open_run(tmp_path / "run").provenance
    launched, line = provenance.command_lines
    assert launched == program
    assert (provenance.after, provenance.used and provenance.used.method) == (0.5, "attach")
    pid = int(line[line.index("--attach") + 1])
    assert provenance.targets[0].pid == pid
    assert not psutil.pid_exists(pid)
    assert (tmp_path / "run" / "output.txt").read_text() == "loaded\n"


def test_a_program_that_ends_before_is_an_error(record: Callable[..., Any]) -> None:
    done = record("--after", "20s", "--", sys.executable, "-I", "-S", "-c", "raise SystemExit(7)")
    assert_error(done, 3, "the program ended with exit code 7 within 20 s", "a shorter --after")


def test_after_is_refused_if_it_means_nothing(record: Callable[..., Any], tmp_path: Path) -> None:
    assert_error(record("--after", "1s", "--workload", "paged"), 2, "--after is for a program")
    assert_error(record("--after", "1s", "--attach", "1"), 2, "--after is for a program")
    on_host = record("--after", "1s", "--recorder", "host", "--", "true")
    assert_error(on_host, 2, "--after is for recordings of xctrace")
    assert not (tmp_path / "run").exists()
