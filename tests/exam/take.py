"""Take a sealed exam: write the recordings, analyze them, and print the scores.

    uv run python tests/exam/take.py                      # the first: all ten
    uv run python tests/exam/take.py staged-writes        # this one of them
    uv run python tests/exam/take.py second               # the second: all eleven
    uv run python tests/exam/take.py second split-layers  # this one of them
    uv run python tests/exam/take.py third                # the third: all twelve
    uv run python tests/exam/take.py fourth               # the fourth: all twelve
    uv run python tests/exam/take.py fifth                # the fifth: all twelve

Each is meant to be taken once, when the rules are done; see docs/explanation/the-sealed-exam.md.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

from fifth.problems import PROBLEMS as FIFTH_PROBLEMS
from fourth.problems import PROBLEMS as FOURTH_PROBLEMS
from scorer import (
    FIFTH_LABELS,
    FOURTH_LABELS,
    LABELS,
    SECOND_LABELS,
    THIRD_LABELS,
    Label,
    Score,
    read_labels,
    score,
    table,
)
from sealed.problems import PROBLEMS
from second.problems import PROBLEMS as SECOND_PROBLEMS
from third.problems import PROBLEMS as THIRD_PROBLEMS


class Exam(NamedTuple):
    """What writes the recording of each problem, and the file of their labels."""

    problems: Mapping[str, Callable[[Path], object]]
    labels: Path


EXAMS = {
    "first": Exam(PROBLEMS, LABELS),
    "second": Exam(SECOND_PROBLEMS, SECOND_LABELS),
    "third": Exam(THIRD_PROBLEMS, THIRD_LABELS),
    "fourth": Exam(FOURTH_PROBLEMS, FOURTH_LABELS),
    "fifth": Exam(FIFTH_PROBLEMS, FIFTH_LABELS),
}


def run_tracekit(*arguments: str | Path) -> str:
    """Run tracekit's command line in a process of its own, and return what it printed."""
    command = [sys.executable, "-m", "tracekit", *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def take(write: Callable[[Path], object], label: Label, folder: Path) -> Score:
    """Write a recording into the folder, let tracekit analyze it, and score what it says."""
    write(folder / "exports")
    run_tracekit("import", folder / "exports", "--output", folder / "run")
    return score(label, json.loads(run_tracekit("analyze", folder / "run", "--json")))


def choose(words: list[str]) -> tuple[Exam, list[str]]:
    """Return the exam that is named, or else the first, and the problems to take of it."""
    exam = EXAMS[next((word for word in words if word in EXAMS), "first")]
    names = [word for word in words if word not in EXAMS]
    return exam, names or list(exam.problems)


def main(words: list[str]) -> None:
    """Take an exam, and print its scores."""
    exam, names = choose(words)
    labels = read_labels(exam.labels)
    with tempfile.TemporaryDirectory() as folder:
        scores = {
            name: take(exam.problems[name], labels[name], Path(folder) / name) for name in names
        }
    sys.stdout.write(table(labels, scores))


if __name__ == "__main__":
    main(sys.argv[1:])
