"""Recorded GPU jobs against those that a workload made: literal steps, jobs that are missing."""

import numpy as np
import pytest

from tracekit.analysis.completeness import Completeness, count_jobs

MS = 1_000_000


def count(jobs: np.ndarray, steps: int, each: int = 1, margin: int = 0) -> Completeness:
    """Count jobs in steps of 1 ms that follow each other."""
    starts = np.arange(steps, dtype=np.int64) * MS
    return count_jobs(starts, starts + 900_000, np.asarray(jobs, np.int64), each, margin)


def test_a_recording_of_87_of_49000_jobs_is_counted() -> None:
    starts = np.arange(49_000) * MS + 10_000
    assert count(starts, 49_000) == Completeness(49_000, 49_000)
    few = count(starts[:: 49_000 // 87][:87], 49_000)
    assert (few.recorded, few.expected, few.is_enough) == (87, 49_000, False)
    assert count(starts[:0], 49_000).recorded == 0


@pytest.mark.parametrize(("share", "each"), [(0.4, 3), (0.93, 5), (0.97, 5)])
def test_thinned_jobs_are_counted_by_the_dispatches_that_a_trace_shows(
    share: float, each: int
) -> None:
    starts = (np.arange(1000)[:, None] * MS + np.arange(1, 6) * 100_000).ravel()
    kept = starts[np.random.default_rng(7).random(5000) < share]
    counted = count(kept, 1000, each=5)
    assert (counted.expected, counted.jobs_per_step) == (1000 * each, each)
    assert counted.share == pytest.approx(share * 5 / each, abs=0.025)
    assert counted.is_enough is (share > 0.7)


def test_dispatches_that_share_an_encoder_are_one_job_and_more_jobs_make_up_for_nothing() -> None:
    starts = np.arange(200) * MS
    assert count(starts, 200, each=8) == Completeness(200, 200)
    crowded = np.concatenate((np.arange(100) * MS, np.arange(100) * MS + 1))
    assert count(crowded, 200).share == pytest.approx(0.5)


def test_jobs_that_the_driver_coalesces_differently_in_each_step_are_not_missing() -> None:
    counts = np.random.default_rng(7).choice([6, 8, 10, 12], 500)
    jobs = np.concatenate([step * MS + 1000 * np.arange(size) for step, size in enumerate(counts)])
    assert count(jobs, 500, each=12).is_enough


def test_steps_without_any_job_are_missing_whatever_the_driver_coalesces() -> None:
    jobs = np.arange(0, 200, 2) * MS + 100_000
    assert not count(jobs, 200, each=12).is_enough


def test_clocks_that_are_off_cost_no_job() -> None:
    starts = np.arange(200) * MS + 100_000
    for offset in (-2 * MS, 2 * MS):
        assert count(starts + offset, 200, margin=3 * MS).is_enough
    jitter = np.random.default_rng(7).integers(-50_000, 50_000, 200)
    at_the_boundary = np.sort(np.arange(200) * MS + jitter)
    assert count(at_the_boundary, 200, each=3, margin=MS).is_enough
