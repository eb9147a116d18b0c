"""Runs in order of time: which are neighbours, and what that makes of a drifting machine."""

import itertools
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tracekit.analysis.result import Better, Measurement
from tracekit.compare.compare import Comparison, compare
from tracekit.compare.page import how_sure
from tracekit.compare.page import tables as shown
from tracekit.compare.samples import Order, order_of
from tracekit.compare.verdicts import Change, Verdict

Make = Callable[..., Any]
MS = 1_000_000


def at(minute: int) -> str:
    return f"2026-11-20T10:{minute:02d}:00+00:00"


def step(compared: Comparison) -> Change:
    return next(one for one in compared.changes if one.metric == "step_p50")


@pytest.fixture
def drifting(sample: Make) -> tuple[list[Any], list[Any]]:
    """Six runs of each side, alternating, on a machine that slows by 4 % a run; after is +5 %."""
    sides: tuple[list[Any], list[Any]] = ([], [])
    for place in range(12):
        side = (place + place // 2) % 2  # A B, B A, A B, …
        length = round(MS * 1.04**place * (1.05 if side else 1.0))
        sides[side].append(sample([length] * 40, f"run {place}", started=at(place)))
    return sides


@pytest.mark.parametrize(
    ("before", "after", "order"),
    [
        ([1], [2], Order.ALTERNATING),
        ([1, 4, 5], [2, 3, 6], Order.ALTERNATING),
        ([1, 2, 3], [4, 5, 6], Order.APART),
        ([4, 5, 6], [1, 2], Order.APART),
        ([1, 3, 5], [2, 4], Order.MIXED),
        ([1, 2, 5, 6], [3, 4, 7, 8], Order.MIXED),
    ],
)
def test_runs_have_an_order(
    sample: Make, before: Sequence[int], after: Sequence[int], order: Order
) -> None:
    sides = [[sample([MS] * 40, started=at(one)) for one in own] for own in (before, after)]
    assert order_of(*sides) is order
    assert order_of(*sides[::-1]) is order


def test_a_run_without_a_time_leaves_the_order_unknown(sample: Make) -> None:
    known = sample([MS] * 40, started=at(1))
    for started in ("", "yesterday"):
        assert order_of([known], [sample([MS] * 40, started=started)]) is Order.UNKNOWN


def test_neighbours_in_time_are_paired_whatever_the_order_of_arguments(
    drifting: tuple[list[Any], list[Any]],
) -> None:
    before, after = drifting
    compared = compare(before, after)
    assert step(compared).paired
    assert step(compared).change == pytest.approx(0.05, abs=0.01)
    assert compared.verdict is Verdict.WORSE
    shuffled = random.Random(3)
    for _ in range(5):
        shuffled.shuffle(before)
        shuffled.shuffle(after)
        assert step(compare(before, after)).low == step(compared).low


def test_runs_that_do_not_alternate_are_not_paired(
    sample: Make, drifting: tuple[list[Any], list[Any]]
) -> None:
    everything = sorted(itertools.chain(*drifting), key=lambda one: one.result.provenance.started)
    apart = compare(everything[:6], everything[6:])
    assert not step(apart).paired
    assert "drift would look like a change" in how_sure(apart)
    mixed = compare([*everything[:3], *everything[6:9]], [*everything[3:6], *everything[9:]])
    assert not step(mixed).paired
    assert "not recorded alternating" in how_sure(mixed)


def test_what_was_measured_and_what_it_is_at_equal_pace_have_a_column_each(
    sample: Make, noisy: Make, tables: Make, reference: Make
) -> None:
    def paced(middle: float, pace: float, seed: int) -> Any:
        times = noisy(middle, seed=seed)
        own = tables(times) | {"gauges": reference(times, noisy(pace, 0.001, seed=seed + 1))}
        return sample(times, tables=own)

    compared = compare([paced(MS, 50_000, 1)], [paced(1.3 * MS, 60_000, 2)])
    title, columns, rows = next(iter(shown(compared)))
    assert title.startswith("metrics")
    assert columns[3:6] == ("measured", "at equal pace", "95 % interval")
    row = next(one for one in rows if one[0] == "step_p50 *")
    assert row[3].startswith("+30.")
    assert row[4].startswith("+8.")
    assert "took 20.0 % longer after than before" in how_sure(replace(compared, pace=0.2))
    assert "took 20.0 % less after than before" in how_sure(replace(compared, pace=-0.2))
    plain = compare([sample(noisy(MS))], [sample(noisy(1.3 * MS, seed=2))])
    _, columns, _ = next(iter(shown(plain)))
    assert columns[3:5] == ("measured", "95 % interval")


def test_a_reason_that_metrics_share_is_given_once(sample: Make) -> None:
    def short(value: float) -> Any:
        run = sample([MS] * 10)
        names = ("step_p50", "step_p99", "tokens_per_second")
        metrics = tuple(Measurement(name, value, "ns", Better.LOWER) for name in names)
        return replace(run, result=replace(run.result, metrics=metrics))

    compared = compare([short(MS)], [short(1.2 * MS)])
    _, _, rows = next(iter(shown(compared)))
    assert [row[-1] for row in rows] == ["unclear (1)"] * 3
    assert how_sure(compared).count("takes 20 steady steps") == 1
