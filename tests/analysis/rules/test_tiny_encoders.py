"""`tiny-encoders`: time between many short pieces of work."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Finding, Severity
from tracekit.analysis.rules import RULES

Make = Callable[..., pd.DataFrame]
US = 1_000


def judge(
    frame: pd.DataFrame, targets: pd.DataFrame, steps: pd.DataFrame | None = None, **limits: float
) -> list[Finding]:
    return list(RULES["tiny-encoders"].judge(frame, targets, None, steps, **limits))


def pieces(
    intervals: Make, work: int, gap: int, per_buffer: int = 1_000, number: int = 200
) -> pd.DataFrame:
    frame = intervals([(at * (work + gap) * US, work * US) for at in range(number)])
    buffers = [at // per_buffer for at in range(number)]
    return frame.assign(command_buffer=pd.array(buffers, dtype="UInt64"))


def test_gaps_between_short_pieces_are_found(
    intervals: Make, targets: pd.DataFrame, row_of_steps: Make
) -> None:
    [finding] = judge(pieces(intervals, 10, 5), targets, row_of_steps([100] * 20))
    assert finding.severity is Severity.WARNING
    assert "100.0 % of the target's 200 device intervals" in finding.message
    assert "shorter than 50 µs, 10 per step and 10 per token" in finding.message
    # 2 ms of work would do with 40 pieces of 50 µs instead of 200.
    assert finding.saving == round(199 * 5 * US * 0.8)
    assert len(finding.evidence) == 20


def test_without_steps_it_counts_all(intervals: Make, targets: pd.DataFrame) -> None:
    [finding] = judge(pieces(intervals, 10, 5), targets)
    assert "shorter than 50 µs. They take" in finding.message


@pytest.mark.parametrize(
    ("work", "gap", "per_buffer"),
    [
        pytest.param(60, 10, 1_000, id="long pieces"),
        pytest.param(40, 1, 1_000, id="short gaps"),
        pytest.param(10, 200, 1_000, id="gaps that are no launches"),
        pytest.param(10, 5, 1, id="gaps between command buffers"),
    ],
)
def test_it_is_silent_on(
    work: int, gap: int, per_buffer: int, intervals: Make, targets: pd.DataFrame
) -> None:
    assert not judge(pieces(intervals, work, gap, per_buffer), targets)


def test_few_short_pieces_are_silent(intervals: Make, targets: pd.DataFrame) -> None:
    frame = pieces(intervals, 60, 10)
    frame.loc[:90, "duration"] = 40 * US
    assert not judge(frame, targets)
    frame.loc[:120, "duration"] = 40 * US
    assert judge(frame, targets)


def test_thresholds_can_be_set(intervals: Make, targets: pd.DataFrame) -> None:
    assert judge(pieces(intervals, 60, 10), targets, short=100 * US)
    assert not judge(pieces(intervals, 10, 5), targets, limit=0.5)


def test_it_abstains_on_a_cpu(intervals: Make, targets: pd.DataFrame) -> None:
    frame = pieces(intervals, 10, 5).assign(clock="host")
    with pytest.raises(Unavailable, match="ran on the CPU"):
        judge(frame, targets)
