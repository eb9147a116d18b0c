"""`kernel_ceiling`: tokens over the time in which the device ran, and nothing else."""

from collections.abc import Callable

import pandas as pd
import pytest

from counter_runs import MS, given, measured, steady

Make = Callable[..., pd.DataFrame]
NAME = "kernel_ceiling"


@pytest.mark.parametrize(
    ("work", "expected"),
    [
        pytest.param([(0, 10 * MS)], 16_000, id="always"),
        pytest.param([(at * MS, MS // 2) for at in range(10)], 32_000, id="in-pieces"),
        pytest.param([(0, 5 * MS), (0, 9 * MS), (2 * MS, 8 * MS)], 16_000, id="channels-overlap"),
        pytest.param([(-5 * MS, 7 * MS), (2 * MS, 90 * MS)], 16_000, id="beyond-the-window"),
    ],
)
def test_it_is_tokens_over_the_union_of_the_work(
    work: list[tuple[int, int]], expected: float, intervals: Make
) -> None:
    found = measured(NAME, given(gpu_intervals=intervals(work), **steady()))
    assert found.value == pytest.approx(expected)
    assert found.unit == "tokens/s"


def test_it_is_never_below_what_was_reached(intervals: Make) -> None:
    run = given(gpu_intervals=intervals([(at * MS, 700_000) for at in range(10)]), **steady())
    reached, ceiling = measured("tokens_per_second", run).value, measured(NAME, run).value
    assert reached is not None
    assert ceiling is not None
    assert reached < ceiling


def test_tokens_of_a_warm_up_do_not_count(intervals: Make) -> None:
    tables = steady()
    warm = tables["steps"].assign(phase="warm-up", tokens=1_000)
    tables["steps"] = pd.concat([warm, tables["steps"]], ignore_index=True)
    run = given(gpu_intervals=intervals([(0, 10 * MS)]), **tables)
    assert measured(NAME, run).value == pytest.approx(16_000)


@pytest.mark.parametrize(
    ("tokens", "work", "reason"),
    [
        (0, [(0, MS)], "produces no tokens"),
        (None, [(0, MS)], "produces no tokens"),
        (16, [(11 * MS, MS)], "100.0 % of the steady steps have no interval"),
        (16, [(0, 9 * MS)], "10.0 % of the steady steps have no interval"),
        (16, [], "the table has no rows"),
    ],
)
def test_what_is_missing_is_said(
    tokens: int | None, work: list[tuple[int, int]], reason: str, intervals: Make
) -> None:
    run = given(gpu_intervals=intervals(work), **steady(tokens=tokens))
    assert reason in measured(NAME, run).reason
