"""Run methods on exports: first compare what they read, then time them, round by round.

Every run is a process of its own. The methods of a round follow each other, A B C A B C, so
that what else the machine does falls on all of them.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reading.methods import Method

_BENCH = Path(__file__).parents[1]
_LONGEST = 3600
Say = Callable[[str], None]


@dataclass(frozen=True)
class Export:
    """A file to read, and the files of its truth; without them the tuned rival is the truth."""

    name: str
    path: Path
    truth: tuple[Path, ...] = ()

    @property
    def label(self) -> str:
        """What it is called on the way."""
        return f"{self.name}, {self.megabytes:,.0f} MB"

    @property
    def megabytes(self) -> float:
        """The file's size in 10^6 bytes."""
        return self.path.stat().st_size / 1e6


@dataclass
class Outcome:
    """What came of a method on a file: in words, and in every round's seconds and bytes.

    `seconds` are of the wall clock; `cpu` those in which the process worked, in all its threads.
    """

    method: Method
    verdict: str = ""
    rows: int | None = None
    seconds: list[float] = field(default_factory=list[float])
    cpu: list[float] = field(default_factory=list[float])
    memory: list[int] = field(default_factory=list[int])
    timed: bool = True


def alone(*arguments: str) -> dict[str, Any]:
    """Run a job of `reading.alone` in a fresh process, and return its answer."""
    ran = subprocess.run(
        [sys.executable, "-m", "reading.alone", *arguments],
        env=os.environ | {"PYTHONPATH": str(_BENCH)},
        capture_output=True,
        text=True,
        timeout=_LONGEST,
        check=False,
    )
    if ran.returncode:
        last = ran.stderr.strip().rpartition("\n")[2]
        return {"failure": f"ended with {ran.returncode}: {last}"}
    return json.loads(ran.stdout.splitlines()[-1])


def compare(export: Export, methods: Sequence[Method], slow_mb: float, say: Say) -> list[Outcome]:
    """Compare what each method reads with the truth."""
    outcomes = [_compared(export, method, slow_mb) for method in methods]
    for outcome in outcomes:
        say(f"{export.label}: {outcome.method.name}: {outcome.verdict}")
    return outcomes


def _compared(export: Export, method: Method, slow_mb: float) -> Outcome:
    if method.missing:
        return Outcome(method, f"skipped: {method.missing}", timed=False)
    if method.slow and export.megabytes > slow_mb * 1.1:
        return Outcome(method, f"skipped: only up to {slow_mb:g} MB", timed=False)
    if not method.decodes:
        return Outcome(method, "decodes nothing")
    truth = [str(one) for one in export.truth]
    answer = alone("check", method.name, str(export.path), *truth)
    if "failure" in answer:
        return Outcome(method, f"gave up: {answer['failure']}", timed=False)
    verdict = f"wrong: {answer['difference']}" if answer["difference"] else "equal to the truth"
    return Outcome(method, verdict, rows=answer["rows"])


def time_rounds(export: Export, outcomes: Sequence[Outcome], rounds: int, say: Say) -> None:
    """Time what can be timed, and note it in the outcomes."""
    for number in range(rounds):
        for outcome in outcomes:
            if not outcome.timed or (outcome.method.slow and number):
                continue
            answer = alone("time", outcome.method.name, str(export.path))
            if "failure" in answer:
                outcome.verdict, outcome.timed = f"failed: {answer['failure']}", False
                continue
            outcome.seconds.append(answer["seconds"])
            outcome.cpu.append(answer["cpu"])
            outcome.memory.append(answer["memory"])
        say(f"{export.label}: round {number + 1} of {rounds}")
