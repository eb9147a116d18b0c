"""Count how often a chain of nights is a false alarm, and how soon it finds drift.

python bench/drift_simulation.py
python bench/drift_simulation.py --histories 400 --within 2

Each night compares a commit with the one before it, in pairs whose changes vary by `--within`
percent (one deviation of a pair), and all pairs of a night by `--session` percent more. Slower
commits are each 1 % slower than the one before. What a single night finds is not counted, only
chains of two nights or more.
"""

import argparse
import itertools
import math

import numpy as np

from tracekit.compare import shift
from tracekit.nightly.gate import drift
from tracekit.nightly.history.night import Judged

_PAIRS = 10
_LATEST, _NEVER = 10, 1000
_JUDGED = Judged("step_p50", "ns", "lower", threshold=0.03)


def main() -> None:
    """Make nights, and print what share of them is an alarm, and when drift is found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--histories", type=int, default=200)
    parser.add_argument("--nights", type=int, default=60)
    parser.add_argument("--within", type=float, nargs="+", default=[0.5, 1.0, 2.0, 3.0])
    parser.add_argument("--session", type=float, nargs="+", default=[0.0, 0.5])
    parser.add_argument("--sure", type=float, nargs="+", default=[drift.SURE])
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    print("| pairs | nights | deviations | alarms in 100 equal nights | found within 6, 8, 10 |")
    print("|---|---|---|---|---|")
    for within, session, sure in itertools.product(chosen.within, chosen.session, chosen.sure):
        drift.SURE = sure
        random = np.random.default_rng(chosen.seed)
        noise = within / 100, session / 100
        histories = range(chosen.histories)
        equal = [found(random, noise, 0.0, chosen.nights) for _ in histories]
        alarms = sum(one is not None for one in equal) / (chosen.histories * chosen.nights) * 100
        slower = [found(random, noise, 0.01, _LATEST) or _NEVER for _ in histories]
        shares = ", ".join(f"{np.mean(np.array(slower) <= most):.0%}" for most in (6, 8, _LATEST))
        print(f"| {within:g} % | {session:g} % | {sure:g} | {alarms:.2f} | {shares} |", flush=True)


def found(
    random: np.random.Generator, noise: tuple[float, float], each: float, nights: int
) -> int | None:
    """Return the night in which a chain is first worse, from 1; None where none is.

    `noise` is how much pairs of a night vary, and how much nights do beyond that, one deviation.
    """
    links: list[drift.Link] = []
    for night in range(1, nights + 1):
        middle = random.normal(math.log1p(each), noise[1])
        changes = random.normal(middle, noise[0], _PAIRS)
        interval = shift(changes.tolist())
        assert interval is not None
        deviation = (interval.high - interval.low) / 3.92
        links.append(drift.Link(str(night), str(night - 1), str(night), interval.middle, deviation))
        if drift.drift_of(links, _JUDGED) is not None:
            return night
    return None


if __name__ == "__main__":
    main()
