"""What the simulation says, in tables."""

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from nights.noise import VARYING, Noise, histories
from nights.others import GATES
from nights.ours import Design, Ended, alarms_since, judged_nights
from nights.rates import Rate, table
from nights.series import FINDERS, SERIES, seen
from tracekit.comparison.shifts import find_interval
from tracekit.nightly.history.night import Outcome

_NIGHTS = 30
_RUNS = 10
SERIES_OF_A_NIGHT = 10
_COUNTS = (6, 10, 20)
_LATER, _PART = 50, 10


@dataclass(frozen=True)
class Effort:
    """How many nights of each kind, of which chance, and what is to be found."""

    nights: int
    seed: int
    effect: float


def beside_others(conditions: Sequence[Noise], designs: Sequence[Design], effort: Effort) -> str:
    """False alarms per 100 equal nights, and how many slower ones are found the same night."""
    rows: list[list[str]] = [[f"**{one.name}**"] for one in designs]
    rows += [[name] for name in GATES]
    for at, noise in enumerate(conditions):
        cells = [*_ours(noise, designs, effort, at), *_theirs(noise, effort, at)]
        for row, (alarms, found) in zip(rows, cells, strict=True):
            row.append(f"{alarms.words} · {found.words} %")
    return table(["false alarms per 100 · found", *(one.name for one in conditions)], rows)


def closely(conditions: Sequence[Noise], design: Design, effort: Effort) -> str:
    """The same of one design with intervals, what stays open, and what it costs."""
    rows: list[list[str]] = []
    for at, noise in enumerate(conditions):
        equal, slower = _both(noise, design, effort, at)
        rows.append(
            [
                noise.name,
                _rate(equal, Outcome.REGRESSION).whole,
                _rate(slower, Outcome.REGRESSION).whole,
                _rate(equal, Outcome.INCONCLUSIVE).whole,
                _rate(slower, Outcome.INCONCLUSIVE).whole,
                Rate(equal.second, equal.nights).words,
            ]
        )
    head = "% of nights|false alarms|found|equal, inconclusive|slower, inconclusive|measured twice"
    return table(head.split("|"), rows)


def by_size(noise: Noise, designs: Sequence[Design], sizes: Sequence[float], effort: Effort) -> str:
    """How nights end by how much slower the candidate is."""
    rows: list[list[str]] = []
    for size in sizes:
        ended = [judged_nights(one, noise, size, effort.nights, effort.seed) for one in designs]
        rows.append([f"{size:+.0%}".replace("+0%", "0").replace("%", " %")])
        for one in ended:
            rates = (_rate(one, outcome).words for outcome in _SHOWN)
            rows[-1].append(" · ".join(rates))
    return table(["slower by", *(one.name for one in designs)], rows)


def tried(conditions: Sequence[Noise], designs: Sequence[Design], effort: Effort) -> str:
    """False alarms, found and inconclusive nights, of other ways to decide."""
    rows = [[one.name] for one in designs]
    for at, noise in enumerate(conditions):
        for row, design in zip(rows, designs, strict=True):
            equal, slower = _both(noise, design, effort, at)
            alarms, found = (_rate(one, Outcome.REGRESSION).words for one in (equal, slower))
            row.append(f"{alarms} · {found} % · {_rate(equal, Outcome.INCONCLUSIVE).words}")
    return table(["false alarms · found · inconclusive", *(one.name for one in conditions)], rows)


