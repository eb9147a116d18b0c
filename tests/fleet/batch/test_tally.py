"""How far a batch is."""

import time
from dataclasses import replace

import pytest

from tracekit.fleet.batch.batch import Tally
from tracekit.fleet.batch.results import BatchRow

GOOD = BatchRow("a", "a", "a", "", "run", "ok")
BAD = BatchRow("b", "b", "b", "", "run", "failed", error="No.", hint="Do.")


def test_nothing_is_said_of_a_pace_that_is_not_known() -> None:
    tally = Tally(1_200, kept=1_000, failed_before=1)
    assert tally.words() == "1,001 of 1,200 · 1 failed"


@pytest.mark.parametrize(
    ("passed", "words"),
    [
        (1.0, "7 of 15 · 2 failed · 4 per s · 2 s left"),
        (80.0, "7 of 15 · 2 failed · 20 s each · 3 min left"),
    ],
)
def test_the_pace_says_how_long_it_will_take(
    passed: float, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tally = Tally(15, kept=2, failed_before=1, began=100.0)
    for rows in ((GOOD,), (GOOD, GOOD), (BAD,), (GOOD,)):
        tally.add(rows)
    monkeypatch.setattr(time, "monotonic", lambda: 100.0 + passed)
    assert tally.words() == words


def test_only_the_first_failures_are_kept() -> None:
    tally = Tally(100)
    for number in range(50):
        tally.add((replace(BAD, recording=f"b{number}"),))
    assert tally.failures == [(f"b{number}", "No.", "Do.") for number in range(10)]
    assert (tally.failed, tally.all_failed, tally.done) == (50, 50, 0)
