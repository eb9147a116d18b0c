"""What nights add up to, since when, and the anchor of a reference that moves."""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gate_night import make_pairs
from tracekit.nightly.gate.anchors import anchors_due
from tracekit.nightly.gate.drift import beginning_of, drift_of, with_drift
from tracekit.nightly.gate.past import Past
from tracekit.nightly.history.night import Accepted, Described, Entry, Judged, Night, Outcome
from tracekit.nightly.history.steps import Point, Series
from tracekit.nightly.plan.plan import Capture, Gated, Reference

STEP = Judged("step_p50", "ns", "lower", threshold=0.03, outcome=Outcome.OK, reason="So.")
HALF = 0.006
DAYS = [f"2026-{9 + day // 30:02d}-{day % 30 + 1:02d}T02:30:00" for day in range(90)]


def past(
    changes: Sequence[float], *anchors: Point, moving: bool = True, half: float = HALF, **facts: Any
) -> Past:
    """Make nights against the commit of the night before, or all against the same."""
    points = [
        Point(
            f"n{index}", DAYS[index], 1.0, 1.0, change, change - half, change + half,
            commit=f"c{index + 1}", reference_commit=f"c{index}" if moving else "base",
        )
        for index, change in enumerate(changes)
    ]  # fmt: skip
    default_series = Series(
        "mini", "plan", "decode", "d1", "step_p50", "ns", "lower", points=tuple(points)
    )
    return Past(replace(default_series, **facts), anchors)


SUM = 1.01 * 1.02 - 1
LOST = past([0.02] * 4).series
WON = [0.0] * 4 + [-0.08] * 5
EQUAL = Point("n4", DAYS[3], 1.0, 1.0, 0.0, -HALF, HALF, commit="c4", reference_commit="c0")


def test_sums_of_several_nights(subtests: pytest.Subtests) -> None:
    for history, expected_drift in (
        # Small losses add up, of a rate downwards.
        (past([0.0, 0.0, 0.02, 0.02, 0.02]), (1.02**3 - 1, 5, "c0", "c5")),
        (past([-0.02] * 4, better="higher"), (0.98**4 - 1, 4, "c0", "c4")),
        (past([0.02] * 4, better="higher"), None),
        (past([-0.02] * 4), None),
        (past([0.05], half=0.002), None),  # one night is judged by its own pairs
        (past([0.01, 0.01], half=0.002), None),  # below the threshold together
        (past([0.02, 0.02], half=0.04), None),  # no more than its own uncertainty
        (past([0.02, -0.02] * 4), None),  # what was lost was won again
        (past([0.0] * 8), None),
        # A night that was not measured has lost nothing.
        (Past(replace(LOST, points=(*LOST.points, Point("n4", DAYS[4], None)))), None),
        # Nights differ more than pairs show.
        (past([0.06, -0.05, 0.07, -0.04, 0.06, -0.05], half=0.002), None),
        # A threshold is reached by exactly so much.
        (past([0.01, 0.02], half=1e-4, threshold=SUM - 1e-9), (SUM, 2, "c0", "c2")),
        (past([0.01, 0.02], half=1e-4, threshold=SUM + 1e-9), None),
        # Against a commit that stays the night is fine, and yet 6 % of what was won is lost.
        (past([*WON, -0.02, -0.02], moving=False), (0.98 / 0.92 - 1, 2, "c9", "c11")),
        (past([*WON, -0.02], moving=False), None),  # one night alone may be odd
        (past([*WON, -0.02, -0.08], moving=False), None),
        # An anchor that shows no change ends an alarm.
        (past([0.012] * 4), (1.012**4 - 1, 4, "c0", "c4")),
        (past([0.012] * 4, EQUAL), None),
    ):
        with subtests.test(given=history):
            drift = drift_of(history)
            assert (drift is None) is (expected_drift is None)
            if drift is not None and expected_drift is not None:
                assert (drift.nights, drift.base_commit, drift.last_commit) == expected_drift[1:]
                assert drift.change == pytest.approx(expected_drift[0])
                assert drift.lower_bound < drift.change < drift.upper_bound
                assert drift.lower_bound * drift.upper_bound > 0, "the interval leaves out 0"


def test_since_when_a_step_is_there(subtests: pytest.Subtests) -> None:
    for changes, moving in (([0.0] * 5 + [0.05, 0.0], True), ([0.0] * 5 + [0.05] * 2, False)):
        with subtests.test(moving=moving):
            beginning = beginning_of(past(changes, moving=moving))
            assert beginning is not None
            assert (
                beginning.nights,
                beginning.since,
                beginning.base_commit,
                beginning.last_commit,
            ) == (2, DAYS[5], "c5", "c7")
            assert beginning.change == pytest.approx(0.05)
    assert beginning_of(past([-0.05])) is None
    first_beginning = beginning_of(past([0.05], moving=False))
    assert first_beginning is not None
    assert (first_beginning.nights, first_beginning.base_commit, first_beginning.last_commit) == (
        1,
        "base",
        "c1",
    )


