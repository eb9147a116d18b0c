"""How numbers are spread over recordings."""

import pytest

from tracekit.fleet.batch.page import MOST_CHARTS, alike, spreads
from tracekit.fleet.batch.results import BatchRow
from tracekit.report.chart import svg


def row(number: int, **metrics: float) -> BatchRow:
    return BatchRow(str(number), "k", "k", "", "run", "ok", metrics=metrics)


def recordings(name: str, *values: float) -> list[BatchRow]:
    return [row(at, **{name: value}) for at, value in enumerate(values)]


@pytest.mark.parametrize(
    ("values", "summary"),
    [
        ((1e6, 2e6, 9e6), "3 recordings from 1 ms to 9 ms, half of them up to 2 ms."),
        ((0.0, 5e6), "2 recordings from 0 ns to 5 ms, half of them up to 2.50 ms."),
    ],
)
def test_a_spread_is_said_in_words(values: tuple[float, ...], summary: str) -> None:
    [chart] = spreads(recordings("gpu_busy", *values))
    assert (chart.title, chart.summary) == ("GPU busy", summary)
    assert svg(chart).startswith("<svg")


@pytest.mark.parametrize("values", [(0.01, 0.02), (-3.0, 5e12), (0.002, 0.004), (0.0, 1.0)])
def test_numbers_of_any_size_have_an_axis(values: tuple[float, ...]) -> None:
    [chart] = spreads(recordings("idle_ratio", *values))
    assert chart.x.low == min(values)
    assert chart.x.high == max(values)
    assert all(min(values) <= mark <= max(values) for mark in chart.x.marks)
    assert svg(chart).count("<title>") == 1


def test_one_number_has_no_spread() -> None:
    assert list(spreads(recordings("gpu_busy", 1.0))) == []
    assert alike(recordings("gpu_busy", 1.0)) == ()


@pytest.mark.parametrize("values", [(0.0, 0.0), (5e6, 5e6, 5e6), (0.1, 0.1 + 2**-56)])
def test_what_is_the_same_in_all_is_said_and_not_drawn(values: tuple[float, ...]) -> None:
    entries = recordings("gpu_busy", *values)
    assert list(spreads(entries)) == []
    [said] = alike(entries)
    assert said in {"GPU busy 0 ns", "GPU busy 5 ms", "GPU busy 0.100 ns"}


def test_what_matters_most_comes_first_and_not_everything_comes() -> None:
    from tracekit.analysis.metrics import METRICS  # noqa: PLC0415

    entries = [row(n, **dict.fromkeys(METRICS, float(n))) for n in range(3)]
    drawn = [chart.title for chart in spreads(entries)]
    assert len(drawn) == MOST_CHARTS
    assert drawn[:3] == ["Tokens per second", "Step p50", "Step p99"]
