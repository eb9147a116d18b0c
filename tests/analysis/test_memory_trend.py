"""What grows and what only goes up and down."""

import numpy as np
import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window
from tracekit.analysis.upkeep import Levels, Trend, levels, trend

WINDOW = Window(0, 8_000, "the steady window")
MIB = 1 << 20


def sampled(sizes: "np.ndarray") -> Levels:
    times = np.linspace(0, 7_999, sizes.size).astype(np.int64)
    return Levels("process_samples", "resident memory", times, times + 1, sizes.astype(np.int64))


def of(sizes: "np.ndarray") -> Trend:
    return trend([sampled(sizes)], WINDOW)


def test_a_straight_line_grows_by_its_slope() -> None:
    found = of(np.linspace(1_000, 9_000, 801))
    assert found.rising
    assert found.rate == pytest.approx(1.0, rel=0.01)
    assert found.grown == pytest.approx(7_000, rel=0.01)


def test_a_line_with_noise_and_big_steps_grows_too() -> None:
    noise = np.random.default_rng(1).integers(0, 300, 801)
    assert of(np.linspace(1_000, 9_000, 801) + noise).rising
    assert of(np.linspace(0, 8, 801).astype(int) * 1_000).rising


@pytest.mark.parametrize("teeth", [2, 2.5, 3, 3.7, 5, 8, 13, 40.3])
@pytest.mark.parametrize("phase", [0.0, 0.3, 0.9])
def test_a_saw_tooth_is_no_growth(teeth: float, phase: float) -> None:
    at = np.linspace(0, teeth, 801) + phase
    assert not of(1_000 * MIB + (at % 1.0) * 100 * MIB).rising


@pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
def test_one_allocation_is_no_growth(place: float) -> None:
    assert not of(np.where(np.linspace(0, 1, 801) < place, 1_000, 9_000)).rising


def test_what_levels_off_is_no_growth() -> None:
    assert not of(np.minimum(np.linspace(0, 8, 801), 2.5)).rising
    assert not of(np.full(801, 7)).rising


def test_noise_alone_hardly_ever_grows() -> None:
    draw = np.random.default_rng(7)
    grown = sum(of(draw.integers(0, 1_000, 80)).rising for _ in range(300))
    assert grown <= 6


def test_levels_of_several_processes_count_together() -> None:
    both = [sampled(np.full(80, 10)), sampled(np.linspace(0, 80, 81))]
    found = trend(both, WINDOW)
    assert found.floors[0] == 10
    assert found.floors[-1] == 81


def test_a_stretch_holds_in_all_the_parts_that_it_covers() -> None:
    bounds = np.array([[0, 9_000], [4_000, 100]])
    known = Levels("allocated_sizes", "memory", bounds[:, 0], bounds.sum(axis=1), np.array([5, 3]))
    assert trend([known], WINDOW).floors.tolist() == [5, 5, 5, 5, 3, 5, 5, 5]


def test_too_few_samples_say_nothing() -> None:
    with pytest.raises(Unavailable, match="not known in all parts of the steady window"):
        trend([sampled(np.array([1, 2, 3]))], WINDOW)


def allocated(size: int, *, own: bool = True) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "start": [0],
            "duration": pd.array([9_000], dtype="Int64"),
            "size": pd.array([size], dtype="Int64"),
            "pid": pd.array([4711], dtype="Int64"),
            "target": [own],
        }
    )


def test_gpu_memory_is_preferred_to_resident_memory(targets: pd.DataFrame) -> None:
    samples = pd.DataFrame(
        {
            "time": [5],
            "memory": pd.array([7], dtype="Int64"),
            "pid": pd.array([4711], dtype="Int64"),
            "target": [True],
        }
    )
    [gpu] = levels(allocated(5), samples, targets)
    assert (gpu.table, gpu.sizes.tolist()) == ("allocated_sizes", [5])
    [host] = levels(allocated(5, own=False), samples, targets)
    assert (host.table, host.sizes.tolist()) == ("process_samples", [7])
    with pytest.raises(Unavailable, match="none of the 1 rows"):
        levels(allocated(5, own=False), None, targets)
    with pytest.raises(Unavailable, match="neither allocated sizes"):
        levels(None, None, targets)
