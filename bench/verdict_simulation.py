"""Count how often each word of a verdict is said, by how much really changed.

python bench/verdict_simulation.py
python bench/verdict_simulation.py --times 1000 --threshold 0.02
python bench/verdict_simulation.py --markdown docs/explanation/the-gate.md

Runs vary by a normal law, one deviation being their coefficient of variation (CV). They are judged
by tracekit's own rule as `ab` and nights judge pairs, in one session and with the second one that
they hold where a change may lie beyond the limit, and as `compare` judges runs that were recorded
one side after the other.
"""

import argparse
import math
import sys
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from gate_simulation import inserted
from nights.rates import table
from tracekit.analysis import Better
from tracekit.compare.compare import is_unconfirmed
from tracekit.compare.paired import shift
from tracekit.compare.spread import Limits, SideValues, interval
from tracekit.compare.verdicts import Change, Verdict, judge_interval

BEGIN, END = "<!-- written by bench/verdict_simulation.py -->", "<!-- end of words -->"
CVS = (0.005, 0.01, 0.02, 0.05)
TRUE = (0.0, 0.01, 0.02, 0.03, 0.05, 0.10)
_CHANGE = Change("step_p50", "ns", Better.LOWER, 1.0, 1.0, deciding=True)
_WORDS = (
    (Verdict.WORSE,),
    (Verdict.SLIGHTLY_WORSE,),
    (Verdict.EQUIVALENT,),
    (Verdict.UNCLEAR,),
    (Verdict.SLIGHTLY_BETTER, Verdict.BETTER),
)
Draw = Callable[[int], list[float]]


@dataclass(frozen=True)
class Sampling:
    """How a change is measured: `counts` are the sample sizes, `judge` says a verdict by a draw.

    A draw returns so many changes of pairs, or runs of a side around 0, on the scale of logarithms.
    """

    name: str
    counts: tuple[int, ...]
    unit: str
    judge: Callable[[int, float, Draw, Limits], Verdict]


def judge_pairs(count: int, true: float, draw: Draw, limits: Limits) -> Verdict:
    """Judge pairs of one session."""
    return _judge([[true + each for each in _paired(count, draw)]], limits)[0]


def judge_twice(count: int, true: float, draw: Draw, limits: Limits) -> Verdict:
    """Judge pairs, with those of a second session where one session leaves it open."""
    first = [true + each for each in _paired(count, draw)]
    verdict, again = _judge([first], limits)
    if not again:
        return verdict
    return _judge([first, [true + each for each in _paired(count, draw)]], limits)[0]


def judge_runs(count: int, true: float, draw: Draw, limits: Limits) -> Verdict:
    """Judge runs of which all of one side were recorded before the other."""
    before, after = draw(count), [true + each for each in draw(count)]
    found = interval(SideValues(tuple(before)), SideValues(tuple(after)), limits.between)
    assert found is not None
    return judge_interval(found, _CHANGE, limits)[0]


SAMPLINGS = (
    Sampling("Pairs of one session", (6, 10, 20), "pairs", judge_pairs),
    Sampling("Pairs, with a second session where one is asked for", (6, 10, 20), "pairs",
             judge_twice),
    Sampling("Runs of each side, recorded apart", (2, 3, 5), "runs", judge_runs),
)  # fmt: skip


def _paired(count: int, draw: Draw) -> list[float]:
    return [after - before for before, after in zip(draw(count), draw(count), strict=True)]


def _judge(sessions: Sequence[list[float]], limits: Limits) -> tuple[Verdict, bool]:
    """Return the verdict, and whether a second session may change it."""
    found = shift([change for each in sessions for change in each])
    assert found is not None
    verdict, _ = judge_interval(found, _CHANGE, limits, sessions)
    judged = Change(
        metric="step_p50",
        unit="ns",
        better=Better.LOWER,
        before=1.0,
        after=1.0,
        verdict=verdict,
        change=math.expm1(found.middle),
        low=math.expm1(found.lower_bound),
        high=math.expm1(found.upper_bound),
        deciding=True,
    )
    return verdict, is_unconfirmed([judged], limits)


@dataclass(frozen=True)
class Effort:
    """How many comparisons each cell counts, of which chance, and by which limits."""

    times: int
    seed: int
    limits: Limits


def count_words(
    sampling: Sampling, count: int, cv: float, true: float, effort: Effort
) -> Counter[Verdict]:
    """Judge so many made comparisons of a true change, a ratio less one; count their verdicts."""
    random = np.random.default_rng([effort.seed, count, round(cv * 1e4), round(true * 1e4)])

    def draw(number: int) -> list[float]:
        values: list[float] = random.normal(0.0, cv, number).tolist()
        return values

    scaled = math.log1p(true)
    return Counter(sampling.judge(count, scaled, draw, effort.limits) for _ in range(effort.times))


def simulate(effort: Effort) -> str:
    """Return a table for each way to measure, and how many equal sides are called worse."""
    words = "worse · slightly worse · equivalent · unclear · better or slightly better, in %"
    texts: list[str] = []
    most = 0.0
    for sampling in SAMPLINGS:
        rows: list[list[str]] = []
        for count in sampling.counts:
            for cv in CVS:
                counted = [count_words(sampling, count, cv, true, effort) for true in TRUE]
                most = max(most, counted[0][Verdict.WORSE] / effort.times)
                cells = [_cell(each, effort.times) for each in counted]
                rows.append([f"{count} {sampling.unit}, CV {cv * 100:g} %", *cells])
        head = [words, *(f"{true * 100:g} %" for true in TRUE)]
        texts.append(f"**{sampling.name}**\n\n{table(head, rows)}")
    worst = f"In no cell are more than {most * 100:.2f} % of equal sides called worse."
    return "\n\n".join([*texts, f"{worst} Each cell counts {effort.times} comparisons."])


def _cell(counted: Counter[Verdict], times: int) -> str:
    shares = (100 * sum(counted[word] for word in words) / times for words in _WORDS)
    return " · ".join(f"{share:.1f}" if 0 < share < 10 else f"{share:.0f}" for share in shares)


def main(arguments: Sequence[str] | None = None) -> None:
    """Make comparisons, judge them, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else "")
    parser.add_argument("--times", type=int, default=4000, help="comparisons of each cell")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threshold", type=float, default=Limits().threshold, help="the limit")
    parser.add_argument("--markdown", type=Path, help="page to write the tables into")
    chosen = parser.parse_args(arguments)
    if chosen.markdown:
        inserted(chosen.markdown.read_text(), "", (BEGIN, END))
    began = time.monotonic()
    page = simulate(Effort(chosen.times, chosen.seed, Limits(threshold=chosen.threshold)))
    print(page)
    print(f"\n{time.monotonic() - began:.0f} s", file=sys.stderr)
    if chosen.markdown:
        chosen.markdown.write_text(inserted(chosen.markdown.read_text(), page, (BEGIN, END)))


if __name__ == "__main__":
    main()
