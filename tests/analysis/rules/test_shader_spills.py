"""`shader-spills`: registers that went to memory in the steady window."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence, Finding, Severity

Make = Callable[..., pd.DataFrame]
Judge = Callable[..., list[Finding]]
MS = 1_000_000
KIB = 1_024


def spills(*rows: tuple[int, int | None, int], target: bool = True) -> pd.DataFrame:
    """Make the table of (time, encoder, bytes)."""
    times, encoders, bytes_ = zip(*rows, strict=True) if rows else ((), (), ())
    return pd.DataFrame(
        {
            "time": pd.array([one * MS for one in times], dtype="int64"),
            "encoder": pd.array(encoders, dtype="UInt64"),
            "spilled": pd.array(bytes_, dtype="Int64"),
            "target": pd.array([target] * len(times), dtype="boolean"),
        }
    )


def labelled(**labels: int) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "encoder": pd.array(list(labels.values()), dtype="UInt64"),
            "label": pd.array(list(labels), dtype="string"),
        }
    )


@pytest.fixture
def judge(intervals: Make, phases: Make, judged: Judge) -> Judge:
    work = {"gpu_intervals": intervals([(0, 200 * MS)]), "phases": phases(100 * MS, 100 * MS)}
    return lambda spills, encoders=None, **limits: judged(
        "shader-spills", limits, shader_spills=spills, encoders=encoders, **work
    )


def test_spills_of_the_steady_window_are_found_and_named(judge: Judge) -> None:
    table = spills((50, 6, 999 * KIB), (110, 7, 3 * KIB), (120, 8, KIB), (130, 9, 4 * KIB))
    [finding] = judge(table, labelled(sdpa=7, norm=8, gemm=9))
    assert finding.severity is Severity.WARNING
    assert finding.saving is None
    assert finding.message == (
        "Shaders of the target spilled registers in 3 encoders of the steady window: 8 KiB in "
        "all, 3 KiB in the median. By label: gemm 50.0 %, sdpa 37.5 %, norm 12.5 %."
    )
    assert finding.evidence == (
        Evidence("shader_spills", 130 * MS, 130 * MS, "4 KiB"),
        Evidence("shader_spills", 110 * MS, 110 * MS, "3 KiB"),
        Evidence("shader_spills", 120 * MS, 120 * MS, "1 KiB"),
    )


def test_an_encoder_that_spills_twice_counts_once(judge: Judge) -> None:
    [finding] = judge(spills((110, 7, KIB), (120, 7, KIB)))
    assert "in 1 encoder of the steady window: 2 KiB" in finding.message
    [finding] = judge(spills((110, None, KIB), (120, None, KIB)))
    assert "in 2 encoders" in finding.message


@pytest.mark.parametrize(
    "table",
    [
        pytest.param(spills(), id="none"),
        pytest.param(spills((50, 7, KIB)), id="while warming up"),
        pytest.param(spills((110, 7, 0)), id="of no size"),
        pytest.param(spills((110, 7, KIB), target=False), id="of another process"),
    ],
)
def test_nothing_is_said_where_the_target_spilled_nothing(
    judge: Judge, table: pd.DataFrame
) -> None:
    assert not judge(table)


def test_the_limit_is_in_bytes(judge: Judge) -> None:
    table = spills((110, 7, KIB))
    assert not judge(table, limit=KIB)
    assert len(judge(table, limit=KIB - 1)) == 1


def test_labels_that_are_not_known_are_not_made_up(judge: Judge) -> None:
    [finding] = judge(spills((110, 7, KIB)), labelled(sdpa=1))
    assert "By label" not in finding.message


def test_more_than_three_labels_are_counted(judge: Judge) -> None:
    table = spills(*((110, one, KIB) for one in range(1, 6)))
    [finding] = judge(table, labelled(a=1, b=2, c=3, d=4, e=5))
    assert finding.message.endswith("a 20.0 %, b 20.0 %, c 20.0 % and 2 more.")


def test_it_abstains_where_spills_are_not_recorded(
    judge: Judge, judged: Judge, intervals: Make
) -> None:
    with pytest.raises(Unavailable, match="new with the Instruments of Xcode 27"):
        judge(None)
    with pytest.raises(Unavailable, match="the work ran on the CPU"):
        judged("shader-spills", gpu_intervals=intervals([(0, MS)], clock="host"))
