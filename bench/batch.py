"""Measure a batch: CPU seconds of a recording, the worth of a second process, a killed worker.

python bench/batch.py                             # 200 recordings, three rounds
python bench/batch.py --recordings 1000 --rounds 1
python bench/batch.py --against ../before         # beside another checkout, whose .venv is used

The simulator of tests/exam/labelled makes the recordings from seeds, no two alike, with all of
their tables. CPU seconds are those of the command with one process and all that it starts, over
the number of recordings, in turns with the other checkout. A round then analyses them with one
process, with two, with two workers of a Dask cluster, and with two of which one is killed midway;
ratios are those of one round. Each round checks that every recording is there just once.
"""

import argparse
import os
import shutil
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
from paired import ROOT, Checkout, Task, measure, prepare
from tracekit.fleet.batch.batch import BatchPlan, run_batch
from tracekit.fleet.batch.results import Results

_STEPS, _WARM_UP = 6, 1
_CPU = "CPU s a recording"

Hook = Callable[[LocalCluster], Callable[[str], None]]


@dataclass(frozen=True)
class Round:
    """Seconds of one process, of two, of two workers of a cluster, and of these with one killed."""

    one: float
    two: float
    cluster: float
    killed: float


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, and print what was found."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--recordings", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--against", type=Path, help="another checkout, with its environment")
    chosen = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        size = made(folder / "recordings", chosen.recordings)
        print(f"{chosen.recordings} recordings, {size / 1e6:.0f} MB of XML")
        for line in spent(folder, chosen.recordings, chosen.rounds, chosen.against):
            print(line, flush=True)
        rounds = [measured(folder, chosen.recordings) for _ in range(chosen.rounds)]
    for line in told(rounds, chosen.recordings):
        print(line)


def spent(folder: Path, number: int, rounds: int, against: Path | None) -> list[str]:
    """Return in words the CPU seconds of a recording here, and in another checkout."""
    here = prepare("here", ROOT, folder / "here", None)
    there = here
    if against is not None:
        there = prepare("there", against, folder / "there", None)
    command = ("batch", str(folder / "recordings"), "--output", "out", "--workers", "1")
    task = Task("batch", "all recordings", lambda _: (command,), _remove_output)
    timings = measure(task, here, there, rounds)
    if against is None:
        here_twice = [*timings.here, *timings.there]
        return [_line("one process", [taken / number for taken in here_twice], _CPU)]
    return [
        _line("one process", [taken / number for taken in timings.here], _CPU),
        _line("there", [taken / number for taken in timings.there], _CPU),
        _line("here over there", timings.ratios, "times the CPU"),
    ]


def _remove_output(checkout: Checkout) -> None:
    shutil.rmtree(checkout.folder / "out", ignore_errors=True)


def made(folder: Path, number: int) -> int:
    """Make the recordings; return how many bytes their exports have."""
    for seed in range(number):
        setup = replace(clean(seed), steps=_STEPS, warm_up=_WARM_UP)
        write(simulate(setup), folder / f"{seed:05d}")
    return sum(one.stat().st_size for one in folder.glob("*/exports/*.xml"))


def measured(folder: Path, number: int) -> Round:
    """Analyse all recordings in each of the four ways."""
    return Round(
        seconds(folder, number, workers=1),
        seconds(folder, number, workers=2),
        cluster_seconds(folder, number, _nothing),
        cluster_seconds(folder, number, killer(number)),
    )


def seconds(
    folder: Path,
    number: int,
    *,
    workers: int | None = None,
    scheduler: str = "",
    progress: Callable[[str], None] = lambda _: None,
) -> float:
    """Return how long the recordings take.

    Raises:
        SystemExit: A recording failed, is missing, or is there twice.
    """
    with tempfile.TemporaryDirectory(dir=folder) as place:
        out = Path(place) / "out"
        recordings = (str(folder / "recordings"),)
        plan = BatchPlan(recordings, out, scheduler=scheduler, workers=workers)
        began = time.perf_counter()
        run_batch(plan, progress)
        took = time.perf_counter() - began
        rows = Results(out / "results").rows()
        there = Counter(row.recording for row in rows if row.state == "ok")
    if len(there) != number or set(there.values()) != {1}:
        sys.exit(f"{len(there)} of {number} recordings are there, not each of them once")
    return took


def cluster_seconds(folder: Path, number: int, hook: Hook) -> float:
    """Return how long the recordings take on two workers of a cluster that are there already."""
    cluster = LocalCluster(
        n_workers=2,
        threads_per_worker=1,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        local_directory=str(folder),
        preload=["tracekit.fleet.batch.analysing"],
    )
    with cluster:
        scheduler = cluster.scheduler_address
        return seconds(folder, number, scheduler=scheduler, progress=hook(cluster))


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
        _line("one process", [number / one.one for one in rounds], "recordings per s"),
        _line("two processes", [number / one.two for one in rounds], "recordings per s"),
        _line("two against one", [one.one / one.two for one in rounds], "times as fast"),
        _line("Dask, two workers", [number / one.cluster for one in rounds], "recordings per s"),
        _line("one of two killed", [one.killed / one.cluster for one in rounds], "times as long"),
        "every recording was there just once, each time",
    ]


def _line(name: str, values: Sequence[float], unit: str) -> str:
    span = f"({min(values):.3f} to {max(values):.3f})"
    return f"{name:<18}  {statistics.median(values):8.3f} {unit} {span}"


def _nothing(_: LocalCluster) -> Callable[[str], None]:
    return lambda _: None


if __name__ == "__main__":
    main()
