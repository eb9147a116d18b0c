"""Count what nights find, and how often they cry wolf, for each kind of reference.

python tests/nightly/simulations/drift_simulation.py
python tests/nightly/simulations/drift_simulation.py --histories 100 --found 400 --within 1 2 3
python tests/nightly/simulations/drift_simulation.py --markdown docs/reference/gate-measured.md

Nights are made as by `gate_simulation.py` and judged by tracekit's own gate, second sessions,
levels of earlier nights and anchors included. *Fixed* is a commit that stays; a *branch point* is
the commit that was measured before a branch of ten nights began; *moving* is the night before.
Equal nights come twice: on a machine whose nights differ by 2 %, and on one whose nights differ by
30 %, which is the machine's change alone.
"""

import argparse
import itertools
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from gate_simulation import inserted
from nights.noise import METRIC, Noise, pairs, tonight
from nights.rates import Rate, table
from tracekit.nightly.gate.anchors import anchors_due
from tracekit.nightly.gate.drift import with_drift
from tracekit.nightly.gate.judge import judge_entry, needs_second_session, outcome_of
from tracekit.nightly.history.documents import measured_of
from tracekit.nightly.history.night import Described, Entry, Night, Outcome, ReferenceKind
from tracekit.nightly.history.steps import Point, Series
from tracekit.nightly.plan.plan import Capture, Gated, Reference

BEGIN = "<!-- written by tests/nightly/simulations/drift_simulation.py -->"
END = "<!-- end of drift -->"
KINDS: tuple[ReferenceKind, ...] = ("fixed", "branch point", "moving")
_BRANCH = 10  # nights of a branch
_SHOWN = (2, 3, 4, 5, 6, 8)  # nights within which drift is found
_STEPS = (0.02, 0.03, 0.04, 0.05, 0.07)
_BEFORE = 5  # equal nights before a step
_CAPTURE = Capture(
    "decode", "paged", reference=Reference(revision="HEAD~1"), metrics=(Gated(METRIC),)
)


@dataclass
class History:
    """A history that grows: the cost of each commit, and the points of its two series."""

    kind: ReferenceKind
    noise: Noise
    random: np.random.Generator
    costs: list[float]
    points: dict[str, list[Point]]

    @classmethod
    def begun(cls, kind: ReferenceKind, noise: Noise, seed: int) -> "History":
        """Begin with one commit that no night has measured."""
        return cls(kind, noise, np.random.default_rng(seed), [1.0], {})

    def night(self, cost: float) -> bool:
        """Let a night run whose commit costs so much; tell whether it is a regression."""
        self.costs.append(cost)
        number = len(self.costs) - 1
        back = {"fixed": number, "branch point": (number - 1) % _BRANCH + 1, "moving": 1}
        night = Night(f"n{number:04d}", "made", "made", f"{number:04d}")
        night = replace(night, entries=(self._entry(_CAPTURE, number - back[self.kind]),))
        earlier = [
            Series("made", "made", name, "w", METRIC, "ns", "lower", points=tuple(points))
            for name, points in self.points.items()
        ]
        for due in anchors_due(night, [_CAPTURE] * (self.kind == "moving"), earlier, {}):
            assert due.reference is not None
            own = self._entry(due, int(due.reference.revision.removeprefix("c")))
            night = replace(night, entries=(*night.entries, own))
        for entry in night.entries:
            self.points.setdefault(entry.capture, []).append(_point(night, entry))
        ended = with_drift(night, earlier, {}, {})
        return any(one.outcome is Outcome.REGRESSION for one in ended.entries)

    def _entry(self, capture: Capture, reference: int) -> Entry:
        """Measure the last commit against an earlier one, in a second session where needed."""
        effect = tonight(self.noise, self.costs[-1] / self.costs[reference] - 1, self.random)
        last = Described("paged", commit=f"c{len(self.costs) - 1}")
        kind = self.kind if capture is _CAPTURE else "anchor"
        entry = Entry(capture.name, "w", last, replace(last, commit=f"c{reference}"))
        entry = replace(entry, reference_kind=kind)
        for session in (1, 2):
            more = pairs(self.noise, effect, capture.pairs, session, self.random)
            entry = replace(entry, pairs=(*entry.pairs, *more))
            entry = replace(entry, judged=judge_entry(capture, entry.pairs, {}, None))
            if not needs_second_session(entry.judged, (), ()):
                break
        outcome, reason = outcome_of(entry)
        return replace(entry, outcome=outcome, reason=reason)


