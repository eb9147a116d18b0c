"""Count how often gates cry wolf, and how often they miss a slow-down, on made nights.

python tests/nightly/simulations/gate_simulation.py
python tests/nightly/simulations/gate_simulation.py --histories 200 --seed 3
python tests/nightly/simulations/gate_simulation.py --within 0.4 1 2 --night 4 --drift 8
python tests/nightly/simulations/gate_simulation.py --measured bench/nights-of-mine/*/night.json
python tests/nightly/simulations/gate_simulation.py --markdown docs/reference/gate-measured.md

Nights are made of noise that is given: from night to night, from run to run, by drift, by odd
turns, from session to session. tracekit's own gate judges them as it judges real ones, with its
second sessions; the gates that others use judge the same noise. With --measured, noise is drawn
from what equal pairs of real nights differed by, and nothing but tracekit's gate is run.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from nights.noise import METRIC, Noise
from nights.ours import Design
from nights.tables import (
    SERIES_OF_A_NIGHT,
    Effort,
    beside_others,
    by_size,
    closely,
    coverage,
    many_series,
    nights_since,
    points,
    since_accepted,
    tried,
)
from tracekit.nightly.gate.decision import Policy
from tracekit.nightly.history.night import Night
from tracekit.nightly.history.pairs import changes

_BEGIN, _END = "<!-- written by tests/nightly/simulations/gate_simulation.py -->", "<!-- end -->"
_FAR = 8.0  # within a session: a machine on which nothing can be measured
OURS = Design("tracekit, same work")
ACCEPTED = Design("tracekit, other work", accepted=20)
OTHER_WAYS = (
    Design("as it is"),
    Design("either session beyond the whole threshold", policy=Policy(agreement=1.0)),
    Design("either session beyond three quarters", policy=Policy(agreement=0.75)),
    Design("either session beyond a quarter", policy=Policy(agreement=0.25)),
    Design("certainty of 0.95", policy=Policy(certainty=0.95)),
    Design("confidence of 0.99", policy=Policy(confidence=0.99, min_pairs=8)),
    Design("6 pairs", count=6),
    Design("16 pairs", count=16),
    Design("20 pairs", count=20),
)
BASELINES = (
    Design("10 pairs of one session", accepted=10),
    Design("20 of two sessions", accepted=20),
    Design("60 of three such nights", accepted=60),
)
SIZES = (0.0, 0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.10)


def main(arguments: Sequence[str] | None = None) -> None:
    """Make nights, judge them, and print the tables."""
    chosen = _parser().parse_args(arguments)
    if chosen.markdown:
        inserted(chosen.markdown.read_text(), "")
    effort = Effort(chosen.histories, chosen.seed, chosen.effect / 100)
    began = time.monotonic()
    page = measured(chosen.measured, effort) if chosen.measured else simulated(chosen, effort)
    print(page)
    print(f"\n{time.monotonic() - began:.0f} s", file=sys.stderr)
    if chosen.markdown:
        chosen.markdown.write_text(inserted(chosen.markdown.read_text(), page))


def simulated(chosen: argparse.Namespace, effort: Effort) -> str:
    """Return all tables on made noise."""
    conditions = _conditions(chosen)
    usual = next(one for one in conditions if one.night == max(chosen.night) / 100)
    harder = [one for one in conditions if one.night == usual.night]
    fewer = Effort(max(effort.nights // 4, 1), effort.seed, effort.effect)
    worst = harder[min(1, len(harder) - 1)]
    return _joined(
        {
            f"{effort.nights} nights of each kind": beside_others(
                conditions, (OURS, ACCEPTED), effort
            ),
            "tracekit's own gate, closely": closely(conditions, OURS, effort),
            "The same against an accepted night": closely(conditions, ACCEPTED, effort),
            f"By size, at {worst.name}: regression · inconclusive · ok": by_size(
                worst, (OURS, ACCEPTED), SIZES, fewer
            ),
            "Other ways that were tried": tried(harder, OTHER_WAYS, fewer),
            "Intervals of 95 %": coverage(effort),
            f"One baseline, and {nights_since(effort)} nights since": since_accepted(
                [one for one in harder if _like(one, worst)], BASELINES, effort
            ),
            "Change points": points(fewer),
        }
    ) + (
        f"\n\nOf 100 nights of {SERIES_OF_A_NIGHT} equal series each, at {worst.name}, "
        f"{many_series(worst, OURS, effort)} have a false alarm in any of them."
    )


def measured(files: Sequence[Path], effort: Effort) -> str:
    """Return the tables of tracekit's gate on the differences of real pairs."""
    noise = [Noise(file.parent.name, measured=centred(file)) for file in files]
    return _joined({"On measured pairs": closely(noise, OURS, effort)})


