"""`memory-growth`: memory that the target keeps, by the lowest levels of eight parts."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pytest

from analysed import intervals, judged, phases
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window
from tracekit.analysis.rule import Finding
from tracekit.analysis.upkeep import Levels, Trend, trend
from tracekit.base.recording import Provenance

Make = Callable[..., pd.DataFrame]
Judge = Callable[..., list[Finding]]
SECOND = 1_000_000_000
MIB = 1 << 20
WINDOW = Window(0, 8_000, "the steady window")


def allocated(*sizes: int, own: bool = True) -> pd.DataFrame:
    """Make levels of a second each, in MiB."""
    times = [at * SECOND for at in range(len(sizes))]
    bytes_ = [size * MIB for size in sizes]
    frame = pd.DataFrame({"start": times, "duration": SECOND, "size": bytes_, "pid": 4711})
    return frame.assign(target=own)


def steps(tokens: int) -> pd.DataFrame:
    starts = [at * SECOND // 2 for at in range(14)]
    frame = pd.DataFrame({"start": starts, "duration": SECOND // 2, "tokens": tokens})
    return frame.assign(phase="steady")


def held(*sizes: int, source: str = "workload") -> pd.DataFrame:
    values = [float(size * MIB) for size in sizes]
    times = [at * SECOND for at in range(len(sizes))]
    return pd.DataFrame({"time": times, "name": "bytes_held", "value": values, "source": source})


GROWING = allocated(100, 120, 140, 160, 180, 200, 220, 240)
SAMPLES = GROWING.rename(columns={"start": "time", "size": "memory"})


def judge(sizes: pd.DataFrame | None, memory: int | None = None, **tables: Any) -> Any:
    """Judge a loop of eight seconds on a machine with so many MiB."""
    window = {"gpu_intervals": intervals([(0, 8 * SECOND)]), "phases": phases(0, 8 * SECOND)}
    machine = Provenance(machine={} if memory is None else {"memory": memory * MIB})
    return judged("memory-growth", provenance=machine, allocated_sizes=sizes, **window, **tables)


def line(first: int, last: int) -> pd.DataFrame:
    return allocated(*np.linspace(first, last, 8).round().astype(int).tolist())


def test_growth_is_reported_by_second_step_and_token() -> None:
    [finding] = judge(GROWING, 480, steps=steps(2))
    assert "from 100 MiB to 240 MiB" in finding.message
    assert "20 MiB a second, 10 MiB a step, 5 MiB a token." in finding.message
    assert "50.0 % of the machine's 480 MiB" in finding.message
    assert "after another 12 s" in finding.message
    assert len(finding.evidence) == 8
    assert finding.evidence[0].note == "at least 100 MiB"
    assert finding.saving is None
    [finding] = judge(GROWING, steps=steps(0))
    assert finding.message.endswith("10 MiB a step.")
    [finding] = judge(GROWING)
    assert finding.message.endswith("20 MiB a second.")


@pytest.mark.parametrize(
    "sizes",
    [
        (100, 150, 100, 150, 100, 150, 100, 150),
        (100, 100, 100, 300, 300, 300, 300, 300),
        (100, 180, 120, 160, 105, 175, 130, 165),  # level noise
        (240, 220, 200, 180, 160, 140, 120, 100),
    ],
)
def test_what_does_not_rise_from_part_to_part_is_passed(sizes: tuple[int, ...]) -> None:
    assert not judge(allocated(*sizes))


@pytest.mark.parametrize(
    ("first", "last", "number"),
    [(100, 132, 0), (100, 133, 1), (1_000, 1_050, 0), (1_000, 1_051, 1)],
)
def test_it_takes_32_mebibytes_and_a_twentieth(first: int, last: int, number: int) -> None:
    assert len(judge(line(first, last))) == number


def test_a_cache_that_grows_as_it_says_is_passed() -> None:
    kept = held(10, 30, 50, 70, 90, 110, 130, 150)
    assert not judge(GROWING, gauges=kept)
    [finding] = judge(GROWING, gauges=held(10, 10, 10, 10, 10, 10, 10, 60))
    assert "says that it keeps 50 MiB" in finding.message
    assert len(judge(GROWING, gauges=kept.assign(source="macmon"))) == 1


def test_resident_memory_serves_where_there_is_no_other() -> None:
    for sizes in (None, allocated(5, own=False)):
        [finding] = judge(sizes, process_samples=SAMPLES)
        assert "resident memory grew" in finding.message
    [finding] = judge(GROWING, process_samples=SAMPLES)
    assert "memory of the GPU grew" in finding.message


@pytest.mark.parametrize(
    ("sizes", "reason"),
    [
        (None, "neither allocated sizes"),
        (allocated(1, 2), "too short for its samples"),
        (allocated(5, own=False), "none of the 1 rows"),
    ],
)
def test_it_abstains_without_samples(sizes: Any, reason: str) -> None:
    with pytest.raises(Unavailable, match=reason):
        judge(sizes)


def sampled(sizes: Sequence[float] | np.ndarray) -> Levels:
    times = np.linspace(0, 7_999, len(sizes)).astype(np.int64)
    held = np.array(sizes).astype(np.int64)
    return Levels("process_samples", "resident memory", times, times + 1, held)


def of(sizes: np.ndarray) -> Trend:
    return trend([sampled(sizes)], WINDOW)


def test_lines_grow_by_their_slope_and_saw_teeth_do_not() -> None:
    line = np.linspace(1_000, 9_000, 801)
    assert of(line).rate == pytest.approx(1.0, rel=0.01)
    assert of(line).grown == pytest.approx(7_000, rel=0.01)
    noise = np.random.default_rng(1).integers(0, 300, 801)
    stairs = np.linspace(0, 8, 801).astype(int) * 1_000
    assert all(of(sizes).rising for sizes in (line, line + noise, stairs))
    for teeth in (2, 2.5, 3, 3.7, 5, 8, 13, 40.3):
        for phase in (0.0, 0.3, 0.9):
            at = np.linspace(0, teeth, 801) + phase
            assert not of(1_000 * MIB + (at % 1.0) * 100 * MIB).rising
    for seed in range(20):
        assert not of(np.random.default_rng(seed).normal(1_000, 100, 801)).rising  # level noise
    for place in (0.1, 0.5, 0.9):
        assert not of(np.where(np.linspace(0, 1, 801) < place, 1_000, 9_000)).rising
    assert not of(np.minimum(np.linspace(0, 8, 801), 2.5)).rising


def test_levels_hold_over_parts_and_processes_count_together() -> None:
    found = trend([sampled(np.full(80, 10)), sampled(np.linspace(0, 80, 81))], WINDOW)
    assert (found.floors[0], found.floors[-1]) == (10, 81)
    bounds = np.array([[0, 9_000], [4_000, 100]])
    known = Levels("allocated_sizes", "memory", bounds[:, 0], bounds.sum(axis=1), np.array([5, 3]))
    assert trend([known], WINDOW).floors.tolist() == [5, 5, 5, 5, 3, 5, 5, 5]
