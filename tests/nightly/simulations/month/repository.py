"""A repository with a plan and one workload, whose work a commit can change."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

CAPTURE = "roots"
_WORKLOAD = '''"""Fixed work on one core: roots of an array, over and over."""

import numpy as np

from tracekit.workload import Step, workload

ROUNDS = {rounds}


@workload
def roots() -> Step:
    """Take the roots of 16,384 numbers {rounds} times."""
    numbers = np.linspace(1, 2, 16_384, dtype=np.float32)
    found = np.empty_like(numbers)

    def work(_: None) -> None:
        for _ in range(ROUNDS):
            np.sqrt(numbers, out=found)

    return Step(submit=lambda: None, wait=work, backend="cpu")
'''
_PLAN = """[nightly]
name = "month"
output = "nights"
history = "sqlite:///nights/history.db"

[[nightly.capture]]
name = "roots"
workloads = "workloads"
workload = "roots"
pairs = {pairs}
turn = "{turn:g}s"
traced = {traced}
recorder = "host"
time-limit = "1s"

[nightly.capture.reference]
revision = "pinned"

[nightly.capture.metrics]
step_p50 = 0.03
"""


@dataclass(frozen=True)
class Planned:
    """How each night is done: pairs, seconds of a turn, traced captures, work of a step."""

    pairs: int
    turn: float
    traced: int
    rounds: int


def begin(folder: Path, plan: Planned) -> None:
    """Make the repository; its first commit is tagged as the pinned reference."""
    (folder / "workloads").mkdir(parents=True)
    text = _PLAN.format(pairs=plan.pairs, turn=plan.turn, traced=plan.traced)
    (folder / "tracekit.toml").write_text(text)
    (folder / ".gitignore").write_text("nights/\n")
    _git(folder, "init", "--quiet")
    commit(folder, plan.rounds, "Begin")
    _git(folder, "tag", "pinned")


def commit(folder: Path, rounds: int, message: str) -> None:
    """Commit a workload whose step does so much."""
    (folder / "workloads" / "roots.py").write_text(_WORKLOAD.format(rounds=rounds))
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", "--message", message)


def _git(folder: Path, *arguments: str) -> None:
    named = (
        "-c",
        "user.name=bench",
        "-c",
        "user.email=bench@localhost",
        "-c",
        "commit.gpgsign=false",
    )
    subprocess.run(["git", "-C", str(folder), *named, *arguments], check=True)
