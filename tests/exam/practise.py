"""Score the practice set: the recordings that the rules are tuned on, as the exam is scored.

    uv run python tests/exam/practise.py                # all of them
    uv run python tests/exam/practise.py slow-fences    # this one, with what was said

See docs/explanation/how-good-are-the-rules.md.
"""

import json
import sys
import tempfile
from pathlib import Path

from fourth.problems import PROBLEMS as FOURTH_PROBLEMS
from practice.further import PROBLEMS as FURTHER
from practice.problems import PROBLEMS as MADE
from scorer import FOURTH_LABELS, THIRD_LABELS, Label, Score, read_labels, score, table
from take import run_tracekit
from third.problems import PROBLEMS as THIRD_PROBLEMS

LABELS = Path(__file__).parent / "practice" / "labels.toml"
PROBLEMS = {**MADE, **FURTHER, **THIRD_PROBLEMS, **FOURTH_PROBLEMS}
"""The third and the fourth exam have been taken and published: they are for practice now."""


def read_practice_labels() -> dict[str, Label]:
    """Return the label of each recording, those of the third and the fourth exam included."""
    return read_labels(LABELS) | read_labels(THIRD_LABELS) | read_labels(FOURTH_LABELS)


def practise(name: str, folder: Path, *, shows: bool) -> Score:
    """Write a recording into the folder, analyze it, and score what is said of it."""
    PROBLEMS[name](folder / "exports")
    run_tracekit("import", folder / "exports", "--output", folder / "run")
    result = json.loads(run_tracekit("analyze", folder / "run", "--json"))
    if shows:
        for finding in result["findings"]:
            finding_text = f"{finding['message']}\n    -> {finding['advice']}"
            sys.stdout.write(f"{finding['rule']} ({finding['severity']}): {finding_text}\n")
    return score(read_practice_labels()[name], result)


def main(names: list[str]) -> None:
    """Score these problems, and show what is said of each, or all of them."""
    labels = read_practice_labels()
    with tempfile.TemporaryDirectory() as folder:
        scores = {
            name: practise(name, Path(folder) / name, shows=bool(names))
            for name in names or PROBLEMS
        }
    sys.stdout.write(table(labels, scores))


if __name__ == "__main__":
    main(sys.argv[1:])
