"""Count how often equal runs are called worse, and slowed ones are not.

python tests/nightly/simulations/compare_runs.py
python tests/nightly/simulations/compare_runs.py --pairs 20 --workload attend --seconds 2 --slow 0.1

A round records three runs of a workload of `burning/` on the host, in random order: two do the same
work, the third does more. One of the two and the other are an equal pair, the other and the third
a slower one, so that each run is in one pair of a kind at most. Every pair is compared with what
the worker tells of the machine's pace, its reference, and without it. Load on the machine is part
of what is measured, so leave the machine as it is for users.
"""

import argparse
import math
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tracekit.comparison.compare import Comparison, compare, read_samples
from tracekit.comparison.kept_measures import KeptMeasures
from tracekit.comparison.samples import Sample
from tracekit.comparison.spread import Limits
from tracekit.comparison.verdicts import Change

_WORKLOADS = Path(__file__).parent / "burning"
_SIDES = ("first", "second", "slowed")
_METRIC = "step_p50"


@dataclass(frozen=True)
class Effort:
    """How much to record: of what, rounds, runs of a side, seconds of a run, and the slow-down."""

    workload: str
    pairs: int
    runs: int
    seconds: float
    slow: float
    seed: int


@dataclass(frozen=True, eq=False)
class Pair:
    """Two sides, and whether the second one does more."""

    kind: str
    before: list[Sample]
    after: list[Sample]


def main(arguments: Sequence[str] | None = None) -> None:
    """Record, compare, and print a line for each pair and the counts."""
    chosen = _parser().parse_args(arguments)
    effort = Effort(
        chosen.workload, chosen.pairs, chosen.runs, chosen.seconds, chosen.slow, chosen.seed
    )
    limits = Limits(between=chosen.between, paced=chosen.paced)
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        pairs = list(recorded(effort, chosen.keep or Path(folder)))
        print(f"recorded in {time.monotonic() - began:.0f} s")
        for words, bare in (("with its reference", False), ("without", True)):
            judge(pairs, limits, words, bare=bare)


def recorded(effort: Effort, folder: Path) -> Iterator[Pair]:
    """Record the rounds, one after the other, the runs of each in random order."""
    order = random.Random(effort.seed)
    for number in range(effort.pairs):
        wanted = [(side, run) for side in _SIDES for run in range(effort.runs)]
        order.shuffle(wanted)
        made: dict[str, list[Path]] = {side: [] for side in _SIDES}
        for side, run in wanted:
            slow = effort.slow if side == "slowed" else 0.0
            made[side].append(_record(folder, f"{number}-{side}-{run}", slow, effort))
        first, second, slowed = (read_samples(made[side]) for side in _SIDES)
        yield Pair("equal", first, second)
        yield Pair("slower", second, slowed)


def judge(pairs: Sequence[Pair], limits: Limits, words: str, *, bare: bool) -> None:
    """Compare every pair; print what became of its median step and over all, and the counts."""
    compared = [(pair.kind, _compared(pair, limits, bare=bare)) for pair in pairs]
    for kind, one in compared:
        print(f"{kind:<8} {words:<20} {_interval(_change(one)):<28} {one.reason}")
    for kind in ("equal", "slower"):
        own = [one for of, one in compared if of == kind]
        counts = Counter(str(one.verdict) for one in own)
        told = ", ".join(f"{number} {verdict}" for verdict, number in counts.most_common())
        print(f"{kind} {words}: {told} of {len(own)}; {_spread(own)}")


def _compared(pair: Pair, limits: Limits, *, bare: bool) -> Comparison:
    sides = (pair.before, pair.after)
    before, after = ([_bare(one) if bare else one for one in side] for side in sides)
    return compare(before, after, limits)


def _record(folder: Path, name: str, slow: float, effort: Effort) -> Path:
    run = folder / name
    how = f"--recorder host --workload {effort.workload} --time-limit {effort.seconds}s"
    options = ["--workloads", str(_WORKLOADS), "--slow", str(slow), "--output", str(run)]
    argv = [sys.executable, "-m", "tracekit", "capture", *how.split(), *options]
    subprocess.run(argv, check=True, capture_output=True)
    return run


def _bare(sample: Sample) -> Sample:
    """Return the run without what was told of the machine's pace."""
    tables = sample.open_tables()
    other_tables = {name: tables[name] for name in tables if name != "gauges"}
    return replace(sample, tables=other_tables, measures=KeptMeasures())


def _change(compared: Comparison) -> Change:
    return next(one for one in compared.changes if one.metric == _METRIC)


def _interval(change: Change) -> str:
    if change.change is None or change.low is None or change.high is None:
        return change.reason
    return f"{change.change:+7.1%} [{change.low:+.1%} … {change.high:+.1%}]"


def _spread(compared: Sequence[Comparison]) -> str:
    """Say how far the changes of the median step lie apart: one deviation of a run."""
    changes = [math.log1p(_change(one).change or 0.0) for one in compared]
    if len(changes) < 2:
        return "too few to have a spread"
    apart = statistics.stdev(changes) / math.sqrt(2)
    return f"{_METRIC} {math.expm1(statistics.fmean(changes)):+.1%}, a run deviates by {apart:.1%}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--workload", choices=("burn", "attend"), default="attend")
    parser.add_argument("--pairs", type=int, default=20, help="pairs of either kind")
    parser.add_argument("--runs", type=int, default=1, help="runs of each side")
    parser.add_argument("--seconds", type=float, default=2.0, help="steady time of a run")
    parser.add_argument("--slow", type=float, default=0.1, help="share of work to add")
    parser.add_argument("--seed", type=int, default=0, help="of the order of runs")
    parser.add_argument("--between", type=float, default=Limits().between, help="as of compare")
    parser.add_argument("--paced", type=float, default=Limits().paced, help="with a reference")
    parser.add_argument("--keep", type=Path, help="new folder for the runs, which else are removed")
    return parser


if __name__ == "__main__":
    main()
