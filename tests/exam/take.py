"""Take the sealed exam: write the recordings, analyze them, and print the scores.

    uv run python tests/exam/take.py                 # all ten
    uv run python tests/exam/take.py staged-writes   # this one

It is meant to be run once, when the rules are done; see docs/explanation/the-sealed-exam.md.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from scorer import Label, Score, read_labels, score, table
from sealed.problems import PROBLEMS


def run_tracekit(*arguments: str | Path) -> str:
    """Run tracekit's command line in a process of its own, and return what it printed."""
    command = [sys.executable, "-m", "tracekit", *map(str, arguments)]
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout


def take(write: Callable[[Path], object], label: Label, folder: Path) -> Score:
    """Write a recording into the folder, let tracekit analyze it, and score what it says."""
    write(folder / "exports")
    run_tracekit("import", folder / "exports", "--output", folder / "run")
    return score(label, json.loads(run_tracekit("analyze", folder / "run", "--json")))


def main(names: list[str]) -> None:
    """Take the exam in these problems, or in all."""
    labels = read_labels()
    with tempfile.TemporaryDirectory() as folder:
        scores = {
            name: take(PROBLEMS[name], labels[name], Path(folder) / name)
            for name in names or PROBLEMS
        }
    sys.stdout.write(table(labels, scores))


if __name__ == "__main__":
    main(sys.argv[1:])
