"""Series over nights: what of each night is a point, and where another series begins."""

from dataclasses import replace
from math import exp, expm1, log
from typing import Any

import pytest

from stored_nights import entry_of, judged_of, night_of, pair_of
from tracekit.nightly.history.night import Outcome
from tracekit.nightly.history.steps import Series
from tracekit.nightly.history.store.store import Store


def days(series: Series) -> str:
    return "".join(one.night[9] for one in series.points)


def test_a_point_says_what_the_night_says(store: Store) -> None:
    pairs = [pair_of(number, 100.0 + number) for number in range(1, 11)]
    dirty = pair_of(11, 900.0, contaminated=("the load was 3.1",))
    store.append(night_of(1, [entry_of(pairs=[*pairs, dirty])]))
    (series,) = store.series()
    assert (series.machine, series.plan, series.capture, series.work, series.metric) == (
        *("mini", "nightly", "decode", "w1", "step_p50"),
    )
    assert (series.unit, series.better, series.scale, series.threshold, series.gated) == (
        *("ns", "lower", "ratio", 0.03, True),
    )
    (point,) = series.points
    assert (point.value, point.reference, point.pairs) == (110.0, 100.0, 2)
    assert (point.least, point.most) == (101.0, 110.0), "the pair that does not count is left out"
    assert point.outcome is Outcome.REGRESSION
    assert point.night_outcome is Outcome.REGRESSION
    assert (point.at, point.commit) == ("2026-03-01T02:30:00.000+00:00", "1a2b3c4")
    assert point.environment == {
        "chip": "Apple M1",
        "cores": 8,
        "os": "macOS 26.0",
        "mlx": "0.32.0",
    }
    assert point.folder == "2026-03-01T02-30-00-abcd"
    assert point.reason == "It is slower."
    # The middle of all means of two logarithms of ratios, by hand.
    logs = [log(1.0 + number / 100) for number in range(1, 11)]
    means = sorted((one + other) / 2 for at, one in enumerate(logs) for other in logs[at:])
    assert point.change == pytest.approx(exp(means[27]) - 1)
    assert point.low is not None
    assert point.high is not None
    assert point.low < point.change < point.high


def test_what_was_expected_is_not_taken_off_a_point(store: Store) -> None:
    judged = judged_of(change=0.0, low=-0.01, high=0.01, expected=0.1, baseline="other")
    pairs = [pair_of(number) for number in range(1, 11)]
    store.append(night_of(1, [entry_of(pairs=pairs, judged=[judged])]))
    assert store.series()[0].points[0].change == pytest.approx(0.1)


def test_a_difference_is_one_in_the_metric_s_unit(store: Store) -> None:
    judged = judged_of("bubble_share", unit="ratio", scale="difference")
    pair = pair_of(metric="bubble_share", candidate=3.5, reference=3.0, traced=True)
    store.append(night_of(1, [entry_of(pairs=[pair], judged=[judged])]))
    (point,) = store.series()[0].points
    assert point.change == pytest.approx(0.5)
    assert (point.low, point.high) == (None, None), "one pair has no interval"


def test_points_of_untraced_pairs_go_before_those_of_traced_ones(store: Store) -> None:
    traced = pair_of(1, 500.0, 450.0, traced=True)
    store.append(night_of(1, [entry_of(pairs=[pair_of(1, 120.0), traced])]))
    (point,) = store.series()[0].points
    assert (point.least, point.most) == (120.0, 120.0)
    assert point.change == pytest.approx(expm1(log(1.2)))


def test_a_metric_without_a_reference_is_followed_by_its_value(store: Store) -> None:
    pairs = [replace(pair_of(number), reference={}) for number in (1, 2)]
    judged = judged_of(reference=None, change=None, low=None, high=None, outcome=None, gated=False)
    store.append(night_of(1, [entry_of(pairs=pairs, judged=[judged], reference=None)]))
    (series,) = store.series()
    (point,) = series.points
    assert not series.gated
    assert (point.value, point.reference, point.change, point.outcome) == (110.0, None, None, None)
    assert (point.least, point.most) == (110.0, 110.0)


