"""Count how often each verdict is given, by the size of the true change.

python tests/nightly/simulations/verdict_simulation.py
python tests/nightly/simulations/verdict_simulation.py --times 1000 --threshold 0.02
python tests/nightly/simulations/verdict_simulation.py --markdown docs/reference/gate-measured.md

Runs vary by a normal law, one deviation being their coefficient of variation (CV). They are judged
by tracekit's own rule as `bench ab` and nights judge pairs, in one session and with the second one
that they hold where a change may lie beyond the limit, and as `compare` judges runs that were
recorded one side after the other.
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
from tracekit.base import Verdict
from tracekit.comparison.compare import is_unconfirmed
from tracekit.comparison.shifts import find_interval
from tracekit.comparison.spread import Limits, SideValues, interval
from tracekit.comparison.verdicts import Change

BEGIN = "<!-- written by tests/nightly/simulations/verdict_simulation.py -->"
END = "<!-- end of words -->"
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
    session = _draw_session(count, true, draw)
    verdict, _ = _judge([session], limits)
    return verdict


def judge_twice(count: int, true: float, draw: Draw, limits: Limits) -> Verdict:
    """Judge pairs, with those of a second session if one session leaves it open."""
    first_session = _draw_session(count, true, draw)
    verdict, is_open = _judge([first_session], limits)
    if is_open:
        second_session = _draw_session(count, true, draw)
        verdict, _ = _judge([first_session, second_session], limits)
    return verdict


def judge_runs(count: int, true: float, draw: Draw, limits: Limits) -> Verdict:
    """Judge runs of which all of one side were recorded before the other."""
    before = SideValues(tuple(draw(count)))
    after = SideValues(tuple(true + value for value in draw(count)))
    change_interval = interval(before, after, limits.between)
    assert change_interval is not None
    verdict, _ = _CHANGE.judge_interval(change_interval, limits)
    return verdict


SAMPLINGS = (
    Sampling("Pairs of one session", (6, 10, 20), "pairs", judge_pairs),
    Sampling("Pairs, with a second session where one is asked for", (6, 10, 20), "pairs",
             judge_twice),
    Sampling("Runs of each side, recorded apart", (2, 3, 5), "runs", judge_runs),
)  # fmt: skip


def _draw_session(count: int, true: float, draw: Draw) -> list[float]:
    """Draw the changes of the pairs of a session, around the true change."""
    before = draw(count)
    after = draw(count)
    changes: list[float] = []
    for value_before, value_after in zip(before, after, strict=True):
        changes.append(true + (value_after - value_before))
    return changes


def _judge(sessions: Sequence[list[float]], limits: Limits) -> tuple[Verdict, bool]:
    """Return the verdict, and whether a second session may change it."""
    all_changes: list[float] = []
    for session in sessions:
        all_changes.extend(session)
    estimate = find_interval(all_changes)
    assert estimate is not None
    verdict, _ = _CHANGE.judge_interval(estimate, limits, sessions)
    judged = Change(
        metric="step_p50",
        unit="ns",
        better=Better.LOWER,
        before=1.0,
        after=1.0,
        verdict=verdict,
        change=math.expm1(estimate.middle),
        low=math.expm1(estimate.lower_bound),
        high=math.expm1(estimate.upper_bound),
        deciding=True,
    )
    return verdict, is_unconfirmed([judged], limits)


@dataclass(frozen=True)
class Effort:
    """The number of comparisons of each cell, the seed of their chance, and the limits."""

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
    verdicts: Counter[Verdict] = Counter()
    for _ in range(effort.times):
        verdicts[sampling.judge(count, scaled, draw, effort.limits)] += 1
    return verdicts


def simulate(effort: Effort) -> str:
    """Return a table for each way to measure, and how many equal sides are called worse."""
    words = "worse · slightly worse · equivalent · unclear · better or slightly better, in %"
    head = [words]
    head.extend(f"{true * 100:g} %" for true in TRUE)
    texts: list[str] = []
    most = 0.0
    for sampling in SAMPLINGS:
        rows: list[list[str]] = []
        for count in sampling.counts:
            for cv in CVS:
                counters = [count_words(sampling, count, cv, true, effort) for true in TRUE]
                most = max(most, counters[0][Verdict.WORSE] / effort.times)
                cells = [_cell(counter, effort.times) for counter in counters]
                rows.append([f"{count} {sampling.unit}, CV {cv * 100:g} %", *cells])
        texts.append(f"**{sampling.name}**\n\n{table(head, rows)}")
    worst = f"In no cell are more than {most * 100:.2f} % of equal sides called worse."
    texts.append(f"{worst} Each cell counts {effort.times} comparisons.")
    return "\n\n".join(texts)


def _cell(counter: Counter[Verdict], times: int) -> str:
    shares: list[str] = []
    for verdicts in _WORDS:
        share = 100 * sum(counter[verdict] for verdict in verdicts) / times
        if 0 < share < 10:
            shares.append(f"{share:.1f}")
        else:
            shares.append(f"{share:.0f}")
    return " · ".join(shares)


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
