"""Measure a batch: recordings per second, what a second process is worth, a worker that dies.

python bench/batch.py                             # 200 recordings, three rounds
python bench/batch.py --recordings 1000 --rounds 1

The simulator of tests/exam/labelled makes the recordings from seeds, no two alike, with all of
their tables. A round analyses them with one worker, with two, and with two of which one is killed
midway; ratios are those of one round. Every time it is looked whether each is there just once.
"""

import argparse
import os
import signal
import statistics
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from distributed import LocalCluster

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests" / "exam"))
from labelled.drawn import clean
from labelled.folder import write
from labelled.program import simulate
from tracekit.fleet.batch.batch import BatchPlan, run_batch
from tracekit.fleet.batch.results import Results

_STEPS, _WARM_UP = 6, 1

Hook = Callable[[LocalCluster], Callable[[str], None]]


@dataclass(frozen=True)
class Round:
    """The seconds that one worker took, two, and two of which one was killed."""

    one: float
    two: float
    killed: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--recordings", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        size = made(folder / "recordings", chosen.recordings)
        print(f"{chosen.recordings} recordings, {size / 1e6:.0f} MB of XML")
        rounds = [measured(folder, chosen.recordings) for _ in range(chosen.rounds)]
    for line in told(rounds, chosen.recordings):
        print(line)


def made(folder: Path, number: int) -> int:
    """Make the recordings; return how many bytes their exports have."""
    for seed in range(number):
        setup = replace(clean(seed), steps=_STEPS, warm_up=_WARM_UP)
        write(simulate(setup), folder / f"{seed:05d}")
    return sum(one.stat().st_size for one in folder.glob("*/exports/*.xml"))


def measured(folder: Path, number: int) -> Round:
    """Analyse all recordings in each of the three ways."""
    return Round(
        seconds(folder, number, 1, _nothing),
        seconds(folder, number, 2, _nothing),
        seconds(folder, number, 2, killer(number)),
    )


def seconds(folder: Path, number: int, workers: int, hook: Hook) -> float:
    """Return how long the recordings take on workers that are there already.

    Raises:
        SystemExit: A recording failed, is missing, or is there twice.
    """
    cluster = LocalCluster(
        n_workers=workers,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        local_directory=str(folder),
        preload=["tracekit.fleet.batch.analysing"],
    )
    with cluster, tempfile.TemporaryDirectory(dir=folder) as place:
        out = Path(place) / "out"
        plan = BatchPlan((str(folder / "recordings"),), out, scheduler=cluster.scheduler_address)
        began = time.perf_counter()
        run_batch(plan, hook(cluster))
        took = time.perf_counter() - began
        rows = Results(out / "results").rows()
        there = Counter(row.recording for row in rows if row.state == "ok")
    if len(there) != number or set(there.values()) != {1}:
        sys.exit(f"{len(there)} of {number} recordings are there, not each of them once")
    return took


def killer(number: int) -> Hook:
    """Return what kills a worker when half of the recordings are done."""
    half = f"{number // 2:,} of"

    def watch(cluster: LocalCluster) -> Callable[[str], None]:
        killed: list[int] = []

        def progress(text: str) -> None:
            if text.startswith(half) and not killed:
                killed.append(cluster.workers[0].pid)
                os.kill(killed[0], signal.SIGKILL)

        return progress

    return watch


def told(rounds: Sequence[Round], number: int) -> list[str]:
    """Return the medians over the rounds in words, and their ranges."""
    return [
        _line("one worker", [number / one.one for one in rounds], "recordings per s"),
        _line("two workers", [number / one.two for one in rounds], "recordings per s"),
        _line("two against one", [one.one / one.two for one in rounds], "times as fast"),
        _line("one of two killed", [one.killed / one.two for one in rounds], "times as long"),
        "every recording was there just once, each time",
    ]


def _line(name: str, values: Sequence[float], unit: str) -> str:
    span = f"({min(values):.2f} to {max(values):.2f})"
    return f"{name:<18}  {statistics.median(values):8.2f} {unit} {span}"


def _nothing(_: LocalCluster) -> Callable[[str], None]:
    return lambda _: None


if __name__ == "__main__":
    main()
