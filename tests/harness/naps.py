"""A workload that sleeps and plays tricks on whoever measures, and captures of it."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tracekit.nightly.plan.plan import Capture, NightPlan, Reference
from tracekit.nightly.session.child import PreparedCapture
from tracekit.nightly.session.program import Bounds, Timeouts
from tracekit.nightly.session.variants import candidate_of, reference_of
from tracekit.record.supervisor import Supervisor

HASTY = Timeouts(hello=20, ready=20, calibration=20, turn=20, finish=20, leave=0.3)

NAPS = '''
import os
import signal
import subprocess
import sys
import time

from tracekit.workload import Step, workload


@workload
def naps(seconds: float = 0.001, trick: str = "", slow: float = 1.0, mark: str = "") -> Step:
    """Sleep a little in each step, and play tricks on whoever measures."""
    made = {"steps": 0}
    if mark:
        with open(mark, "a") as file:
            file.write(f"{os.getpid()}\\n")
    if trick == "fork":
        argv = [sys.executable, "-IS", "-c", "import time; time.sleep(600)"]
        with open(mark, "a") as file:
            for alone in (False, True):
                file.write(f"{subprocess.Popen(argv, start_new_session=alone).pid}\\n")

    def wait(_):
        made["steps"] += 1
        if made["steps"] > 20:
            if trick == "crash":
                raise RuntimeError("the pool is empty")
            if trick == "kill":
                sys.stderr.write("about to be killed\\n")
                sys.stderr.flush()
                os.kill(os.getpid(), signal.SIGKILL)
            if trick == "hang":
                time.sleep(3600)
        if trick == "print":
            print("a line of the workload")
            assert sys.stdin.read() == ""
        time.sleep(seconds * slow)

    return Step(
        submit=lambda: None,
        wait=wait,
        backend="cpu",
        tokens=3,
        results={"depth": 0.25},
    )
'''


def write_naps(home: Path) -> Path:
    """Write the workload, unless something is there in its place; return its folder."""
    folder = home / "plan" / "workloads"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / "naps.py").exists():
        (folder / "naps.py").write_text(NAPS)
    return folder


@contextmanager
def prepared_in(home: Path, **values: Any) -> Iterator[PreparedCapture]:
    """Prepare a capture of naps against naps by a plan in `home`; nothing is started."""
    defaults = {"reference": Reference(), "turn": 0.01, "warmup": 1, "pairs": 2}
    capture = Capture("short", "naps", write_naps(home), **{**defaults, **values})
    plan = NightPlan(
        "nightly", home / "plan" / "tracekit.toml", (capture,), home / "nights", "sqlite://"
    )
    plan.file.touch()
    night = plan.output / "night"
    night.mkdir(parents=True, exist_ok=True)
    with Supervisor(night) as supervisor:
        bounds, candidate = Bounds(supervisor, HASTY), candidate_of(capture, plan)
        with reference_of(capture, plan, candidate, bounds) as reference:
            yield PreparedCapture(capture, night, candidate, reference, bounds)
