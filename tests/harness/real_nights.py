"""Nights as people start them: a repository with a plan, and the command in its own process."""

import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec
import psutil

from tracekit.nightly.history.night import Night

TAG = "NIGHT_OF_A_TEST"
WORK = '''
import subprocess
import sys
import time

from tracekit.workload import Step, workload


@workload
def nap(seconds: float = 0.001, trick: str = "") -> Step:
    """Sleep in each step; with a trick, after the first hundred."""
    made = {"steps": 0}
    if trick == "fork":
        subprocess.Popen([sys.executable, "-IS", "-c", "import time; time.sleep(600)"])

    def wait(_):
        made["steps"] += 1
        if trick == "hang" and made["steps"] > 5:
            time.sleep(600)
        time.sleep(seconds)

    return Step(submit=lambda: None, wait=wait, backend="cpu", tokens=2)
'''
PLAN = """
[nightly]
name = "naps"
machine = "mini"
{top}
[nightly.machine-state]
load = false
calibration = false
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
{defaults}
[[nightly.capture]]
name = "nap"
{capture}
"""


@dataclass(frozen=True)
class Nights:
    top: Path
    environment: dict[str, str]

    def plan(self, top: str = "", defaults: str = "", capture: str = "") -> None:
        """Write the plan again, with more lines in its tables."""
        (self.top / "tracekit.toml").write_text(
            PLAN.format(top=top, defaults=defaults, capture=capture)
        )

    def start(self, *words: str, **keys: Any) -> "subprocess.Popen[str]":
        argv = [sys.executable, "-P", "-m", "tracekit", "nightly", *words]
        return subprocess.Popen(
            [*argv, str(self.top / "tracekit.toml")],
            # Where a night may write only little, bytecode would be cut off, too.
            env=self.environment | ({"PYTHONDONTWRITEBYTECODE": "1"} if keys else {}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            **keys,
        )

    def run(self, *words: str, **keys: Any) -> tuple[int, str, str]:
        with self.start(*words, **keys) as process:
            out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    @property
    def output(self) -> Path:
        return self.top / "bench" / "nights"

    def documents(self) -> list[Night]:
        """Return what lies in the folders of nights, oldest first."""
        found = sorted(self.output.glob("*/night.json"))
        return [msgspec.json.decode(one.read_bytes(), type=Night) for one in found]

    def await_night(self, known: int = 0, pairs: int = 0) -> None:
        """Wait until there are more nights than so many, and the last one has so many pairs."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            found = self.documents()
            if len(found) > known and sum(len(one.pairs) for one in found[-1].entries) >= pairs:
                return
            time.sleep(0.02)
        raise AssertionError("no night began")

    def left(self, seconds: float = 15.0) -> list[str]:
        """Return what still runs of all nights, once nothing does or time is up."""
        until = time.monotonic() + seconds
        while (found := self._running()) and time.monotonic() < until:
            time.sleep(0.05)
        return found

    def _running(self) -> list[str]:
        found: list[str] = []
        for one in psutil.process_iter():
            try:
                tagged = one.environ().get(TAG) == self.environment[TAG]
                if tagged and one.status() != psutil.STATUS_ZOMBIE:
                    found.append(" ".join(one.cmdline()))
            except psutil.Error:
                continue
        return found


def repository(top: Path) -> Nights:
    """Make a repository with the workload and a plan, both committed."""
    (top / "workloads").mkdir(parents=True)
    (top / "workloads" / "nap.py").write_text(WORK)
    (top / ".gitignore").write_text("__pycache__/\nbench/\n")
    nights = Nights(top, {**os.environ, TAG: str(top)})
    nights.plan()
    git(top, "init", "--quiet")
    git(top, "add", ".")
    git(top, "commit", "--quiet", "-m", "first")
    return nights


def git(top: Path, *arguments: str) -> str:
    own = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
    done = subprocess.run(
        ["git", "-C", str(top), *own, *arguments], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()