def entry(
    night_number: int, change: float, outcome: Outcome = Outcome.OK, commit: str = ""
) -> Entry:
    """Make what a night measured against the commit of the night before."""
    candidate, reference = (
        Described("paged", commit=commit or f"c{night_number + 1}"),
        f"c{night_number}",
    )
    pairs = make_pairs(
        [math.log1p(change) + 0.001 * value for value in (-3, -2, -1, 0, 0, 1, 2, 3)]
    )
    judged = replace(STEP, change=change, outcome=outcome)
    return Entry(
        "decode", "d1", candidate, Described("paged", commit=reference), tuple(pairs), (judged,),
        outcome=outcome, reason="well", reference_kind="moving",
    )  # fmt: skip


def night(night_number: int, *entries: Entry) -> Night:
    return Night(f"n{night_number}", "plan", "mini", DAYS[night_number], entries=entries)


LAST, LOSSES = entry(3, 0.02), [0.02] * 3
INTERRUPTED = replace(LAST, outcome=Outcome.INCONCLUSIVE)
OWN = replace(LAST.candidate, parameters={"batch": 8, "kind": "a b"})
OFF = entry(4, 0.0, Outcome.REGRESSION)
ACCEPTED = Accepted("n3", "decode", "d1", "", "it was meant")
ENDINGS: dict[str, tuple[list[float], Entry, dict[str, Any]]] = {
    "losses that add up": (LOSSES, LAST, {}),
    "with parameters and workloads": (LOSSES, replace(LAST, candidate=OWN), {"own": Path("own")}),
    "of files that are in no commit": (LOSSES, entry(3, 0.02, commit="c4-dirty"), {}),
    "interrupted": (LOSSES, replace(INTERRUPTED, reason="Half. It was interrupted."), {}),
    "failed after it was judged": (LOSSES, replace(LAST, outcome=Outcome.FAILED), {}),
    "came tonight": ([0.0] * 3, entry(3, 0.05, Outcome.REGRESSION), {}),
    "came the night before": ([0.0] * 3 + [0.05], OFF, {"own": Path("own")}),
    "a night before has it": ([0.0, 0.0, 0.0, 0.05], entry(4, 0.0), {}),
    "that night was accepted": ([0.0, 0.0, 0.0, 0.05], entry(4, 0.0), {"accepted": ACCEPTED}),
    "60 nights are looked back": ([0.2] + [0.0] * 58, entry(59, 0.0), {}),
    "and no more": ([0.2] + [0.0] * 59, entry(60, 0.0), {}),
    "a drift goes on": ([0.0] * 3 + [0.02] * 8, entry(11, 0.02), {}),
    "a drift passes the limit": ([0.0] * 4 + [0.03] * 7, entry(11, 0.03, Outcome.REGRESSION), {}),
    "failed": (LOSSES, replace(LAST, outcome=Outcome.FAILED, judged=()), {}),
    "followed": (LOSSES, replace(LAST, judged=(replace(STEP, gated=False, outcome=None),)), {}),
    "nights of other work are no links": (LOSSES, replace(LAST, work="d2"), {}),
    "no reference": (LOSSES, replace(LAST, reference=None), {}),
}


def test_how_a_night_ends_by_those_before_it(golden: Callable[[str, str], None]) -> None:
    text = ""
    for name, (changes, last_entry, more) in ENDINGS.items():
        accepted = {"decode": more["accepted"]} if "accepted" in more else {}
        tonight, workloads = night(len(changes), last_entry), {"decode": more.get("own")}
        [judged_entry] = with_drift(tonight, [past(changes).series], accepted, workloads).entries
        outcome = "the same" if judged_entry == last_entry else judged_entry.outcome
        text += f"{name}: {outcome}: {judged_entry.reason}\n"
        text += "".join(
            f"    {judgement.outcome}, {judgement.change}: {judgement.reason}\n"
            for judgement in judged_entry.judged
        )
        text += f"    {judged_entry.search}\n" if judged_entry.search else ""
    golden("drift.txt", text)


@pytest.mark.parametrize("noise", [(0.0,) * 6, (0.0, 0.004, -0.003, 0.002, -0.002, 0.001)], ids=str)
def test_six_nights_that_drift_are_six_and_no_commit_is_searched(noise: tuple[float, ...]) -> None:
    changes = [1.023**night - 1 + odd for night, odd in enumerate(noise, 1)]
    last_entry = entry(5, changes[-1], Outcome.REGRESSION)
    last_entry = replace(
        last_entry, reference=Described("paged", commit="base"), reference_kind="fixed"
    )
    earlier_series = past(changes[:-1], moving=False).series
    [judged_entry] = with_drift(night(5, last_entry), [earlier_series], {}, {}).entries
    [judged] = judged_entry.judged
    assert " over the last 6 nights, since 2026-09-01, in base..c6: worse, " in judged.reason
    assert judged.reason.endswith("no single commit made it.")
    assert judged_entry.search == ""
    assert "It drifts by +2." in judged.reason
    assert "git bisect" not in judged.reason


