"""Count how often equal runs are called worse, and slowed ones are not.

python bench/compare_runs.py
python bench/compare_runs.py --pairs 20 --runs 1 --seconds 2 --slow 0.1

A pair is two sides of `--runs` recordings each of `burning/burn.py` on the host, one side after
the other, as yesterday and today are. Of each pair's three sides two do the same work and the
third does more, so that one pair is equal and one is slower by a known amount. What the workload
says of the machine's pace, its reference, is used or left out. Load on the machine is part of
what is measured, so leave the machine as it is for users.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from tracekit.comparing import samples
from tracekit.history import Limits, Sample, compare
from tracekit.history.change import Change

_WORKLOADS = Path(__file__).parent / "burning"


@dataclass(frozen=True)
class Effort:
    """How much to record: pairs, runs of a side, seconds of a run, and the slow-down."""

    pairs: int
    runs: int
    seconds: float
    slow: float


@dataclass(frozen=True, eq=False)
class Pair:
    """Two sides, and whether the second one does more."""

    kind: str
    before: list[Sample]
    after: list[Sample]


def main(arguments: Sequence[str] | None = None) -> None:
    """Record, compare, and print a line for each pair and the counts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--pairs", type=int, default=20, help="pairs of either kind")
    parser.add_argument("--runs", type=int, default=1, help="runs of each side")
    parser.add_argument("--seconds", type=float, default=2.0, help="steady time of a run")
    parser.add_argument("--slow", type=float, default=0.1, help="share of work to add")
    parser.add_argument("--between", type=float, default=Limits().between, help="as of compare")
    parser.add_argument("--keep", type=Path, help="new folder for the runs, which else are removed")
    chosen = parser.parse_args(arguments)
    effort = Effort(chosen.pairs, chosen.runs, chosen.seconds, chosen.slow)
    limits = Limits(between=chosen.between)
    with tempfile.TemporaryDirectory() as folder:
        pairs = list(recorded(effort, chosen.keep or Path(folder)))
        for words, bare in (("with its reference", False), ("without", True)):
            judge(pairs, limits, words, bare=bare)


def recorded(effort: Effort, folder: Path) -> Iterator[Pair]:
    """Record the sides of each pair, one after the other."""
    for number in range(effort.pairs):
        sides = [
            samples([_record(folder, f"{number}-{side}-{run}", slow, effort.seconds)
                     for run in range(effort.runs)])
            for side, slow in enumerate((0.0, 0.0, effort.slow))
        ]  # fmt: skip
        yield Pair("equal", sides[0], sides[1])
        yield Pair("slower", sides[1], sides[2])


def judge(pairs: Sequence[Pair], limits: Limits, words: str, *, bare: bool) -> None:
    """Compare every pair, and print what became of its median step and over all."""
    verdicts: Counter[tuple[str, str]] = Counter()
    for pair in pairs:
        before, after = ([_bare(one) if bare else one for one in side]
                         for side in (pair.before, pair.after))  # fmt: skip
        compared = compare(before, after, limits)
        verdicts[pair.kind, compared.verdict] += 1
        step = next(one for one in compared.changes if one.metric == "step_p50")
        print(f"{pair.kind:<8} {words:<20} {_interval(step):<28} {compared.verdict}")
    for kind in ("equal", "slower"):
        counts = {verdict: count for (of, verdict), count in verdicts.items() if of == kind}
        print(f"{kind} {words}: {', '.join(f'{n} {verdict}' for verdict, n in counts.items())}")


def _record(folder: Path, name: str, slow: float, seconds: float) -> Path:
    run = folder / name
    command = f"-m tracekit capture --recorder host --workload burn --time-limit {seconds}s"
    options = ["--workloads", str(_WORKLOADS), "--slow", str(slow), "--output", str(run)]
    argv = [sys.executable, *command.split(), *options]
    subprocess.run(argv, check=True, capture_output=True)
    return run


def _bare(sample: Sample) -> Sample:
    """Return the run without what the workload said of the machine's pace."""
    tables = sample.tables or {}
    return replace(sample, tables={name: tables[name] for name in tables if name != "gauges"})


def _interval(change: Change) -> str:
    if change.change is None or change.low is None or change.high is None:
        return change.reason
    return f"{change.change:+7.1%} [{change.low:+.1%} … {change.high:+.1%}]"


if __name__ == "__main__":
    main()
