"""Time the search for change points next to another checkout, in turns, and check known dates.

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
    dates = [nights * (2 + number) // (_SERIES + 4) for number in range(_SERIES)]
    all_series: list[Series] = []
    for date in dates:
        points: list[Point] = []
        for night in range(nights):
            level = draw.gauss(1, _NOISE)
            if night >= date:
                level *= _STEP
            change = level - 1
            low = change - _NOISE
            high = change + _NOISE
            day = f"{2000 + night // 336}-{night // 28 % 12 + 1:02}-{night % 28 + 1:02}"
            point = Point(f"n{night}", day, 1.0, 1.0, change, low, high, reference_commit="base")
            points.append(point)
        series = Series("m", "p", "c", "w", "step_p50", "ns", "lower", points=tuple(points))
        all_series.append(series)
    memory_before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.process_time()
    steps_by_series = list(map(steps_of, all_series))
    seconds = time.process_time() - start
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory_before
    dated = 0
    for steps, date in zip(steps_by_series, dates, strict=True):
        if any(abs(step.index - date) <= 1 for step in steps):
            dated += 1
    return {"seconds": seconds, "MiB": memory / 1024 / _MEBI, "dated": dated}


def _line(nights: int, rounds: int, against: Path | None) -> str:
    runs: list[dict[str, float]] = []
    other_runs: list[dict[str, float]] = []
    for _ in range(rounds):
        runs.append(_run(_HOME, nights))
        if against:
            other_runs.append(_run(against.resolve(), nights))
    seconds, memory, dated = _summarize(runs)
    words = (
        f"{_SERIES} series of {nights:,} nights: {seconds}, {memory}, {dated} of {_SERIES} dated"
    )
    if not against:
        return words
    seconds, memory, dated = _summarize(other_runs)
    ratios: list[float] = []
    for run, other_run in zip(runs, other_runs, strict=True):
        ratios.append(other_run["seconds"] / run["seconds"])
    times = f"{statistics.median(ratios):.1f} times [{min(ratios):.1f} … {max(ratios):.1f}]"
    return f"{words}; there {seconds}, {memory}, {dated} dated: {times}"


def _summarize(runs: Sequence[dict[str, float]]) -> tuple[str, str, float]:
    """Return median seconds and the most memory of the runs in words, and the dated steps."""
    seconds = statistics.median(run["seconds"] for run in runs)
    memory = max(run["MiB"] for run in runs)
    return f"{seconds:.2f} CPU s", f"{memory:.0f} MiB", runs[0]["dated"]


def _run(checkout: Path, nights: int) -> dict[str, float]:
    command = [sys.executable, str(Path(__file__).resolve()), str(nights), "--one"]
    environment = os.environ | {"PYTHONPATH": str(checkout)}
    done = subprocess.run(
        command, env=environment, cwd=checkout, check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
