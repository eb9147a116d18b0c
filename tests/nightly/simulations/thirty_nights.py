"""A month of nights on this machine, and a slowdown in one of them.

python tests/nightly/simulations/thirty_nights.py
python tests/nightly/simulations/thirty_nights.py --nights 30 --slow-on 20 --slow 0.1 --output DIR

A repository of its own holds a plan and one workload, and its first commit is the pinned
reference. Every night is measured for real, as by `tracekit nightly run`, in turns against that
commit; only the dates are made up, a day apart. On the night of the slowdown a commit makes the
workload do more; after it has been found, that night is accepted as what to expect, as a person
would do it.

It is right if that night alone is a regression, and if the change is dated to it. Inconclusive
nights are counted and told with their reasons: they are no alarm. The trend page is in the folder.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from month.repository import CAPTURE, Planned, begin, commit
from tracekit.base.units import percent
from tracekit.nightly.history.night import Judged, Night, Outcome
from tracekit.nightly.history.steps import steps_of
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.history.trend_changes import LevelStep
from tracekit.nightly.plan.reading import read_plan
from tracekit.nightly.run import run_night

METRIC = "step_p50"
_FIRST = datetime(2026, 10, 1, 2, 30, tzinfo=UTC)


@dataclass(frozen=True)
class Month:
    """How many nights, which of them is slower from then on, by how much, and how each is done."""

    nights: int
    slow_on: int
    slow: float
    each: Planned


@dataclass(frozen=True)
class Ended:
    """A month: its nights in order, and where a change of the metric was dated."""

    nights: tuple[Night, ...]
    steps: tuple[LevelStep, ...]

    @property
    def alarms(self) -> tuple[int, ...]:
        """The nights, from 1, that were called a regression."""
        return self._of(Outcome.REGRESSION)

    @property
    def undecided(self) -> tuple[int, ...]:
        """The nights that were inconclusive."""
        return self._of(Outcome.INCONCLUSIVE)

    @property
    def failed(self) -> tuple[int, ...]:
        """The nights that failed."""
        return self._of(Outcome.FAILED)

    @property
    def dated(self) -> tuple[int, ...]:
        """The nights, from 1, from which on the metric was found changed."""
        return tuple(step.index + 1 for step in self.steps)

    def _of(self, outcome: Outcome) -> tuple[int, ...]:
        return tuple(n for n, one in enumerate(self.nights, 1) if one.outcome is outcome)

    def right(self, month: Month) -> bool:
        """Whether the slowdown, and nothing else, was found and dated."""
        found = self.alarms == (month.slow_on,) and not self.failed
        return (
            found and all(abs(one - month.slow_on) <= 1 for one in self.dated) and self.dated != ()
        )


def main(arguments: Sequence[str] | None = None) -> None:
    """Live through the month, print a line for each night, and say whether it was right."""
    chosen = _parser().parse_args(arguments)
    month = Month(
        chosen.nights,
        chosen.slow_on,
        chosen.slow,
        Planned(chosen.pairs, chosen.turn, chosen.traced, chosen.rounds),
    )
    with _place(chosen.output) as folder:
        ended = lived(month, folder, _told)
        print(summary(month, ended))
    sys.exit(0 if ended.right(month) else 1)


def lived(month: Month, folder: Path, tell: Callable[[int, Night, float], None]) -> Ended:
    """Live through a month in a new folder; `tell` hears of each night and the seconds it took."""
    begin(folder, month.each)
    nights: list[Night] = []
    for number in range(1, month.nights + 1):
        if number == month.slow_on:
            commit(folder, round(month.each.rounds * (1 + month.slow)), "Do more")
        begun = _FIRST + timedelta(days=number - 1)
        started = time.monotonic()
        night = run_night(read_plan(folder / "tracekit.toml"), clock=_clock(begun))
        nights.append(night)
        tell(number, night, time.monotonic() - started)
        if night.outcome is Outcome.REGRESSION:
            _accept(folder, night, begun)
    with Store.connect(f"sqlite:///{folder / 'nights' / 'history.db'}") as store:
        found = store.series(metric=METRIC)
    return Ended(tuple(nights), tuple(step for one in found for step in steps_of(one)))


def summary(month: Month, ended: Ended) -> str:
    """Say what the month was, and what was found."""
    words = "as it should be" if ended.right(month) else "NOT as it should be"
    return (
        f"{len(ended.nights)} nights, {percent(month.slow)} more work from night {month.slow_on} "
        "on: "
        f"regressions in {_named(ended.alarms)}, changes dated to {_named(ended.dated)}, "
        f"inconclusive {_named(ended.undecided)}, failed {_named(ended.failed)}: {words}."
    )


def _named(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"


def _told(number: int, night: Night, seconds: float) -> None:
    judged = _judged(night)
    changes = [f"{one.change:+.3f} ({one.low:+.3f} … {one.high:+.3f})" for one in judged]
    pairs = sum(1 for entry in night.entries for pair in entry.pairs if not pair.traced)
    print(
        f"{number:3} {night.outcome!s:12} {pairs:3} pairs {seconds:5.0f} s {' '.join(changes)}",
        flush=True,
    )
    if night.outcome is not Outcome.OK:
        print(f"    {night.reason}", flush=True)


def _judged(night: Night) -> list[Judged]:
    found = [one for entry in night.entries for one in entry.judged if one.metric == METRIC]
    return [one for one in found if None not in {one.change, one.low, one.high}]


def _accept(folder: Path, night: Night, at: datetime) -> None:
    with Store.connect(f"sqlite:///{folder / 'nights' / 'history.db'}") as store:
        store.accept(
            night.id, [CAPTURE], reason="more work, on purpose", decision_time=at.isoformat()
        )


def _clock(begun: datetime) -> Callable[[], datetime]:
    """Return a clock that says `begun` now, and runs on."""
    zero = time.monotonic()
    return lambda: begun + timedelta(seconds=time.monotonic() - zero)


@contextmanager
def _place(output: Path | None) -> Generator[Path]:
    if output is not None:
        yield output
        return
    with tempfile.TemporaryDirectory(prefix="tracekit-month-") as folder:
        yield Path(folder) / "month"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="A month of nights, and a slowdown in one of them."
    )
    parser.add_argument("--nights", type=int, default=30)
    parser.add_argument("--slow-on", type=int, default=20, help="night from which on it is slower")
    parser.add_argument("--slow", type=float, default=0.10, help="how much more work that is")
    parser.add_argument("--pairs", type=int, default=10)
    parser.add_argument("--turn", type=float, default=0.15, help="seconds of a turn")
    parser.add_argument("--traced", type=int, default=1, help="traced captures of each side")
    parser.add_argument("--rounds", type=int, default=400, help="how much a step does")
    parser.add_argument("--output", type=Path, help="a new folder that keeps all of it")
    return parser


if __name__ == "__main__":
    main()
