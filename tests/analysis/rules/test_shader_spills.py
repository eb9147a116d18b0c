"""`shader-spills`: registers that went to memory in the steady window."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence, Severity
from tracekit.analysis.rules import RULES

Make = Callable[..., pd.DataFrame]
judge = RULES["shader-spills"].judge
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
def steady(intervals: Make, phases: Make) -> tuple[pd.DataFrame, pd.DataFrame]:
    return intervals([(0, 200 * MS)]), phases(100 * MS, 100 * MS)


def test_spills_of_the_steady_window_are_found_and_named(
    steady: tuple[pd.DataFrame, pd.DataFrame], targets: pd.DataFrame
) -> None:
    frame, marks = steady
    table = spills((50, 6, 999 * KIB), (110, 7, 3 * KIB), (120, 8, KIB), (130, 9, 4 * KIB))
    [finding] = judge(table, frame, targets, marks, labelled(sdpa=7, norm=8, gemm=9))
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


def test_an_encoder_that_spills_twice_counts_once(
    steady: tuple[pd.DataFrame, pd.DataFrame], targets: pd.DataFrame
) -> None:
    frame, marks = steady
    [finding] = judge(spills((110, 7, KIB), (120, 7, KIB)), frame, targets, marks, None)
    assert "in 1 encoder of the steady window: 2 KiB" in finding.message
    [finding] = judge(spills((110, None, KIB), (120, None, KIB)), frame, targets, marks, None)
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
    steady: tuple[pd.DataFrame, pd.DataFrame], targets: pd.DataFrame, table: pd.DataFrame
) -> None:
    frame, marks = steady
    assert not list(judge(table, frame, targets, marks, None))


def test_the_limit_is_in_bytes(
    steady: tuple[pd.DataFrame, pd.DataFrame], targets: pd.DataFrame
) -> None:
    frame, marks = steady
    table = spills((110, 7, KIB))
    assert not list(judge(table, frame, targets, marks, None, limit=KIB))
    assert len(list(judge(table, frame, targets, marks, None, limit=KIB - 1))) == 1


def test_labels_that_are_not_known_are_not_made_up(
    steady: tuple[pd.DataFrame, pd.DataFrame], targets: pd.DataFrame
) -> None:
    frame, marks = steady
    [finding] = judge(spills((110, 7, KIB)), frame, targets, marks, labelled(sdpa=1))
    assert "By label" not in finding.message


def test_more_than_three_labels_are_counted(
    steady: tuple[pd.DataFrame, pd.DataFrame], targets: pd.DataFrame
) -> None:
    frame, marks = steady
    table = spills(*((110, one, KIB) for one in range(1, 6)))
    [finding] = judge(table, frame, targets, marks, labelled(a=1, b=2, c=3, d=4, e=5))
    assert finding.message.endswith("a 20.0 %, b 20.0 %, c 20.0 % and 2 more.")


def test_it_abstains_where_spills_are_not_recorded(
    steady: tuple[pd.DataFrame, pd.DataFrame], targets: pd.DataFrame, intervals: Make
) -> None:
    frame, marks = steady
    with pytest.raises(Unavailable, match="new with the Instruments of Xcode 27"):
        list(judge(None, frame, targets, marks, None))
    with pytest.raises(Unavailable, match="the work ran on the CPU"):
        list(judge(None, intervals([(0, MS)], clock="host"), targets, marks, None))
