"""`memory-growth`: memory that the target keeps."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rules import RULES

Make = Callable[..., pd.DataFrame]
judge = RULES["memory-growth"].judge
SECOND = 1_000_000_000
MIB = 1 << 20


@pytest.fixture
def work(intervals: Make) -> pd.DataFrame:
    return intervals([(0, 8 * SECOND)])


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


def machine(memory: int | None = None) -> pd.DataFrame:
    return pd.DataFrame({"memory": pd.array([memory], dtype="Int64")})


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


def test_growth_is_reported_by_second_step_and_token(
    work: pd.DataFrame, targets: pd.DataFrame
) -> None:
    [finding] = judge(work, targets, None, GROWING, None, steps(2), None, machine(480 * MIB))
    assert "from 100 MiB to 240 MiB" in finding.message
    assert "20 MiB a second, 10 MiB a step, 5 MiB a token." in finding.message
    assert "50.0 % of the machine's 480 MiB" in finding.message
    assert "after another 12 s" in finding.message
    assert len(finding.evidence) == 8
    assert finding.evidence[0].note == "at least 100 MiB"
    assert finding.saving is None


def test_what_is_not_known_is_left_out(work: pd.DataFrame, targets: pd.DataFrame) -> None:
    [finding] = judge(work, targets, None, GROWING, None, steps(0), None, machine())
    assert "10 MiB a step." in finding.message
    assert "machine" not in finding.message
    [alone] = judge(work, targets, None, GROWING, None, None, None, machine())
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
def test_what_does_not_grow_or_hardly_is_passed(
    sizes: tuple[int, ...], work: pd.DataFrame, targets: pd.DataFrame
) -> None:
    assert not list(judge(work, targets, None, allocated(*sizes), None, None, None, machine()))


def test_a_cache_that_grows_as_it_says_is_passed(work: pd.DataFrame, targets: pd.DataFrame) -> None:
    kept = held(10, 30, 50, 70, 90, 110, 130, 150)
    assert not list(judge(work, targets, None, GROWING, None, None, kept, machine()))
    less = held(10, 10, 10, 10, 10, 10, 10, 60)
    [finding] = judge(work, targets, None, GROWING, None, None, less, machine())
    assert "says that it keeps 50 MiB" in finding.message
    foreign = kept.assign(source="macmon")
    assert len(list(judge(work, targets, None, GROWING, None, None, foreign, machine()))) == 1


def test_resident_memory_serves_where_there_is_no_other(
    intervals: Make, targets: pd.DataFrame
) -> None:
    samples = pd.DataFrame(
        {
            "time": GROWING["start"],
            "memory": GROWING["size"],
            "pid": GROWING["pid"],
            "target": True,
        }
    )
    frame = intervals([(0, 8 * SECOND)], clock="host")
    [finding] = judge(frame, targets, None, None, samples, None, None, machine())
    assert "resident memory grew" in finding.message


def test_it_abstains_without_samples(work: pd.DataFrame, targets: pd.DataFrame) -> None:
    with pytest.raises(Unavailable, match="neither allocated sizes"):
        list(judge(work, targets, None, None, None, None, None, machine()))
    with pytest.raises(Unavailable, match="too short for its samples"):
        list(judge(work, targets, None, allocated(1, 2), None, None, None, machine()))
