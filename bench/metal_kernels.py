"""Let Metal compile and run every kernel that comes with tracekit, each case in its own process.

A driver that one kernel hangs or wedges takes only its own case with it. Exit code 0: all cases are
right; 1: some are not; 3: there is no Metal here.
"""

import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import mlx.core as mx

from tracekit.lab.verification.shipped import shipped_check, shipped_names
from tracekit.lab.verification.verify import arrays, error_and_place

PATIENCE = 120.0  # seconds for one case


def run_case(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Run one case on Metal; return its largest error and its bound."""
    check = shipped_check(name).check(parameters)
    got = arrays(check.run())
    expected = check.expected
    if not isinstance(expected, list | tuple):
        expected = (expected,)
    worst = 0.0
    for array, reference in zip(got, arrays(list(expected)), strict=True):
        error, _ = error_and_place(array, reference)
        worst = max(worst, error)
    return {"error": worst, "bound": check.bound}


def ask_child(name: str, parameters: dict[str, Any]) -> dict[str, Any]:
    """Run one case in a process; return its outcome."""
    argv = [sys.executable, __file__, "--case", name, json.dumps(parameters)]
    case: dict[str, Any] = {"name": name, "parameters": parameters}
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return {**case, "outcome": "did not end"}
    if done.returncode != 0:
        return {**case, "outcome": "failed", "words": done.stderr[-2000:]}
    answer = json.loads(done.stdout.splitlines()[-1])
    is_right = answer["error"] <= answer["bound"]
    return {**case, **answer, "outcome": "right" if is_right else "wrong"}


def main() -> int:
    """Run one case, or all of them; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", nargs=2, metavar=("NAME", "PARAMETERS"))
    parser.add_argument("--output", type=Path, help="write all outcomes as JSON")
    options = parser.parse_args()
    if options.case:
        name, parameters = options.case
        print(json.dumps(run_case(name, json.loads(parameters))))
        return 0
    if not mx.metal.is_available():
        print("There is no Metal here.", file=sys.stderr)
        return 3
    outcomes: list[dict[str, Any]] = []
    for name in shipped_names():
        for parameters in shipped_check(name).cases({}):
            outcomes.append(ask_child(name, parameters))
            print(json.dumps(outcomes[-1]), flush=True)
    if options.output is not None:
        options.output.write_text(json.dumps(outcomes, indent=1))
    counts = Counter(outcome["outcome"] for outcome in outcomes)
    print(", ".join(f"{count} {outcome}" for outcome, count in counts.items()))
    return 0 if set(counts) == {"right"} else 1


if __name__ == "__main__":
    sys.exit(main())
