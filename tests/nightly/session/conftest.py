import math
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from children import running, started_since
from tracekit.nightly.plan.plan import Capture, NightPlan, Reference
from tracekit.nightly.session.prepared import Prepared, prepared
from tracekit.nightly.session.program import Timeouts

HASTY = Timeouts(hello=20, ready=20, calibration=20, turn=20, finish=20, leave=0.3)

NAPS = '''
import os
import signal
import subprocess
import sys
import time

from tracekit.workload import IDLE, StepReport
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
    if trick == "refuse":
        raise ValueError("not today")

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
            if trick == "exit":
                os._exit(7)
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
        exhausted=lambda: trick == "exhausted" and made["steps"] > 20,
        tell=(lambda: StepReport(variant=IDLE)) if trick == "idle" else None,
    )
'''

MakeCapture = Callable[..., Capture]
Prepare = Callable[..., Any]


@pytest.fixture(scope="session", autouse=True)
def own_git(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the settings of whoever runs the tests away from the repositories of tests."""
    patch = pytest.MonkeyPatch()
    config = tmp_path_factory.mktemp("git") / "config"
    config.write_text(
        "[user]\nname = Test\nemail = test@example.org\n[init]\ndefaultBranch = main\n"
        '[protocol "file"]\nallow = always\n'
    )
    patch.setenv("GIT_CONFIG_GLOBAL", str(config))
    patch.setenv("GIT_CONFIG_SYSTEM", os.devnull)
    yield
    patch.undo()


@pytest.fixture
def workloads(tmp_path: Path) -> Path:
    """A folder with one workload, which sleeps."""
    folder = tmp_path / "plan" / "workloads"
    folder.mkdir(parents=True)
    (folder / "naps.py").write_text(NAPS)
    return folder


@pytest.fixture
def capture(workloads: Path) -> MakeCapture:
    """Make a capture of naps against naps, in short turns."""

    def make(**values: Any) -> Capture:
        defaults: dict[str, Any] = {
            "name": "short",
            "workload": "naps",
            "workloads": workloads,
            "reference": Reference(),
            "turn": 0.01,
            "warmup": 1,
            "pairs": 2,
        }
        return Capture(**{**defaults, **values})

    return make


@pytest.fixture
def plan(tmp_path: Path) -> Callable[[Capture], NightPlan]:
    """Make the plan of one capture, in the folder that holds its workloads."""

    def make(capture: Capture) -> NightPlan:
        file = tmp_path / "plan" / "tracekit.toml"
        file.parent.mkdir(exist_ok=True)
        file.touch()
        return NightPlan("nightly", file, (capture,), tmp_path / "nights", "sqlite://")

    return make


@pytest.fixture
def night(tmp_path: Path) -> Path:
    folder = tmp_path / "nights" / "night"
    folder.mkdir(parents=True)
    return folder


@pytest.fixture
def ready(
    capture: MakeCapture, plan: Callable[[Capture], NightPlan], night: Path
) -> Callable[..., Any]:
    """Prepare a capture of naps, for a with statement."""

    @contextmanager
    def make(**values: Any) -> Iterator[Prepared]:
        timeouts = values.pop("timeouts", HASTY)
        deadline = values.pop("deadline", math.inf)
        one = capture(**values)
        with prepared(one, plan(one), night, deadline=deadline, timeouts=timeouts) as found:
            yield found

    return make


@pytest.fixture
def children() -> Iterator[Callable[[], list[psutil.Process]]]:
    """Return the processes that this one started since; none may be left after the test."""
    before = running()
    yield lambda: started_since(before)
    left = started_since(before)
    assert not left, f"left behind: {[process.cmdline() for process in left]}"


@pytest.fixture
def git() -> Callable[..., str]:
    """Run git in a folder."""

    def run(folder: Path, *arguments: str) -> str:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    return run


@pytest.fixture
def repository(workloads: Path, git: Callable[..., str]) -> Path:
    """Make a repository of the plan's folder, whose workload naps was faster in its first commit.

    The tag `fast` is the first commit; HEAD sleeps twice as long.
    """
    top = workloads.parent
    git(top, "init", "--quiet")
    (top / "module_of_plan.py").write_text("SPEED = 'fast'\n")
    (top / ".gitignore").write_text("__pycache__/\n")
    git(top, "add", ".")
    git(top, "commit", "--quiet", "-m", "fast")
    git(top, "tag", "fast")
    (workloads / "naps.py").write_text(NAPS.replace("slow: float = 1.0", "slow: float = 2.0"))
    (top / "module_of_plan.py").write_text("SPEED = 'slow'\n")
    git(top, "commit", "--quiet", "--all", "-m", "slow")
    return top


@pytest.fixture
def interpreter(tmp_path: Path) -> Callable[..., Path]:
    """Make a program that is this interpreter with another environment."""

    def make(name: str = "python", **environment: str) -> Path:
        place = tmp_path / "elsewhere" / name
        place.parent.mkdir(exist_ok=True)
        lines = [f"export {key}={value!r}" for key, value in environment.items()]
        place.write_text("\n".join(["#!/bin/sh", *lines, f'exec {sys.executable} "$@"', ""]))
        place.chmod(0o755)
        return place

    return make