def _point(night: Night, entry: Entry) -> Point:
    found = measured_of(entry.pairs, entry.judged[0])
    assert entry.reference is not None
    return Point(
        night.id,
        night.started,
        entry.judged[0].candidate,
        change=found["measured"],
        low=found["measured_low"],
        high=found["measured_high"],
        commit=entry.candidate.commit,
        reference_commit=entry.reference.commit,
    )


def alarms(kind: ReferenceKind, noise: Noise, histories: int, nights: int, seed: int) -> Rate:
    """Count equal nights that are called a regression; each history is the same commit's cost."""
    hits = 0
    for at in range(histories):
        history = History.begun(kind, noise, seed + at)
        hits += sum(history.night(1.0) for _ in range(nights))
    return Rate(hits, histories * nights)


def drift(kind: ReferenceKind, noise: Noise, histories: int, seed: int) -> list[Rate]:
    """Count histories in which +1 % a night is found within so many nights."""
    found: list[int] = []
    for at in range(histories):
        history = History.begun(kind, noise, seed + at)
        costs = (1.01**night for night in range(1, max(_SHOWN) + 1))
        nights = (place for place, cost in enumerate(costs, 1) if history.night(cost))
        found.append(next(nights, sys.maxsize))
    return [Rate(sum(one <= most for one in found), histories) for most in _SHOWN]


def steps(kind: ReferenceKind, noise: Noise, histories: int, seed: int) -> list[Rate]:
    """Count histories in which a step of each size is found in the night in which it comes."""
    found = [0] * len(_STEPS)
    for at, (place, size) in itertools.product(range(histories), enumerate(_STEPS)):
        history = History.begun(kind, noise, seed + at)
        for _ in range(_BEFORE):
            history.night(1.0)
        found[place] += history.night(1.0 + size)
    return [Rate(one, histories) for one in found]


def main(arguments: Sequence[str] | None = None) -> None:
    """Make nights, and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--histories", type=int, default=60, help="of equal nights")
    parser.add_argument("--nights", type=int, default=50, help="of each of these")
    parser.add_argument("--found", type=int, default=400, help="histories of a drift, of a step")
    parser.add_argument("--within", type=float, nargs="+", default=[1.0, 2.0], metavar="PERCENT")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--markdown", type=Path, metavar="PAGE", help="put the tables into it")
    chosen = parser.parse_args(arguments)
    began = time.monotonic()
    page = "\n\n".join(_tables(chosen))
    print(page)
    print(f"\n{time.monotonic() - began:.0f} s", file=sys.stderr)
    if chosen.markdown:
        file: Path = chosen.markdown
        file.write_text(inserted(file.read_text(), page, (BEGIN, END)))


def _tables(chosen: argparse.Namespace) -> list[str]:
    equal: list[list[str]] = []
    curves: list[list[str]] = []
    powers: list[list[str]] = []
    for within, kind in itertools.product(chosen.within, KINDS):
        usual = Noise("", 0.02, within / 100)
        name, effort = f"{kind}, {within:g} %", (chosen.histories, chosen.nights, chosen.seed)
        machine = replace(usual, night=0.3)
        rates = [alarms(kind, noise, *effort) for noise in (usual, machine)]
        equal.append([name, *(rate.whole for rate in rates)])
        found = (kind, usual, chosen.found, chosen.seed)
        curves.append([name, *(rate.words for rate in drift(*found))])
        powers.append([name, *(rate.words for rate in steps(*found))])
        print(equal[-1], curves[-1], powers[-1], file=sys.stderr, flush=True)
    head = "reference, runs of a night"
    return [
        "**Regressions in 100 equal nights**\n\n"
        + table([head, "usual machine", "nights differ by 30 %"], equal),
        "**+1 % a night, found within so many nights, %**\n\n"
        + table([head, *map(str, _SHOWN)], curves),
        "**One step, found in the night in which it comes, %**\n\n"
        + table([head, *(f"+{step:.0%}" for step in _STEPS)], powers),
    ]


if __name__ == "__main__":
    main()