def centred(file: Path) -> tuple[float, ...]:
    """Return what the pairs of a night differed by, around the middle of each capture."""
    night = msgspec.json.decode(file.read_bytes(), type=Night)
    found: list[float] = []
    for entry in night.entries:
        own = changes(entry.pairs, METRIC, "ratio")
        middle = statistics.median(own) if own else 0.0
        found += [one - middle for one in own]
    if not found:
        sys.exit(f"{file} has no pair that counts and knows {METRIC} of both sides.")
    return tuple(found)


def inserted(text: str, page: str, place: tuple[str, str] = (_BEGIN, _END)) -> str:
    """Return a page with the tables in their place; leave with a sentence where it has none."""
    before, begin, rest = text.partition(place[0])
    _, end, after = rest.partition(place[1])
    if not end:
        sys.exit(f"The page has no place for the tables: {place[0]} and {place[1]}.")
    return f"{before}{begin}\n\n{page}\n\n{end}{after}"


def _conditions(chosen: argparse.Namespace) -> list[Noise]:
    drift, least, most = chosen.drift / 100, min(chosen.within), max(chosen.night)
    named = [(night, least) for night in chosen.night if night != most]
    named += [(most, within) for within in chosen.within]
    found = [
        Noise(f"{night:g} / {within:g} %", night / 100, within / 100, drift)
        for night, within in named
    ]
    middle = statistics.median_low(chosen.within)
    words = f"{most:g} / {middle:g} %"
    plain = (most / 100, middle / 100, drift)
    return [
        *found,
        Noise(f"{words}, odd turns", *plain, odd=chosen.odd / 100),
        Noise(f"{words}, sessions", *plain, session=chosen.session / 100),
        Noise(f"{words}, nights", *plain, bias=chosen.bias / 100),
        Noise(f"{most:g} / {_FAR:g} %", most / 100, _FAR / 100, drift),
    ]


def _like(one: Noise, other: Noise) -> bool:
    return (one.within, one.odd) == (other.within, other.odd)


def _joined(tables: dict[str, str]) -> str:
    return "\n\n".join(f"**{title}**\n\n{text}" for title, text in tables.items())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--histories", type=int, default=2000, help="nights of each kind")
    add("--seed", type=int, default=1)
    for name, default, words in (
        ("--night", [0.5, 2.0, 4.0], "deviations from night to night"),
        ("--within", [1.0, 2.0, 3.0], "deviations of a run within a night"),
    ):
        add(name, type=float, nargs="+", metavar="PERCENT", default=default, help=words)
    for name, size, words in (
        ("--effect", 5.0, "the slow-down to be found"),
        ("--drift", 5.0, "of a session, from its start to its end"),
        ("--odd", 5.0, "share of turns that something came into"),
        ("--session", 0.5, "deviation from session to session"),
        ("--bias", 1.0, "deviation from night to night of one side alone"),
    ):
        add(name, type=float, metavar="PERCENT", default=size, help=words)
    add("--measured", type=Path, nargs="+", metavar="FILE", help="night.json of equal work")
    add("--markdown", type=Path, metavar="PAGE", help="put the tables into this page")
    return parser


if __name__ == "__main__":
    main()
