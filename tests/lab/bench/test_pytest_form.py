"""The form of pytest-benchmark: literal statistics, as its version 5.3.1 computes them."""

from dataclasses import asdict

import pytest

from tracekit.lab.bench.pytest_form import find_quartiles, summarize_seconds


@pytest.mark.parametrize(
    ("samples", "quartiles"),
    [
        ([7], (7, 7)),
        ([1, 3], (1, 3)),
        ([1, 3, 5], (1.5, 4.5)),
        ([1, 3, 5, 9], (2, 7)),
        ([1, 3, 5, 9, 17], (2.5, 11)),
        ([6, 7, 15, 36, 39, 40, 41, 42, 43, 47, 49], (20.25, 42.75)),  # of Wikipedia, method 3
        ([7, 15, 36, 39, 40, 41], (15, 40)),
    ],
)
def test_quartiles_are_those_of_pytest_benchmark(
    samples: list[float], quartiles: tuple[float, float]
) -> None:
    assert find_quartiles(samples) == quartiles


def test_statistics_are_those_of_pytest_benchmark() -> None:
    assert asdict(summarize_seconds([0.5, 0.25, 0.25, 0.5, 4.0], 64)) == {
        "min": 0.25,
        "max": 4.0,
        "mean": 1.1,
        "stddev": pytest.approx(1.62596125415),
        "rounds": 5,
        "median": 0.5,
        "iqr": 1.125,
        "q1": 0.25,
        "q3": 1.375,
        "iqr_outliers": 1,
        "stddev_outliers": 1,
        "outliers": "1;1",
        "ld15iqr": 0.25,
        "hd15iqr": 0.5,
        "ops": 1 / 1.1,
        "total": 5.5,
        "data": [0.5, 0.25, 0.25, 0.5, 4.0],
        "iterations": 64,
    }
    assert summarize_seconds([2.0], 1).outliers == "0;0"
