"""What nights add up to, since when, and the anchor of a reference that moves."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from gate_pairs import made
from tracekit.nightly.gate.drift import Past, anchors_due, beginning_of, drift_of, with_drift
from tracekit.nightly.history.night import (
    Accepted,
    Described,
    Entry,
    Judged,
    Night,
    Outcome,
    ReferenceKind,
)
from tracekit.nightly.history.steps import Point, Series
from tracekit.nightly.plan.plan import Capture, Gated, Reference

STEP = Judged("step_p50", "ns", "lower", threshold=0.03, outcome=Outcome.OK, reason="So.")
HALF = 0.006
DAYS = [f"2026-{9 + at // 30:02d}-{at % 30 + 1:02d}T02:30:00" for at in range(90)]


def past(
    changes: Sequence[float], *, moving: bool = True, half: float = HALF, better: str = "lower"
) -> Past:
    """Make nights against the commit of the night before, or all against the same."""
    points = [
        Point(
            f"n{at}", DAYS[at], 1.0, 1.0, change, change - half, change + half,
            commit=f"c{at + 1}", reference_commit=f"c{at}" if moving else "base",
        )
        for at, change in enumerate(changes)
    ]  # fmt: skip
    way = "lower" if better == "lower" else "higher"
    return Past(Series("mini", "plan", "decode", "d1", "step_p50", "ns", way, points=tuple(points)))


def test_small_losses_add_up_to_a_regression() -> None:
    found = drift_of(past([0.0, 0.0, 0.02, 0.02, 0.02]))
    assert found is not None
    assert found.change == pytest.approx(1.02**3 - 1)
    assert (found.nights, found.first, found.last) == (5, "c0", "c5")
    assert 0 < found.low < found.change < found.high


def test_a_rate_becomes_worse_downwards() -> None:
    assert drift_of(past([0.02] * 4, better="higher")) is None
    assert drift_of(past([-0.02] * 4, better="higher")) is not None
    assert drift_of(past([-0.02] * 4)) is None


@pytest.mark.parametrize(
    ("changes", "half"),
    [
        ([0.05], 0.002),  # one night is judged by its own pairs
        ([0.01, 0.01], 0.002),  # below the threshold together
        ([0.02, 0.02], 0.04),  # no more than its own uncertainty
        ([0.02, -0.02] * 4, 0.006),  # what was lost was won again
        ([0.0] * 8, 0.006),
        ([0.06, -0.05, 0.07, -0.04, 0.06, -0.05], 0.002),  # nights differ more than pairs show
    ],
)
def test_what_is_no_drift(changes: Sequence[float], half: float) -> None:
    assert drift_of(past(changes, half=half)) is None


def test_a_threshold_is_reached_by_exactly_so_much() -> None:
    whole = past([0.01, 0.02], half=0.0001)
    exact = 1.01 * 1.02 - 1
    assert drift_of(replace(whole, series=replace(whole.series, threshold=exact - 1e-9)))
    assert drift_of(replace(whole, series=replace(whole.series, threshold=exact + 1e-9))) is None


def test_what_was_better_in_between_is_what_is_compared_with() -> None:
    """Against a commit that stays the night is fine, and yet 6 % of what was won is lost."""
    won = [0.0] * 4 + [-0.08] * 5 + [-0.02, -0.02]
    found = drift_of(past(won, moving=False))
    assert found is not None
    assert found.change == pytest.approx(0.98 / 0.92 - 1)
    assert (found.nights, found.first, found.last) == (2, "c9", "c11")
    assert drift_of(past(won[:-1], moving=False)) is None, "one night alone may be odd"
    assert drift_of(past([*won[:-2], -0.02, -0.08], moving=False)) is None


def test_an_anchor_that_shows_no_change_ends_an_alarm() -> None:
    lost = past([0.012] * 4)
    assert drift_of(lost) is not None
    equal = replace(lost.series.points[-1], reference_commit="c0", change=0.0, low=-HALF, high=HALF)
    assert drift_of(replace(lost, anchors=(equal,))) is None


def test_since_when_a_step_is_there() -> None:
    for changes, moving in (([0.0] * 5 + [0.05, 0.0], True), ([0.0] * 5 + [0.05] * 2, False)):
        found = beginning_of(past(changes, moving=moving))
        assert found is not None
        assert (found.nights, found.since, found.first, found.last) == (2, DAYS[5], "c5", "c7")
        assert found.change == pytest.approx(0.05)
    assert beginning_of(past([-0.05])) is None
    first = beginning_of(past([0.05], moving=False))
    assert first is not None
    assert (first.nights, first.first, first.last) == (1, "base", "c1")


def entry(
    commits: tuple[str, str],
    change: float,
    outcome: Outcome = Outcome.OK,
    kind: ReferenceKind = "moving",
    capture: str = "decode",
) -> Entry:
    reference, candidate = (Described("paged", commit=value) for value in commits)
    pairs = made([math.log1p(change) + 0.001 * value for value in (-3, -2, -1, 0, 0, 1, 2, 3)])
    judged = replace(STEP, change=change, outcome=outcome)
    return Entry(
        capture, "d1", candidate, reference, tuple(pairs), (judged,), outcome=outcome,
        reason="well", reference_kind=kind,
    )  # fmt: skip


LAST = entry(("c3", "c4"), 0.02)


def night(at: int, *entries: Entry) -> Night:
    return Night(f"n{at}", "plan", "mini", DAYS[at], entries=entries)


def judged_of(
    changes: Sequence[float],
    last: Entry,
    accepted: dict[str, Accepted] | None = None,
    workloads: Path | None = None,
) -> Entry:
    series = past(changes).series
    ended = with_drift(night(len(changes), last), [series], accepted or {}, {"decode": workloads})
    return ended.entries[0]


def test_a_night_that_ends_a_drift_is_a_regression() -> None:
    ended = judged_of([0.02] * 3, LAST)
    assert ended.outcome is Outcome.REGRESSION
    (judged,) = ended.judged
    assert judged.outcome is Outcome.REGRESSION
    assert judged.change == 0.02, "tonight's own change stays"
    assert judged.reason.startswith("So. Over the last 4 nights, since 2026-09-01, the changes add")
    assert " in c0..c4: worse, beyond the threshold of 3.0 %." in judged.reason
    assert judged.reason.endswith(
        "To find the commit: `git bisect start c4 c0 && git bisect run tracekit ab paged@c0 -- "
        "--metric step_p50 --threshold 0.041 --bisect`."
    )
    assert ended.reason == f"step_p50: {judged.reason}"
    own = replace(LAST, candidate=replace(LAST.candidate, parameters={"batch": 8, "kind": "a b"}))
    reason = judged_of([0.02] * 3, own, workloads=Path("own")).reason
    assert "paged@c0 batch=8 'kind=a b' -- batch=8 'kind=a b' --metric" in reason
    assert "--workloads own`" in reason


def test_a_regression_says_since_when_it_is_there() -> None:
    worse = entry(("c3", "c4"), 0.05, Outcome.REGRESSION)
    ended = judged_of([0.0] * 3, worse)
    assert "It came tonight, in c3..c4. To find the commit: `git bisect start" in ended.reason
    before = entry(("c4", "c5"), 0.0, Outcome.REGRESSION)
    assert "It came in the last 2 nights, since 2026-09-04, in c3..c5." in (
        judged_of([0.0] * 3 + [0.05], before).reason
    )


def test_a_chain_begins_behind_what_was_accepted() -> None:
    accepted = {"decode": Accepted("n3", "decode", "d1", "", "it was meant")}
    last = entry(("c4", "c5"), 0.0)
    changes = [0.0, 0.0, 0.0, 0.05]
    assert judged_of(changes, last).outcome is Outcome.REGRESSION
    assert judged_of(changes, last, accepted).outcome is Outcome.OK


def test_sixty_nights_are_looked_back() -> None:
    for equal, outcome in ((56, Outcome.REGRESSION), (70, Outcome.OK)):
        number = 3 + equal
        last = entry((f"c{number}", f"c{number + 1}"), 0.0)
        assert judged_of([0.05] * 3 + [0.0] * equal, last).outcome is outcome


@pytest.mark.parametrize(
    "last",
    [
        replace(LAST, outcome=Outcome.FAILED, judged=()),
        replace(LAST, judged=(replace(STEP, gated=False, outcome=None),)),
        replace(LAST, work="d2"),  # nights of other work are no links
        replace(LAST, reference=None),
    ],
)
def test_what_cannot_drift_stays_as_it_is(last: Entry) -> None:
    assert judged_of([0.02] * 3, last) == last


def test_no_search_among_files_that_are_in_no_commit() -> None:
    dirty = entry(("c3", "c4-dirty"), 0.02)
    assert "bisect" not in judged_of([0.02] * 3, dirty).reason
    assert judged_of([0.02] * 3, dirty).outcome is Outcome.REGRESSION


PLANNED = Capture(
    "decode", "paged", reference=Reference(previous_night=True, anchor_every=5), traced=2,
    metrics=(Gated("step_p50"), Gated("gpu_idle_ratio", gate=False)), parity="quick",
    checks=(("true",),), fail_on=("bubbles",),
)  # fmt: skip


def due(changes: Sequence[float], last: Entry, *anchors: Point, **accepted: Accepted) -> list[str]:
    own = past(changes)
    series = [own.series]
    if anchors:
        series += [replace(own.series, capture="decode-anchor", work="other", points=anchors)]
    found = [*anchors_due(night(len(changes), last), [PLANNED], series, accepted)]
    for value in found:
        assert (value.name, value.traced, value.checks, value.fail_on) == (
            "decode-anchor",
            0,
            (),
            (),
        )
        assert [metric.metric for metric in value.metrics] == ["step_p50"]
    return [value.reference.revision for value in found if value.reference]


def test_the_anchor_is_due_after_as_many_nights_as_planned() -> None:
    assert due([], entry(("c0", "c1"), 0.0)) == [], "the first night measures it anyway"
    assert due([0.0] * 3, entry(("c3", "c4"), 0.0)) == []
    assert due([0.0] * 4, entry(("c4", "c5"), 0.0)) == ["c0"]
    seen = Point("n4", DAYS[4], 1.0, 1.0, 0.0, -HALF, HALF, commit="c5", reference_commit="c0")
    assert due([0.0] * 8, entry(("c8", "c9"), 0.0), seen) == []
    assert due([0.0] * 9, entry(("c9", "c10"), 0.0), seen) == ["c0"]


def test_the_anchor_is_due_where_nights_have_lost_half_of_the_threshold() -> None:
    half = math.exp(math.log1p(0.03) / 2) - 1
    assert due([0.0], entry(("c1", "c2"), half + 1e-4)) == ["c0"]
    assert due([0.0], entry(("c1", "c2"), half - 1e-4)) == []
    assert due([0.0], entry(("c1", "c2"), -0.1)) == []


def test_the_anchor_is_the_night_that_was_accepted_last() -> None:
    accepted = Accepted("n1", "decode", "d1", "", "it was meant")
    assert due([0.0] * 7, entry(("c7", "c8"), 0.0), decode=accepted) == ["c2"]