def test_other_work_begins_another_series(store: Store) -> None:
    for day, work in ((1, "w1"), (2, "w1"), (3, "w2")):
        store.append(night_of(day, [entry_of(work=work)]))
    assert [(one.work, days(one)) for one in store.series()] == [("w1", "12"), ("w2", "3")]


def test_machines_plans_captures_and_metrics_have_series_of_their_own(store: Store) -> None:
    two = [judged_of("step_p50"), judged_of("aaa")]
    store.append(night_of(1, [entry_of("decode", judged=two), entry_of("prefill")]))
    store.append(night_of(2, machine="studio"))
    store.append(night_of(3, plan="weekly"))
    found = [(one.machine, one.plan, one.capture, one.metric) for one in store.series()]
    assert found == [
        ("mini", "nightly", "decode", "step_p50"),
        ("mini", "nightly", "decode", "aaa"),
        ("mini", "nightly", "prefill", "step_p50"),
        ("studio", "nightly", "decode", "step_p50"),
        ("mini", "weekly", "decode", "step_p50"),
    ]


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ({"metric": "aaa"}, ["decode aaa 1"]),
        ({"capture": "prefill"}, ["prefill step_p50 12"]),
        ({"machine": "studio"}, []),
        ({"plan": "nightly", "since": "2026-03-02"}, ["prefill step_p50 2"]),
        (
            {"until": "2026-03-02", "metric": "step_p50"},
            ["decode step_p50 1", "prefill step_p50 1"],
        ),
    ],
)
def test_series_are_asked_for_by_what_they_are(
    store: Store, asked: dict[str, Any], found: list[str]
) -> None:
    two = [judged_of("step_p50"), judged_of("aaa")]
    store.append(night_of(1, [entry_of("decode", judged=two), entry_of("prefill")]))
    store.append(night_of(2, [entry_of("prefill")]))
    series = store.series(**asked)
    assert [f"{one.capture} {one.metric} {days(one)}" for one in series] == found


def test_a_night_that_failed_is_a_point_that_says_why(store: Store) -> None:
    failed = entry_of(judged=(), outcome=Outcome.FAILED, reason="Parity failed.")
    store.append(night_of(1))
    store.append(night_of(2, [failed], outcome=Outcome.FAILED, reason="decode: Parity failed."))
    store.append(night_of(3, [], outcome=Outcome.FAILED, reason="No disk."))
    store.append(night_of(4, [], outcome=Outcome.OK, partial=True, reason="The budget was spent."))
    store.append(night_of(5, [], outcome=Outcome.OK, reason="decode is not in the plan any more."))
    store.append(night_of(6))
    (series,) = store.series()
    assert days(series) == "12346"
    values = [(one.value, one.reason) for one in series.points]
    assert values[1:4] == [
        (None, "Parity failed."), (None, "No disk."), (None, "The budget was spent."),
    ]  # fmt: skip
    assert series.points[1].night_outcome is Outcome.FAILED


def test_a_night_that_failed_is_a_point_of_the_work_that_was_done_then(store: Store) -> None:
    store.append(night_of(1, [], outcome=Outcome.FAILED))
    store.append(night_of(2))
    store.append(night_of(3, [], outcome=Outcome.FAILED))
    store.append(night_of(4, [entry_of(work="w2")]))
    store.append(night_of(5, [], outcome=Outcome.FAILED))
    assert [(one.work, days(one)) for one in store.series()] == [("w1", "23"), ("w2", "45")]


def test_a_metric_that_came_later_has_no_points_before(store: Store) -> None:
    store.append(night_of(1))
    store.append(night_of(2, [entry_of(judged=[judged_of(), judged_of("new", threshold=0.5)])]))
    assert {one.metric: days(one) for one in store.series()} == {"step_p50": "12", "new": "2"}


def test_a_series_says_what_its_last_night_was_judged_by(store: Store) -> None:
    store.append(night_of(1))
    store.append(night_of(2, [entry_of(judged=[judged_of(threshold=0.5, gated=False)])]))
    (series,) = store.series()
    assert (series.threshold, series.gated) == (0.5, False)
