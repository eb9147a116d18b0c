"""Series over nights: what of each night is a point, and where another series begins."""

from dataclasses import replace
from math import exp, log
from typing import Any

import pytest

from stored_nights import ENVIRONMENT, entry_of, judged_of, night_of, pair_of
from tracekit.nightly.history.night import Described, Night, Outcome, Pair
from tracekit.nightly.history.steps import Point, Series
from tracekit.nightly.history.store.store import Store


def test_a_point_says_what_the_night_says(store: Store) -> None:
    pairs = [pair_of(number, 100.0 + number) for number in range(1, 11)]
    dirty = pair_of(11, 900.0, contaminated=("the load was 3.1",))
    against = Described("sdpa", commit="9f9f9f9")
    store.append(night_of(1, [entry_of(pairs=[*pairs, dirty], reference=against)]))
    (series,) = store.series()
    (point,) = series.points
    assert replace(series, points=()) == Series(
        "mini", "nightly", "decode", "w1", "step_p50", "ns", "lower"
    )
    known = replace(point, change=None, low=None, high=None)
    assert known == Point(
        "2026-03-01T02-30-00-abcd", "2026-03-01T02:30:00.000+00:00", 110.0, 100.0,
        least=101.0, most=110.0, pairs=2, outcome=Outcome.REGRESSION, reason="It is slower.",
        night_outcome=Outcome.REGRESSION, commit="1a2b3c4", environment=ENVIRONMENT,
        folder="2026-03-01T02-30-00-abcd", reference_commit="9f9f9f9",
    )  # fmt: skip
    # The middle of all means of two logarithms of ratios, by hand.
    logs = [log(1.0 + number / 100) for number in range(1, 11)]
    means = sorted((first + other) / 2 for at, first in enumerate(logs) for other in logs[at:])
    assert point.change == pytest.approx(exp(means[27]) - 1)
    assert point.low is not None
    assert point.high is not None
    assert point.low < point.change < point.high


SHARE = pair_of(metric="share", candidate=3.5, reference=3.0, traced=True)
TEN = [pair_of(number) for number in range(1, 11)]
ALONE = [replace(pair_of(number), reference={}) for number in (1, 2)]
FOLLOWED: dict[str, Any] = dict.fromkeys(("reference", "change", "low", "high", "outcome"))


@pytest.mark.parametrize(
    ("pairs", "judged", "change", "extremes"),
    [
        # What was expected is not taken off, and traced pairs come behind untraced ones.
        (TEN, judged_of(change=0.0, expected=0.1, baseline="other"), 0.1, (110.0, 110.0)),
        ([pair_of(1, 120.0), pair_of(1, 500.0, 450.0, traced=True)], judged_of(), 0.2,
         (120.0, 120.0)),
        ([SHARE], judged_of("share", unit="ratio", scale="difference"), 0.5, (3.5, 3.5)),
        (ALONE, judged_of(gated=False, **FOLLOWED), None, (110.0, 110.0)),
    ],
)  # fmt: skip
def test_a_point_has_the_measured_change(
    sqlite_store: Store, pairs: list[Pair], judged: Any, change: float | None, extremes: Any
) -> None:
    sqlite_store.append(night_of(1, [entry_of(pairs=pairs, judged=[judged])]))
    (point,) = sqlite_store.series()[0].points
    assert point.change == (None if change is None else pytest.approx(change))
    assert (point.least, point.most) == extremes


FAILED = entry_of(judged=(), outcome=Outcome.FAILED, reason="Parity failed.")
TWO = [judged_of("step_p50"), judged_of("aaa")]
BOTH = [night_of(1, [entry_of("decode", judged=TWO), entry_of("prefill")]),
        night_of(2, [entry_of("prefill")])]  # fmt: skip


@pytest.mark.parametrize(
    ("nights", "asked", "found"),
    [
        ([night_of(1), night_of(2), night_of(3, [entry_of(work="w2")])], {},
         ["decode w1 step_p50 12", "decode w2 step_p50 3"]),
        (BOTH, {"metric": "aaa"}, ["decode w1 aaa 1"]),
        (BOTH, {"capture": "prefill"}, ["prefill w1 step_p50 12"]),
        (BOTH, {"machine": "studio"}, []),
        (BOTH, {"plan": "nightly", "since": "2026-03-02"}, ["prefill w1 step_p50 2"]),
        (BOTH, {"until": "2026-03-02", "metric": "step_p50"},
         ["decode w1 step_p50 1", "prefill w1 step_p50 1"]),
        ([night_of(1), night_of(2, machine="studio"), night_of(3, plan="weekly")], {},
         [f"decode w1 step_p50 {day}" for day in (1, 2, 3)]),
        ([night_of(1), night_of(2, [entry_of(judged=TWO)])], {},
         ["decode w1 step_p50 12", "decode w1 aaa 2"]),
        # A night that failed is a point of the work that was done then.
        ([night_of(1, [], outcome=Outcome.FAILED), night_of(2),
          night_of(3, [], outcome=Outcome.FAILED), night_of(4, [entry_of(work="w2")]),
          night_of(5, [], outcome=Outcome.FAILED)], {},
         ["decode w1 step_p50 23", "decode w2 step_p50 45"]),
    ],
)  # fmt: skip
def test_which_nights_are_points_of_which_series(
    store: Store, nights: list[Night], asked: dict[str, Any], found: list[str]
) -> None:
    for night in nights:
        store.append(night)
    assert [
        f"{each.capture} {each.work} {each.metric} " + "".join(at.night[9] for at in each.points)
        for each in store.series(**asked)
    ] == found


def test_a_night_that_failed_is_a_point_that_says_why(sqlite_store: Store) -> None:
    failed = {"outcome": Outcome.FAILED}
    for night in (
        night_of(1),
        night_of(2, [FAILED], **failed, reason="decode: Parity failed."),
        night_of(3, [], **failed, reason="No disk."),
        night_of(4, [], outcome=Outcome.OK, partial=True, reason="The budget was spent."),
        night_of(5, [], outcome=Outcome.OK, reason="decode is not in the plan any more."),
        night_of(6, [entry_of(judged=[judged_of(threshold=0.5, gated=False)])]),
    ):
        sqlite_store.append(night)
    (series,) = sqlite_store.series()
    assert (series.threshold, series.gated) == (0.5, False), "as the last night was judged"
    assert [(point.night[9], point.value, point.reason) for point in series.points[1:4]] == [
        ("2", None, "Parity failed."),
        ("3", None, "No disk."),
        ("4", None, "The budget was spent."),
    ]
    assert [point.night[9] for point in series.points[4:]] == ["6"]
    assert series.points[1].night_outcome is Outcome.FAILED
