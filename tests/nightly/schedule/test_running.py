"""A night under way: one at a time, on a Mac that stays awake, within its time."""

import os
import subprocess
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from tracekit.base.errors import ToolError
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.schedule.running import LOCK, awake, only_one, runs_in

HOLD = """
import sys, time
from pathlib import Path
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.schedule.running import only_one
output = Path(sys.argv[1])
plan = NightPlan("theirs", output / "tracekit.toml", (), output, "")
with only_one(plan):
    print("held", flush=True)
    time.sleep(600)
"""


@contextmanager
def another(output: Path) -> Iterator[subprocess.Popen[str]]:
    argv = (sys.executable, "-c", HOLD, str(output))
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def refused(plan: NightPlan, words: str) -> str:
    with pytest.raises(ToolError, match=words) as caught, only_one(plan):
        pytest.fail("two nights at once")
    return caught.value.hint


@pytest.mark.processes
def test_a_second_night_is_refused_with_the_name_of_the_first_until_that_is_dead(
    plan: NightPlan, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = replace(plan, output=tmp_path / "elsewhere")
    with another(plan.output) as other:
        whose = rf"theirs \({plan.output}/tracekit.toml\), since \d{{4}}-\d\d-\d\d "
        whose += rf"\d\d:\d\d:\d\d, in process {other.pid}\.$"
        assert f"`kill -TERM {other.pid}`" in refused(plan, whose)
        refused(elsewhere, "on this machine")
        with monkeypatch.context() as patch:
            patch.setenv("TRACEKIT_CACHE", str(tmp_path / "notes"))
            refused(plan, "Another night runs here")
        for file in (plan.output / LOCK, *Path(os.environ["TRACEKIT_CACHE"]).glob("night-on-*")):
            file.write_text("{")
        refused(plan, r"Another night runs on this machine\.$")
        assert runs_in(plan.output)
        other.kill()
        other.wait()
        assert not runs_in(plan.output)
    with only_one(plan):
        assert runs_in(plan.output)


def started(before: Collection[psutil.Process]) -> list[psutil.Process]:
    """What this process started since; servers of other tests are its children too."""
    return [each for each in psutil.Process().children() if each not in before]


@pytest.mark.processes
def test_caffeinate_holds_on_as_long_as_the_night(tmp_path: Path) -> None:
    program = tmp_path / "caffeinate"
    program.write_text(f'#!/bin/sh\necho "$@" > {tmp_path}/said; exec sleep 600\n')
    program.chmod(0o755)
    before = psutil.Process().children()
    with awake(program, "linux"):
        assert started(before) == []
    with awake(program, "darwin"):
        [child] = started(before)
        while not (tmp_path / "said").exists() or not (tmp_path / "said").read_text():
            assert child.is_running()
        assert (tmp_path / "said").read_text() == f"-i -s -w {os.getpid()}\n"
    assert started(before) == []


HANGS = """
import sys, time
from tracekit.nightly.schedule.running import enforced
def stop(*_):
    print("kept", flush=True)
    sys.exit(0)
import signal
signal.signal(signal.SIGTERM, stop)
with enforced(0.1, grace=0.2):
    time.sleep(60)
"""


@pytest.mark.processes
def test_a_night_that_hangs_is_stopped_as_systemd_would() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", HANGS], capture_output=True, text=True, timeout=50, check=False
    )
    assert (ran.returncode, ran.stdout) == (0, "kept\n")
