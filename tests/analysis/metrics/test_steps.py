"""How fast the workload went, by its own marks."""

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable, inject
from tracekit.analysis.metrics import METRICS


def steps(rows: list[tuple[int, int, str, int]]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["start", "duration", "phase", "tokens"])
    return frame.astype({"duration": "Int64", "tokens": "Int64", "phase": "string"})


STEADY = steps(
    [
        (0, 900_000_000, "warm-up", 16),
        (1_000_000_000, 100_000_000, "steady", 16),
        (1_200_000_000, 300_000_000, "steady", 16),
    ]
)


def test_the_rate_counts_steady_steps_from_first_start_to_last_end() -> None:
    assert METRICS["step_rate"].measure(STEADY, None) == 4.0


def test_tokens_per_second_counts_steady_tokens_alone() -> None:
    assert METRICS["tokens_per_second"].measure(STEADY, None) == 64.0


def test_waits_for_load_are_no_steps_but_take_their_time() -> None:
    rows = [
        (0, 600_000_000, "steady", 0, "idle"),
        (600_000_000, 100_000_000, "steady", 16, ""),
        (700_000_000, 100_000_000, "steady", 16, ""),
        (800_000_000, 200_000_000, "steady", 0, "idle"),
    ]
    served = pd.DataFrame(rows, columns=["start", "duration", "phase", "tokens", "variant"])
    served = served.astype({"duration": "Int64", "tokens": "Int64"})
    assert METRICS["step_rate"].measure(served, None) == 2.0
    assert METRICS["tokens_per_second"].measure(served, None) == 32.0
    assert METRICS["step_p50"].measure(served) == 100_000_000


def test_step_percentiles_are_linear_between_ranks() -> None:
    assert METRICS["step_p50"].measure(STEADY) == 200_000_000
    assert METRICS["step_p99"].measure(STEADY) == pytest.approx(298_000_000)


def test_bandwidth_is_unique_and_written_bytes_over_the_median_step() -> None:
    model = pd.DataFrame({"bytes_unique": [3_000_000], "bytes_written": [1_000_000]})
    assert METRICS["memory_bandwidth"].measure(STEADY, model) == 20_000_000


@pytest.mark.parametrize("name", ["step_rate", "tokens_per_second", "step_p50", "step_p99"])
def test_a_run_that_never_became_steady_has_no_rate(name: str) -> None:
    tables = {"steps": STEADY[STEADY["phase"] == "warm-up"]}
    with pytest.raises(Unavailable, match="no step in its steady phase"):
        inject(METRICS[name].measure, tables)


def test_reference_work_between_steps_is_no_time_of_theirs() -> None:
    annotations = pd.DataFrame(
        {
            "start": [900_000_000, 1_100_000_000, 1_160_000_000],
            "duration": [90_000_000, 50_000_000, 10_000_000],
            "name": ["reference", "reference", "admit"],
        }
    )
    assert METRICS["step_rate"].measure(STEADY, annotations) == pytest.approx(2 / 0.45)
    assert METRICS["tokens_per_second"].measure(STEADY, annotations) == pytest.approx(32 / 0.45)


def test_a_workload_without_tokens_has_no_tokens_per_second() -> None:
    with pytest.raises(Unavailable, match="produces no tokens"):
        METRICS["tokens_per_second"].measure(STEADY.assign(tokens=0), None)


def test_a_worker_that_never_said_what_a_step_does_has_no_bandwidth() -> None:
    model = pd.DataFrame({"bytes_unique": [], "bytes_written": []})
    with pytest.raises(Unavailable, match="does not say what a step does"):
        METRICS["memory_bandwidth"].measure(STEADY, model)


def test_a_workload_without_a_byte_model_has_no_bandwidth() -> None:
    model = pd.DataFrame({"bytes_unique": [0], "bytes_written": [0]})
    with pytest.raises(Unavailable, match="does not say how many bytes"):
        METRICS["memory_bandwidth"].measure(STEADY, model)


@pytest.mark.parametrize("name", ["step_p50", "step_p99", "tokens_per_second"])
def test_variants_that_are_compared_are_not_mixed(name: str) -> None:
    mixed = STEADY.assign(variant=["paged", "paged", "sdpa"])
    with pytest.raises(Unavailable, match=r"several variants \(paged, sdpa\)"):
        inject(METRICS[name].measure, {"steps": mixed})
    inject(METRICS[name].measure, {"steps": STEADY.assign(variant="paged")})
    METRICS["step_rate"].measure(mixed, None)
