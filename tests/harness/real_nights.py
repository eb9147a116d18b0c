"""Nights as people start them: a repository with a plan, and the command in its own process."""

import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import msgspec
import psutil

from children import until
from git_program import git
from tracekit.nightly.history.night import Night

TAG = "NIGHT_OF_A_TEST"
WORK = '''
import subprocess
import sys
import time

from tracekit.workload import Step, workload


@workload
def nap(seconds: float = 0.001, trick: str = "") -> Step:
    """Sleep in each step; the trick is to leave a program that runs."""
    made = (lambda _: time.sleep(seconds))
    if trick == "fork":
        subprocess.Popen([sys.executable, "-IS", "-c", "import time; time.sleep(600)"])
    return Step(submit=lambda: None, wait=made, backend="cpu", tokens=2)
'''
PLAN = """
[nightly]
name = "naps"
machine = "mini"
machine-state = {{ load = false, calibration = false }}
[nightly.defaults]
workload = "nap"
workloads = "workloads"
pairs = 1
turn = "10ms"
warmup = 1
traced = 0
recorder = "host"
time-limit = "200ms"
telemetry = "off"
metrics = {{ step_p50 = {{ gate = false }} }}
[[nightly.capture]]
name = "nap"
{capture}
"""


@dataclass(frozen=True)
class Nights:
    top: Path
    environment: dict[str, str]

    def plan(self, capture: str = "") -> None:
        """Write the plan again, with more lines in the capture's table."""
        (self.top / "tracekit.toml").write_text(PLAN.format(capture=capture))

    def start(self) -> "subprocess.Popen[str]":
        words = ("nightly", "run", str(self.top / "tracekit.toml"))
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "tracekit", *words],
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    @property
    def output(self) -> Path:
        return self.top / "bench" / "nights"

    def documents(self) -> list[Night]:
        files = sorted(self.output.glob("*/night.json"))
        return [msgspec.json.decode(file.read_bytes(), type=Night) for file in files]

    def await_night(self, night_count: int = 0, pairs: int = 0) -> None:
        """Wait until there are more nights than so many, and the last one has so many pairs."""

        def has_begun() -> bool:
            nights = self.documents()
            return (
                len(nights) > night_count
                and sum(len(entry.pairs) for entry in nights[-1].entries) >= pairs
            )

        until(has_begun, "a night begins")

    def find_leftovers(self) -> list[str]:
        """Return what still runs of all nights, once nothing does or a minute has passed."""
        with suppress(AssertionError):
            until(lambda: not self._running())
        return self._running()

    def _running(self) -> list[str]:
        command_lines: list[str] = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                tagged = process.environ().get(TAG) == self.environment[TAG]
                if tagged and process.status() != psutil.STATUS_ZOMBIE:
                    command_lines.append(" ".join(process.cmdline()))
        return command_lines


def repository(top: Path) -> Nights:
    (top / "workloads").mkdir(parents=True)
    (top / "workloads" / "nap.py").write_text(WORK)
    (top / ".gitignore").write_text("__pycache__/\nbench/\n")
    nights = Nights(top, {**os.environ, TAG: str(top)})
    nights.plan()
    git(top, "init", "--quiet")
    git(top, "add", ".")
    git(top, "commit", "--quiet", "-m", "first")
    return nights
