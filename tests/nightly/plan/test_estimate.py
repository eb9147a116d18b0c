"""How long a night takes, in numbers that can be checked by hand."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.nightly.plan.estimate import estimate
from tracekit.nightly.plan.plan import Capture, Gated, NightPlan, Reference

MAIN = Reference(revision="main")
DECIDING = (Gated("step_p50"),)


def night(*captures: Capture, retries: int = 5, budget: float = 7200.0) -> NightPlan:
    return NightPlan(
        "n", Path("tracekit.toml"), captures, Path("nights"), "", budget, retries=retries
    )


def test_pairs_traces_and_repeats_add_up() -> None:
    capture = Capture("decode", "paged", reference=MAIN, metrics=DECIDING)
    found = estimate(night(capture))
    pair = 2 * 5 + 4 * 0.3
    sitting = 10 * pair + 1 * 2 * (5 + 30)
    assert found.seconds == pytest.approx(sitting)
    assert found.most == pytest.approx(2 * (sitting + 5 * pair))
    assert found.captures[0].capture == "decode"
    assert not found.captures[0].learned
    assert len(found.assumptions) == 2


def test_without_a_reference_there_is_one_side_and_one_sitting() -> None:
    found = estimate(night(Capture("decode", "paged", traced=0), retries=0))
    assert found.seconds == found.most == pytest.approx(10 * (5 + 2 * 0.3))


def test_what_earlier_nights_took_goes_before_what_is_allowed_for() -> None:
    captures = [Capture(name, "paged", reference=MAIN, metrics=DECIDING) for name in ("a", "b")]
    found = estimate(night(*captures, retries=0), {"a": 100.0, "gone": 5.0})
    first, second = found.captures
    assert (first.seconds, first.most, first.learned) == (100.0, 200.0, True)
    assert not second.learned
    assert "As long as in earlier nights: a." in found.assumptions
    found = estimate(night(*captures), {"a": 1.0, "b": 2.0})
    assert found.seconds == 3.0
    assert found.assumptions == ("As long as in earlier nights: a, b.",)


def test_a_budget_that_may_be_outlasted_is_told() -> None:
    capture = Capture("decode", "paged", reference=MAIN, metrics=DECIDING)
    assert any("outlast" in one for one in estimate(night(capture, budget=60.0)).assumptions)
    assert not any("outlast" in one for one in estimate(night(capture)).assumptions)


@given(st.integers(1, 50), st.integers(0, 5), st.integers(0, 9), st.booleans())
def test_more_to_do_never_takes_less(pairs: int, traced: int, retries: int, decides: bool) -> None:
    metrics = DECIDING if decides else ()
    one = Capture("a", "paged", reference=MAIN, pairs=pairs, traced=traced, metrics=metrics)
    more = Capture("a", "paged", reference=MAIN, pairs=pairs + 1, traced=traced, metrics=metrics)
    less, longer = estimate(night(one, retries=retries)), estimate(night(more, retries=retries))
    assert less.seconds < longer.seconds
    assert less.seconds <= less.most
    assert estimate(night(one, more, retries=retries)).seconds == pytest.approx(
        less.seconds + longer.seconds
    )
