"""`thermal-pressure`: a hot machine, by the trace or by a monitor."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence, Severity
from tracekit.analysis.rules import RULES

Make = Callable[..., pd.DataFrame]
judge = RULES["thermal-pressure"].judge
SECOND = 1_000_000_000


@pytest.fixture
def ten_seconds(intervals: Make) -> pd.DataFrame:
    return intervals([(0, 10 * SECOND)])


def states(*rows: tuple[int, int, str], induced: bool = False) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "start": [start * SECOND for start, _, _ in rows],
            "duration": pd.array([length * SECOND for _, length, _ in rows], dtype="Int64"),
            "state": pd.array([state for _, _, state in rows], dtype="string"),
            "induced": pd.array([induced] * len(rows), dtype="boolean"),
        }
    )


def gauges(*levels: float) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "time": [at * SECOND for at in range(len(levels))],
            "name": "thermal_pressure",
            "value": pd.array(levels, dtype="Float64"),
            "source": "powermetrics",
        }
    )


def test_a_serious_state_is_reported_with_its_share(
    ten_seconds: pd.DataFrame, targets: pd.DataFrame, phases: Make
) -> None:
    known = states((0, 6, "Nominal"), (6, 2, "Serious"), (8, 4, "Critical"))
    steady = phases(2 * SECOND, 8 * SECOND)
    [finding] = judge(ten_seconds, targets, steady, known, None)
    assert finding.severity is Severity.WARNING
    assert "50.0 %" in finding.message
    assert "at worst Critical." in finding.message
    assert finding.evidence[-1] == Evidence("thermal_states", 8 * SECOND, 10 * SECOND)
    assert len(finding.evidence) == 2


@pytest.mark.parametrize("state", ["Nominal", "Fair", "fair"])
def test_an_equable_state_is_passed(
    ten_seconds: pd.DataFrame, targets: pd.DataFrame, state: str
) -> None:
    assert not list(judge(ten_seconds, targets, None, states((0, 12, state)), None))


def test_a_machine_that_warms_up_meanwhile_is_a_note(
    ten_seconds: pd.DataFrame, targets: pd.DataFrame
) -> None:
    known = states((0, 4, "Nominal"), (4, 9, "Fair"))
    [finding] = judge(ten_seconds, targets, None, known, None)
    assert finding.severity is Severity.NOTE
    assert finding.evidence == (Evidence("thermal_states", 4 * SECOND, 10 * SECOND),)


def test_heat_outside_of_the_steady_window_does_not_matter(
    ten_seconds: pd.DataFrame, targets: pd.DataFrame, phases: Make
) -> None:
    known = states((0, 2, "Critical"), (2, 10, "Nominal"))
    assert not list(judge(ten_seconds, targets, phases(2 * SECOND, 8 * SECOND), known, None))


def test_an_unknown_state_is_not_guessed(ten_seconds: pd.DataFrame, targets: pd.DataFrame) -> None:
    with pytest.raises(Unavailable, match="unknown ones: Tepid"):
        list(judge(ten_seconds, targets, None, states((0, 10, "Tepid")), None))
    with pytest.raises(Unavailable, match="there is none"):
        list(judge(ten_seconds, targets, None, states((20, 1, "Fair")), None))


def test_a_monitors_heavy_pressure_is_reported(
    ten_seconds: pd.DataFrame, targets: pd.DataFrame
) -> None:
    [finding] = judge(ten_seconds, targets, None, None, gauges(0, 2, 3, 4))
    assert finding.severity is Severity.WARNING
    assert "50.0 % of 4 readings" in finding.message
    assert "at worst Trapping" in finding.message
    assert finding.evidence[0] == Evidence("gauges", 2 * SECOND, 2 * SECOND)


def test_a_monitor_tells_of_warming_up(ten_seconds: pd.DataFrame, targets: pd.DataFrame) -> None:
    [finding] = judge(ten_seconds, targets, None, None, gauges(0, 0, 1, 2))
    assert finding.severity is Severity.NOTE
    assert "from Nominal to Moderate" in finding.message
    assert not list(judge(ten_seconds, targets, None, None, gauges(2, 2, 2)))


def test_it_abstains_where_nobody_reports(ten_seconds: pd.DataFrame, targets: pd.DataFrame) -> None:
    with pytest.raises(Unavailable, match="no thermal states were recorded, and no monitor"):
        list(judge(ten_seconds, targets, None, None, None))
    late = gauges(0).assign(time=20 * SECOND)
    with pytest.raises(Unavailable, match="no reading of the thermal pressure"):
        list(judge(ten_seconds, targets, None, None, late))