BOTH = (
    replace(STEP, change=0.05, low=0.04, high=0.06, outcome=Outcome.REGRESSION),
    replace(STEP, metric="step_rate", better="higher", change=-0.05, outcome=Outcome.REGRESSION),
)


def test_metrics_that_are_worse_together_are_one_finding_with_one_range_and_one_search() -> None:
    last_entry = replace(entry(3, 0.05, Outcome.REGRESSION), judged=BOTH)
    [judged_entry] = with_drift(night(3, last_entry), [past([0.0] * 3).series], {}, {}).entries
    assert judged_entry.reason == "step_p50: So. It came tonight, in c3..c4. step_rate: So."
    assert judged_entry.search.startswith(
        "git bisect start c4 c3 && git bisect run tracekit bench ab paged@c3 "
    )
    assert [judgement.outcome for judgement in judged_entry.judged] == [Outcome.REGRESSION] * 2


def test_a_regression_of_a_capture_and_its_anchor_is_the_captures_alone() -> None:
    capture_entry = replace(entry(3, 0.05, Outcome.REGRESSION), judged=BOTH[:1])
    against = Described("paged", commit="c0", words="revision c0")
    anchor = replace(
        capture_entry, capture="decode-anchor", reference=against, reference_kind="anchor"
    )
    earlier_series = [past([0.0] * 3).series]
    first_entry, second = with_drift(
        night(3, capture_entry, anchor), earlier_series, {}, {}
    ).entries
    anchor_sentence = "Against the anchor, revision c0: +5.0 % [+4.0 % … +6.0 %]."
    assert first_entry.reason == f"step_p50: So. It came tonight, in c3..c4. {anchor_sentence}"
    assert "git bisect" in first_entry.search
    assert (second.outcome, second.search) == (Outcome.UNJUDGED, "")
    assert second.reason == "Its regression is that of decode."
    assert second.judged[0].change == 0.05, "what was measured stays"
    first_entry, second = with_drift(
        night(3, entry(3, 0.0), anchor), earlier_series, {}, {}
    ).entries
    assert first_entry.outcome is Outcome.REGRESSION
    assert "since 2026-09-01" in first_entry.reason
    assert second.outcome is Outcome.UNJUDGED


PLANNED = Capture(
    "decode", "paged", reference=Reference(previous_night=True, anchor_every=5), traced=2,
    metrics=(Gated("step_p50"), Gated("gpu_idle_ratio", gate=False)), parity="quick",
    checks=(("true",),), fail_on=("bubbles",),
)  # fmt: skip
SEEN = Point("n4", DAYS[4], 1.0, 1.0, 0.0, -HALF, HALF, commit="c5", reference_commit="c0")
NEAR = math.exp(math.log1p(0.03) / 2) - 1  # half of the threshold


def test_when_the_anchor_is_due(subtests: pytest.Subtests) -> None:
    for changes, change, more, revisions in (
        # After as many nights as planned; the first night measures it anyway.
        ([], 0.0, {}, []),
        ([0.0] * 3, 0.0, {}, []),
        ([0.0] * 4, 0.0, {}, ["c0"]),
        ([0.0] * 8, 0.0, {"anchors": (SEEN,)}, []),
        ([0.0] * 9, 0.0, {"anchors": (SEEN,)}, ["c0"]),
        ([0.0] * 9, 0.0, {"anchors": (replace(SEEN, reference_commit="a"), SEEN)}, ["c0"]),
        # Where nights have lost half of the threshold.
        ([0.0], NEAR + 1e-4, {}, ["c0"]),
        ([0.0], NEAR - 1e-4, {}, []),
        ([0.0], -0.1, {}, []),
        # The anchor is the night that was accepted last.
        ([0.0] * 7, 0.0, {"accepted": {"decode": replace(ACCEPTED, night="n1")}}, ["c2"]),
        ([0.0] * 7, 0.0, {"accepted": {"decode": replace(ACCEPTED, night="n1")},
                          "anchors": (replace(SEEN, at=DAYS[0]),)}, ["c2"]),
    ):  # fmt: skip
        capture_series = past(changes).series
        anchored = replace(
            capture_series, capture="decode-anchor", work="other", points=more.get("anchors", ())
        )
        tonight = night(len(changes), entry(len(changes), change))
        due_anchors = list(
            anchors_due(tonight, [PLANNED], [capture_series, anchored], more.get("accepted", {}))
        )
        expected_references = [Reference(revision=commit, anchor_every=5) for commit in revisions]
        with subtests.test(changes=changes, change=change, more=more):
            assert [anchor.reference for anchor in due_anchors] == expected_references
        for anchor in due_anchors:
            row = (changes, change, more)
            assert (anchor.name, anchor.traced) == ("decode-anchor", 0), row
            assert (anchor.checks, anchor.fail_on) == ((), ()), row
            assert [metric.metric for metric in anchor.metrics] == ["step_p50"], (row, anchor)
