"""`memory-growth`: memory that the target keeps."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Finding
from tracekit.base.recording import Provenance

Make = Callable[..., pd.DataFrame]
Judge = Callable[..., list[Finding]]
SECOND = 1_000_000_000
MIB = 1 << 20


@pytest.fixture
def judge(intervals: Make, judged: Judge) -> Judge:
    """Judge a loop of eight seconds on a machine with so many MiB."""
    phases = pd.DataFrame({"name": ["steady"], "start": [0], "duration": [8 * SECOND]})

    def judge(sizes: pd.DataFrame | None, memory: int | None = None, **tables: Any) -> Any:
        tables = {"gpu_intervals": intervals([(0, 8 * SECOND)]), "phases": phases, **tables}
        machine = Provenance(machine={} if memory is None else {"memory": memory * MIB})
        return judged("memory-growth", provenance=machine, allocated_sizes=sizes, **tables)

    return judge


def allocated(*sizes: int) -> pd.DataFrame:
    """Make levels of a second each, in MiB."""
    return pd.DataFrame(
        {
            "start": [at * SECOND for at in range(len(sizes))],
            "duration": pd.array([SECOND] * len(sizes), dtype="Int64"),
            "size": pd.array([size * MIB for size in sizes], dtype="Int64"),
            "pid": pd.array([4711] * len(sizes), dtype="Int64"),
            "target": True,
        }
    )


def steps(tokens: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "start": [at * SECOND // 2 for at in range(14)],
            "duration": pd.array([SECOND // 2] * 14, dtype="Int64"),
            "phase": "steady",
            "tokens": pd.array([tokens] * 14, dtype="Int64"),
        }
    )


def held(*sizes: int, source: str = "workload") -> pd.DataFrame:
    return pd.DataFrame(
        {
            "time": [at * SECOND for at in range(len(sizes))],
            "name": "bytes_held",
            "value": pd.array([size * MIB for size in sizes], dtype="Float64"),
            "source": source,
        }
    )


GROWING = allocated(100, 120, 140, 160, 180, 200, 220, 240)


def test_growth_is_reported_by_second_step_and_token(judge: Judge) -> None:
    [finding] = judge(GROWING, 480, steps=steps(2))
    assert "from 100 MiB to 240 MiB" in finding.message
    assert "20 MiB a second, 10 MiB a step, 5 MiB a token." in finding.message
    assert "50.0 % of the machine's 480 MiB" in finding.message
    assert "after another 12 s" in finding.message
    assert len(finding.evidence) == 8
    assert finding.evidence[0].note == "at least 100 MiB"
    assert finding.saving is None


def test_what_is_not_known_is_left_out(judge: Judge) -> None:
    [finding] = judge(GROWING, steps=steps(0))
    assert "10 MiB a step." in finding.message
    assert "machine" not in finding.message
    [alone] = judge(GROWING)
    assert "a step" not in alone.message


@pytest.mark.parametrize(
    "sizes",
    [
        (100, 150, 100, 150, 100, 150, 100, 150),
        (100, 100, 100, 300, 300, 300, 300, 300),
        (100, 104, 108, 112, 116, 120, 124, 128),
        (1000, 1005, 1010, 1015, 1020, 1025, 1030, 1035),
        (240, 220, 200, 180, 160, 140, 120, 100),
    ],
)
def test_what_does_not_grow_or_hardly_is_passed(sizes: tuple[int, ...], judge: Judge) -> None:
    assert not judge(allocated(*sizes))


def test_a_cache_that_grows_as_it_says_is_passed(judge: Judge) -> None:
    kept = held(10, 30, 50, 70, 90, 110, 130, 150)
    assert not judge(GROWING, gauges=kept)
    less = held(10, 10, 10, 10, 10, 10, 10, 60)
    [finding] = judge(GROWING, gauges=less)
    assert "says that it keeps 50 MiB" in finding.message
    foreign = kept.assign(source="macmon")
    assert len(judge(GROWING, gauges=foreign)) == 1


def test_resident_memory_serves_where_there_is_no_other(intervals: Make, judge: Judge) -> None:
    samples = pd.DataFrame(
        {
            "time": GROWING["start"],
            "memory": GROWING["size"],
            "pid": GROWING["pid"],
            "target": True,
        }
    )
    frame = intervals([(0, 8 * SECOND)], clock="host")
    [finding] = judge(None, gpu_intervals=frame, process_samples=samples)
    assert "resident memory grew" in finding.message


def test_it_abstains_without_samples(judge: Judge) -> None:
    with pytest.raises(Unavailable, match="neither allocated sizes"):
        judge(None)
    with pytest.raises(Unavailable, match="too short for its samples"):
        judge(allocated(1, 2))
