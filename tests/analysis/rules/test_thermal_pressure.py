"""`thermal-pressure`: a hot machine, by the trace or by a monitor."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence, Finding, Severity

Make = Callable[..., pd.DataFrame]
Judge = Callable[..., list[Finding]]
SECOND = 1_000_000_000


@pytest.fixture
def judge(intervals: Make, judged: Judge) -> Judge:
    """Judge a loop of ten seconds by states, or by a monitor's gauges."""
    work = intervals([(0, 10 * SECOND)])
    return lambda states=None, gauges=None, phases=None: judged(
        "thermal-pressure", gpu_intervals=work, thermal_states=states, gauges=gauges, phases=phases
    )


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


def test_a_serious_state_is_reported_with_its_share(judge: Judge, phases: Make) -> None:
    known = states((0, 6, "Nominal"), (6, 2, "Serious"), (8, 4, "Critical"))
    steady = phases(2 * SECOND, 8 * SECOND)
    [finding] = judge(known, phases=steady)
    assert finding.severity is Severity.WARNING
    assert "50.0 %" in finding.message
    assert "at worst Critical." in finding.message
    assert finding.evidence[-1] == Evidence("thermal_states", 8 * SECOND, 10 * SECOND)
    assert len(finding.evidence) == 2


@pytest.mark.parametrize("state", ["Nominal", "Fair", "fair"])
def test_an_equable_state_is_passed(judge: Judge, state: str) -> None:
    assert not judge(states((0, 12, state)))


def test_a_machine_that_warms_up_meanwhile_is_a_note(judge: Judge) -> None:
    known = states((0, 4, "Nominal"), (4, 9, "Fair"))
    [finding] = judge(known)
    assert finding.severity is Severity.NOTE
    assert finding.evidence == (Evidence("thermal_states", 4 * SECOND, 10 * SECOND),)


def test_heat_outside_of_the_steady_window_does_not_matter(judge: Judge, phases: Make) -> None:
    known = states((0, 2, "Critical"), (2, 10, "Nominal"))
    assert not judge(known, phases=phases(2 * SECOND, 8 * SECOND))


def test_an_unknown_state_is_not_guessed(judge: Judge) -> None:
    with pytest.raises(Unavailable, match="unknown ones: Tepid"):
        judge(states((0, 10, "Tepid")))
    with pytest.raises(Unavailable, match="there is none"):
        judge(states((20, 1, "Fair")))


def test_a_monitors_heavy_pressure_is_reported(judge: Judge) -> None:
    [finding] = judge(gauges=gauges(0, 2, 3, 4))
    assert finding.severity is Severity.WARNING
    assert "50.0 % of 4 readings" in finding.message
    assert "at worst Trapping" in finding.message
    assert finding.evidence[0] == Evidence("gauges", 2 * SECOND, 2 * SECOND)


def test_a_monitor_tells_of_warming_up(judge: Judge) -> None:
    [finding] = judge(gauges=gauges(0, 0, 1, 2))
    assert finding.severity is Severity.NOTE
    assert "from Nominal to Moderate" in finding.message
    assert not judge(gauges=gauges(2, 2, 2))


def test_it_abstains_where_nobody_reports(judge: Judge) -> None:
    with pytest.raises(Unavailable, match="no thermal states were recorded, and no monitor"):
        judge()
    late = gauges(0).assign(time=20 * SECOND)
    with pytest.raises(Unavailable, match="no reading of the thermal pressure"):
        judge(gauges=late)
