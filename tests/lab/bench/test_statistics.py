"""Statistics of literal samples, and what they are called."""

import pytest

from tracekit.base.errors import InputError
from tracekit.lab.bench.document import DEFINITIONS, summarize

SAMPLES = [10.0, 12.0, 11.0, 13.0, 100.0, 12.0, 11.0, 12.0, 10.0, 9.0]


def test_ten_samples_in_numbers() -> None:
    said = summarize(SAMPLES)
    assert said.count == 10
    assert said.mean == pytest.approx(20.0)
    assert said.std == pytest.approx(28.1345, abs=1e-3)
    assert (said.min, said.median, said.p50, said.max) == (9.0, 11.5, 11.5, 100.0)
    # Distances from 11.5: 0.5 six times, 1.5 three times less 2.5 and 88.5.
    assert said.mad == 1.0


def test_percentiles_are_linear_between_ranks() -> None:
    said = summarize([float(number) for number in range(1, 11)])
    assert said.p95 == pytest.approx(1 + 0.95 * 9)
    assert said.p99 == pytest.approx(1 + 0.99 * 9)
    assert DEFINITIONS["percentiles"] == "linear between ranks"


def test_the_filtered_mean_leaves_out_what_is_beyond_two_sigma_and_says_how_many() -> None:
    said = summarize(SAMPLES)
    assert said.filtered_out == 1
    assert said.filtered_mean == pytest.approx(100 / 9)
    edge = summarize([8.0, 12.0, *[10.0] * 7])  # its deviation is 1
    assert (edge.std, edge.filtered_out) == (1.0, 0)


def test_one_sample_has_no_deviation() -> None:
    said = summarize([7.0])
    assert said.std is None
    assert (said.median, said.mad, said.p99, said.filtered_mean) == (7.0, 0.0, 7.0, 7.0)


@pytest.mark.parametrize("samples", [[], [1.0, float("nan")], [float("inf")]])
def test_statistics_of_nothing_are_refused(samples: list[float]) -> None:
    with pytest.raises(InputError, match="finite number"):
        summarize(samples)
