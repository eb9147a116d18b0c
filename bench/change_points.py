"""Time the search for change points beside another checkout, in turns, and check known dates.

python bench/change_points.py                                  # 10 series of 365 and 1,000 nights
python bench/change_points.py 1000 10000 --rounds 3
python bench/change_points.py 365 --against ../before          # ratios to another checkout

Each series has a step of 5 % on a date of its own in noise of 1 %, against a commit that stays.
Every run is a process of its own; a ratio is that of two runs of one round, in CPU seconds. Memory
is the most that was resident, without what the imports took.
"""

import argparse
import json
import os
import random
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

_SERIES = 10
_STEP = 1.05
_NOISE = 0.01
_HOME = Path(__file__).resolve().parent.parent
_MEBI = 1024 if sys.platform == "darwin" else 1  # ru_maxrss counts bytes there, KiB elsewhere


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each number of nights."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("nights", type=int, nargs="*", default=[365, 1000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--against", type=Path, help="another checkout")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args(arguments)
    if chosen.one:
        print(json.dumps(measured(chosen.nights[0])))
        return
    for nights in chosen.nights:
        print(_line(nights, chosen.rounds, chosen.against))


def measured(nights: int) -> dict[str, float]:
    """Return CPU seconds, MiB and the steps that are dated within a night, of all series."""
    from tracekit.nightly.history.steps import Point, Series, steps_of  # noqa: PLC0415

    draw = random.Random(1)
    dates = [nights * (2 + at) // (_SERIES + 4) for at in range(_SERIES)]
    made: list[Series] = []
    for date in dates:
        points: list[Point] = []
        for night in range(nights):
            change = draw.gauss(1, _NOISE) * (_STEP if night >= date else 1) - 1
            ends = change - _NOISE, change + _NOISE
            day = f"{2000 + night // 336}-{night // 28 % 12 + 1:02}-{night % 28 + 1:02}"
            points.append(Point(f"n{night}", day, 1.0, 1.0, change, *ends, reference_commit="base"))
        made.append(Series("m", "p", "c", "w", "step_p50", "ns", "lower", points=tuple(points)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    began = time.process_time()
    found = [steps_of(series) for series in made]
    seconds = time.process_time() - began
    held = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 / _MEBI
    dated = sum(
        any(abs(step.index - date) <= 1 for step in steps)
        for steps, date in zip(found, dates, strict=True)
    )
    return {"seconds": seconds, "MiB": held, "dated": dated}


def _line(nights: int, rounds: int, against: Path | None) -> str:
    checkouts = [_HOME, *([against.resolve()] if against else [])]
    runs = [[_run(checkout, nights) for checkout in checkouts] for _ in range(rounds)]
    ours = [run[0] for run in runs]
    seconds = statistics.median(run["seconds"] for run in ours)
    words = f"{_SERIES} series of {nights:,} nights: {seconds:.2f} CPU s"
    words += f", {max(run['MiB'] for run in ours):.0f} MiB, {ours[0]['dated']} of {_SERIES} dated"
    if against:
        ratios = [run[1]["seconds"] / run[0]["seconds"] for run in runs]
        theirs = statistics.median(run[1]["seconds"] for run in runs)
        words += f"; there {theirs:.2f} CPU s, {max(run[1]['MiB'] for run in runs):.0f} MiB, "
        words += f"{runs[0][1]['dated']} dated: {statistics.median(ratios):.1f} times "
        words += f"[{min(ratios):.1f} … {max(ratios):.1f}]"
    return words


def _run(checkout: Path, nights: int) -> dict[str, float]:
    command = [sys.executable, str(Path(__file__).resolve()), str(nights), "--one"]
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    done = subprocess.run(
        command, env=environment, cwd=checkout, check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