def since_accepted(conditions: Sequence[Noise], designs: Sequence[Design], effort: Effort) -> str:
    """What one accepted baseline does to all later nights: on average, and if it is unlucky."""
    nights = nights_since(effort)
    count = max(effort.nights // nights, 2)
    rows: list[list[str]] = []
    for noise, design in itertools.product(conditions, designs):
        row = [f"{noise.name}: {design.name}"]
        for effect, unlucky in ((0.0, True), (effort.effect, False)):
            random = np.random.default_rng(effort.seed)
            shares = sorted(
                (alarms_since(design, noise, effect, nights, random) for _ in range(count)),
                reverse=unlucky,
            )
            worst = shares[: max(count // _PART, 1)]
            row += [f"{100 * float(np.mean(one)):.1f}" for one in (shares, worst)]
        rows.append(row)
    head = "% of later nights|false alarms|unluckiest tenth|found|unluckiest tenth"
    return table(head.split("|"), rows)


def nights_since(effort: Effort) -> int:
    """Return for how many nights each baseline is kept."""
    return max(min(_LATER, effort.nights // 2), 1)


def points(effort: Effort) -> str:
    """False change points, and how often a step is dated within one night."""
    rows: list[list[str]] = []
    for at, (words, made) in enumerate(SERIES.items()):
        flat = made(effort.nights, np.random.default_rng(effort.seed + at))
        for name, finder in FINDERS.items():
            found = seen(finder, flat)
            dated = (one.whole for one in found.dated.values())
            rows.append([f"{words}: {name}", f"{found.points / len(flat):.3f}", *dated])
    since = (f"% dated, {nights} nights on" for nights in (3, 5, 10))
    return table(["series", "false per 30 nights", *since], rows)


def coverage(effort: Effort) -> str:
    """How often intervals hold the truth, by how pairs vary and how many there are."""
    rows: list[list[str]] = []
    for words, drawn in VARYING.items():
        row = [words]
        for count in _COUNTS:
            random = np.random.default_rng(effort.seed)
            found = (find_interval(drawn(random, count).tolist()) for _ in range(effort.nights))
            held = sum(one is not None and one.lower_bound <= 0 <= one.upper_bound for one in found)
            row.append(Rate(held, effort.nights).whole)
        rows.append(row)
    return table(["% that hold", *(f"{count} pairs" for count in _COUNTS)], rows)


def many_series(noise: Noise, design: Design, effort: Effort) -> str:
    """Say how often a night of ten equal series has a false alarm in any of them."""
    count = max(effort.nights, SERIES_OF_A_NIGHT)
    alarms = judged_nights(design, noise, 0.0, count, effort.seed).alarms
    whole = len(alarms) // SERIES_OF_A_NIGHT
    nights = np.reshape(alarms[: whole * SERIES_OF_A_NIGHT], (whole, SERIES_OF_A_NIGHT)).any(axis=1)
    return Rate(int(nights.sum()), whole).whole


_SHOWN = (Outcome.REGRESSION, Outcome.INCONCLUSIVE, Outcome.OK)


def _ours(
    noise: Noise, designs: Sequence[Design], effort: Effort, at: int
) -> Iterator[tuple[Rate, Rate]]:
    for design in designs:
        equal, slower = _both(noise, design, effort, at)
        yield _rate(equal, Outcome.REGRESSION), _rate(slower, Outcome.REGRESSION)


def _both(noise: Noise, design: Design, effort: Effort, at: int) -> tuple[Ended, Ended]:
    seed = effort.seed + 1000 * at
    equal = judged_nights(design, noise, 0.0, effort.nights, seed)
    return equal, judged_nights(design, noise, effort.effect, effort.nights, seed + 1)


def _theirs(noise: Noise, effort: Effort, at: int) -> Iterator[tuple[Rate, Rate]]:
    random = np.random.default_rng(effort.seed + 1000 * at)
    equal = histories(noise, effort.nights, _NIGHTS, _RUNS, random)
    slower = equal.copy()
    slower[:, -1] += math.log1p(effort.effect)
    for gate in GATES.values():
        alarms, found = (int(gate(one).sum()) for one in (equal, slower))
        yield Rate(alarms, effort.nights), Rate(found, effort.nights)


def _rate(ended: Ended, outcome: Outcome) -> Rate:
    return Rate(ended.outcomes[outcome], ended.nights)
