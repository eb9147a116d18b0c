"""What findings say that a lever wins, against a simulator that runs again with the lever pulled.

The simulator stands in tests/exam/schedules and knows nothing of the analysis. The same work is
handed over in another way: the same encoding, the same work of each command buffer, and the same
other processes. A saving is right within 30 %, or within a hundredth of the time; so is a range of
at most a factor of two that holds it. Where a recording does not decide whether a thread waited, a
wider range is right as well if it holds the truth.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysed import given
from schedules import levers
from schedules.machine import Commit, Doing, Spend, Wait
from schedules.programs import US, Log, Program, program
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.savings.estimate import Prospect, Savings

NEAR = 0.3
"""A saving may be off by so much of the true one,"""
SLIGHT = 0.01
"""or by so much of the time of the program."""
STATED = 0.05
"""Less than this part of the time no rule speaks of."""
WIDE = 2.0
RIGHT = 0.9
"""Of the programs for which a saving is stated."""
WAITS_AT_ONCE = ("waits for each", "several buffers", "writes ahead", "waits behind")
SEVERAL = {"devices in turns": 2}


def waits_of_an_iteration(log: Log) -> int:
    """Return how many waits come before a thread computes on its own."""
    stop = next(
        place
        for place, action in enumerate(log)
        if isinstance(action, Spend) and action.doing is Doing.COMPUTE
    )
    return sum(isinstance(action, Wait) for action in log[:stop])


def buffers_of_a_wait(log: Log) -> int:
    """Return how many command buffers come before the first wait."""
    stop = next(place for place, action in enumerate(log) if isinstance(action, Wait))
    return sum(isinstance(action, Commit) for action in log[:stop])


def mark_iterations(simulation: Program, waits: int) -> pd.DataFrame:
    """Return the signposts of a program that marks its iterations, of so many buffers each."""
    starts = np.array([buffer.creation_time for buffer in simulation.machine.buffers[::waits]])
    ends = np.append(starts[1:], simulation.machine.buffers[-1].reported)
    return pd.DataFrame(
        {
            "start": starts,
            "duration": pd.array(ends - starts, "Int64"),
            "subsystem": "app",
            "category": "loop",
            "name": "iteration",
            "target": True,
        }
    )


@dataclass(frozen=True)
class Pulled:
    """A program, what is stated of a lever, and the share of its time that the lever truly wins."""

    simulation: Program
    prospect: Prospect
    load: int
    decided: bool
    true: float

    @property
    def is_stated(self) -> bool:
        return self.prospect.saving > STATED * self.load

    @property
    def is_right(self) -> bool:
        saving, minimum, maximum = (
            time / self.load
            for time in (
                self.prospect.saving,
                self.prospect.least_saving,
                self.prospect.most_saving,
            )
        )
        near = abs(saving - self.true) <= max(NEAR * self.true, SLIGHT)
        is_inside = minimum - SLIGHT <= self.true <= maximum + SLIGHT
        return near or (is_inside and (maximum <= WIDE * minimum or not self.decided))

    def __str__(self) -> str:
        shares = (time / self.load for time in (self.prospect.saving, self.prospect.most_saving))
        shares_text = " to ".join(f"{share:.3f}" for share in shares)
        return (
            f"{sorted(self.simulation.conditions)}, {self.simulation.recorded}: {shares_text} for "
            f"{self.true:.3f}"
        )


def keep_as_stated(prospect: Prospect) -> levers.Change:
    """Keep as many in flight as the finding says."""
    return levers.in_flight(prospect.number - 1)


Pull = Callable[[str, int], Pulled | None]


def keep_actions(_: Prospect) -> levers.Change:
    """Let threads do what they did."""
    return list


def pull_lever(
    simulation: Program,
    lever: str,
    change: Callable[[Prospect], levers.Change] = keep_actions,
    **more: object,
) -> Pulled | None:
    """Compare what is stated with a program that ran again; None where nothing is known.

    `change` is what the stated lever makes of the threads; beside it are tables, and the pace.
    """
    tables: dict[str, Any] = dict(simulation.tables)
    tables |= {name: frame for name, frame in more.items() if isinstance(frame, pd.DataFrame)}
    pace = {name: time for name, time in more.items() if isinstance(time, int)}
    try:
        savings: Savings = given(**tables)["savings"]
    except Unavailable:
        return None
    prospect = getattr(savings, lever)
    readings = savings.readings
    true = levers.share_won(simulation, change(prospect), **pace)
    return Pulled(simulation, prospect, readings.load, readings.decided, true)


def in_flight(kind: str, seed: int) -> Pulled | None:
    return pull_lever(program(kind, seed), "in_flight", keep_as_stated)


def batch(kind: str, seed: int) -> Pulled | None:
    simulation = program(kind, seed)
    buffers = buffers_of_a_wait(simulation.logs[0])
    return pull_lever(simulation, "batch", lambda prospect: levers.batch(prospect.number * buffers))


def one_wait(kind: str, seed: int) -> Pulled | None:
    simulation = program(kind, seed)
    waits = SEVERAL.get(kind) or waits_of_an_iteration(simulation.logs[0])
    marks = mark_iterations(simulation, waits)
    return pull_lever(
        simulation, "one_wait", lambda _: levers.one_wait(waits), signpost_intervals=marks
    )


def boundaries(kind: str, seed: int) -> Pulled | None:
    gap = int(np.random.default_rng(seed).integers(20, 70))  # what takes over 100 µs is late
    return pull_lever(program(kind, seed, switch=gap * US), "boundaries", switch=1)


def encoders(kind: str, seed: int) -> Pulled | None:
    part_pause = int(np.random.default_rng(seed).integers(10, 100))
    return pull_lever(
        program(kind, seed, part_pause=part_pause * US), "encoders", lambda _: levers.without_pauses
    )


def late_starts(kind: str, seed: int) -> Pulled | None:
    late = int(np.random.default_rng(seed).integers(200, 3_000))
    return pull_lever(program(kind, seed, late=late * US), "late_starts", late=0)


def host(kind: str, seed: int) -> Pulled | None:
    return pull_lever(program(kind, seed), "host", lambda _: levers.host(0.5))


CASES: dict[Pull, tuple[str, ...]] = {
    in_flight: (*WAITS_AT_ONCE, "spins"),
    batch: ("waits for each", "several buffers", "spins"),
    one_wait: ("several waits", "devices in turns"),
    boundaries: ("never waits", "several buffers", "waits behind"),
    encoders: ("never waits", "several buffers", "waits for each"),
    late_starts: ("never waits", "waits for each", "waits behind"),
    host: ("never waits", "computes long", "several buffers"),
}
FEW = 2
"""Seeds of each kind in the default tests."""
MANY = 360
"""Programs of each lever in the campaign."""


@cache
def find_stated_savings(pull: Pull, number: int) -> tuple[Pulled, ...]:
    """Return the programs for which a saving is stated, of so many a kind."""
    attempts = (pull(kind, seed) for kind in CASES[pull] for seed in range(number))
    return tuple(attempt for attempt in attempts if attempt is not None and attempt.is_stated)


@pytest.mark.parametrize("pull", CASES, ids=lambda pull: pull.__name__)
def test_a_stated_saving_is_true_of_few_programs(pull: Pull) -> None:
    stated_savings = find_stated_savings(pull, FEW)
    wrong = [str(saving) for saving in stated_savings if not saving.is_right]
    assert stated_savings
    assert len(wrong) <= 1, wrong


@pytest.mark.campaign
@pytest.mark.parametrize("pull", CASES, ids=lambda pull: pull.__name__)
def test_a_stated_saving_is_true_of_nine_in_ten_programs(pull: Pull) -> None:
    stated_savings = find_stated_savings(pull, MANY // len(CASES[pull]))
    wrong = [str(saving) for saving in stated_savings if not saving.is_right]
    print(f"{pull.__name__}: {len(stated_savings) - len(wrong)} of {len(stated_savings)}")  # noqa: T201  for `-s`
    assert len(wrong) <= (1 - RIGHT) * len(stated_savings), wrong


def test_where_each_needs_the_last_ones_result_one_more_in_flight_may_win_nothing() -> None:
    """No trace tells whether it does: the least is nothing, a batch wins all the same."""
    simulation = program("waits for each", 1)
    in_flight_pull = pull_lever(simulation, "in_flight")
    batched = pull_lever(simulation, "batch")
    assert in_flight_pull is not None
    assert batched is not None
    assert (in_flight_pull.prospect.least_saving, in_flight_pull.true) == (
        0,
        pytest.approx(0, abs=SLIGHT),
    )
    assert batched.prospect.least_saving > 0
