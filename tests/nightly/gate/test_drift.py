"""Changes in small parts: chained through the commits of nights."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some

from tracekit.nightly.gate.drift import Link, drift_of, with_drift
from tracekit.nightly.history.night import Accepted, Described, Entry, Judged, Night, Outcome

STEP = Judged("step_p50", "ns", "lower", threshold=0.03, outcome=Outcome.OK)


def links(changes: Sequence[float], deviation: float = 0.003) -> list[Link]:
    """Make nights of which each compares a commit with the one before it."""
    return [
        Link(f"2026-11-{at + 1:02d}", f"c{at}", f"c{at + 1}", math.log1p(change), deviation)
        for at, change in enumerate(changes)
    ]


def entry(reference: str, candidate: str, change: float, outcome: Outcome = Outcome.OK) -> Entry:
    judged = replace(
        STEP, change=change, low=change - 0.006, high=change + 0.006, outcome=outcome, reason="So."
    )
    sides = (Described("paged", commit=one) for one in (candidate, reference))
    return Entry("decode", "d1", *sides, judged=(judged,), outcome=outcome, reason="well")


def night(at: int, change: float) -> Night:
    own = entry(f"c{at}", f"c{at + 1}", change)
    return Night(f"n{at}", "plan", "mini", f"2026-11-{at + 1:02d}T02:00:00", entries=(own,))


def test_small_losses_add_up_to_a_regression() -> None:
    found = drift_of(links([0.0, 0.02, 0.02, 0.02]), STEP)
    assert found is not None
    assert found.change == pytest.approx(1.02**3 - 1)
    assert (found.nights, found.since, found.first, found.last) == (3, "2026-11-02", "c1", "c4")
    assert 0 < found.low < found.change < found.high


def test_a_rate_becomes_worse_downwards() -> None:
    rate = replace(STEP, metric="tokens_per_second", unit="tokens/s", better="higher")
    assert drift_of(links([0.02] * 4), rate) is None
    assert drift_of(links([-0.02] * 4), rate) is not None
    assert drift_of(links([-0.02] * 4), STEP) is None


@pytest.mark.parametrize(
    ("changes", "deviation"),
    [
        ([0.05], 0.001),  # one night is judged by its own pairs
        ([0.01, 0.01], 0.001),  # below the threshold together
        ([0.02, 0.02], 0.02),  # no more than its own uncertainty
        ([0.02, -0.02] * 4, 0.003),  # what was lost was won again
        ([0.0] * 8, 0.003),
    ],
)
def test_what_is_no_drift(changes: Sequence[float], deviation: float) -> None:
    assert drift_of(links(changes, deviation), STEP) is None


def test_nights_that_differ_more_than_their_pairs_show_are_less_certain() -> None:
    scattered = [0.06, -0.05, 0.07, -0.04, 0.06, -0.05]
    assert sum(scattered) > 0.03
    assert drift_of(links(scattered, 0.001), STEP) is None


def test_a_chain_ends_where_no_night_measured_the_reference() -> None:
    whole = links([0.02] * 5)
    assert drift_of([*whole[:2], *whole[4:]], STEP) is None
    found = drift_of([whole[0], *whole[2:]], STEP)
    assert found is not None
    assert found.first == "c2"


@given(some.permutations(range(5)))
def test_only_commits_make_the_chain(order: list[int]) -> None:
    earlier, last = links([0.02] * 6)[:5], links([0.02] * 6)[5]
    shuffled = [earlier[at] for at in order]
    assert drift_of([*shuffled, last], STEP) == drift_of([*earlier, last], STEP)


def test_a_circle_of_commits_ends() -> None:
    back = Link("2026-11-03", "c2", "c0", 0.02, 0.001)
    assert drift_of([*links([0.02, 0.02], 0.001), back], STEP) is not None


def test_a_night_that_ends_a_drift_is_a_regression() -> None:
    earlier = [night(at, 0.02) for at in range(3)]
    ended = with_drift(entry("c3", "c4", 0.02), earlier)
    assert ended.outcome is Outcome.REGRESSION
    (judged,) = ended.judged
    assert judged.outcome is Outcome.REGRESSION
    assert judged.change == 0.02, "tonight's own change stays"
    assert judged.reason == (
        "So. Over the last 4 nights, since 2026-11-01, the changes add up to +8.2 % "
        "[+7.0 % … +9.5 %] in c0..c4: worse, beyond the threshold of 3.0 %. "
        "To find the commit: `git bisect start c4 c0 && git bisect run tracekit ab paged@c0 -- "
        "--metric step_p50 --threshold 0.041 --bisect`."
    )
    assert ended.reason == f"step_p50: {judged.reason}"


def test_a_chain_begins_behind_what_was_accepted() -> None:
    earlier = [night(at, 0.02) for at in range(4)]
    accepted = Accepted("n3", "decode", "d1", "", "it was meant")
    assert with_drift(entry("c4", "c5", 0.0), earlier, accepted).outcome is Outcome.OK
    assert with_drift(entry("c4", "c5", 0.0), earlier).outcome is Outcome.REGRESSION


@pytest.mark.parametrize("outcome", [Outcome.REGRESSION, Outcome.FAILED])
def test_what_ended_otherwise_stays(outcome: Outcome) -> None:
    earlier = [night(at, 0.02) for at in range(3)]
    own = entry("c3", "c4", 0.02, outcome)
    assert with_drift(own, earlier) is own


def test_nights_of_other_work_are_no_links() -> None:
    earlier = [replace(night(at, 0.02), entries=()) for at in range(3)]
    own = entry("c3", "c4", 0.02)
    assert with_drift(own, earlier) is own
    other = replace(own, work="d2")
    assert with_drift(other, [night(at, 0.02) for at in range(3)]) is other
