"""`thermal-pressure`: a hot machine, by the trace or by a monitor."""

from collections.abc import Callable

import pandas as pd
import pytest

from analysed import intervals, judged, phases
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence, Finding, Severity

Make = Callable[..., pd.DataFrame]
Judge = Callable[..., list[Finding]]
SECOND = 1_000_000_000


def judge(states: pd.DataFrame | None = None, **tables: pd.DataFrame | None) -> list[Finding]:
    """Judge a loop of ten seconds by states, or by a monitor's gauges."""
    work = intervals([(0, 10 * SECOND)])
    return judged("thermal-pressure", gpu_intervals=work, thermal_states=states, **tables)


def states(*rows: tuple[int, int, str]) -> pd.DataFrame:
    """Make `thermal_states` of (start, duration, state); s."""
    frame = pd.DataFrame(list(rows), columns=["start", "duration", "state"])
    times = frame[["start", "duration"]] * SECOND
    return frame.assign(**times).astype({"state": "string"})


def gauges(*levels: float) -> pd.DataFrame:
    times = [at * SECOND for at in range(len(levels))]
    frame = pd.DataFrame({"time": times, "value": levels})
    return frame.assign(name="thermal_pressure", source="powermetrics")


def test_a_serious_state_is_reported_with_its_share() -> None:
    known = states((0, 6, "Nominal"), (6, 2, "Serious"), (8, 4, "Critical"))
    [finding] = judge(known, phases=phases(2 * SECOND, 8 * SECOND))
    assert finding.severity is Severity.WARNING
    assert "50.0 %" in finding.message
    assert "at worst Critical." in finding.message
    assert finding.evidence[-1] == Evidence("thermal_states", 8 * SECOND, 10 * SECOND)
    assert len(finding.evidence) == 2


@pytest.mark.parametrize("state", ["Nominal", "Fair", "fair"])
def test_an_equable_state_is_passed(state: str) -> None:
    assert not judge(states((0, 12, state)))
    before = states((0, 2, "Critical"), (2, 10, state))
    assert not judge(before, phases=phases(2 * SECOND, 8 * SECOND))


def test_a_machine_that_warms_up_meanwhile_is_a_note() -> None:
    [finding] = judge(states((0, 4, "Nominal"), (4, 9, "Fair")))
    assert finding.severity is Severity.NOTE
    assert finding.evidence == (Evidence("thermal_states", 4 * SECOND, 10 * SECOND),)
    [finding] = judge(gauges=gauges(0, 0, 1, 2))
    assert finding.severity is Severity.NOTE
    assert "from Nominal to Moderate" in finding.message
    assert not judge(gauges=gauges(2, 2, 2))


def test_a_monitors_heavy_pressure_is_reported() -> None:
    [finding] = judge(gauges=gauges(0, 2, 3, 4))
    assert finding.severity is Severity.WARNING
    assert "50.0 % of 4 readings" in finding.message
    assert "at worst Trapping" in finding.message
    assert finding.evidence[0] == Evidence("gauges", 2 * SECOND, 2 * SECOND)


@pytest.mark.parametrize(
    ("known", "read", "reason"),
    [
        (states((0, 10, "Tepid")), None, "unknown ones: Tepid"),
        (states((20, 1, "Fair")), None, "there is none"),
        (None, None, "no thermal states were recorded, and no monitor"),
        (None, gauges(0).assign(time=20 * SECOND), "no reading of the thermal pressure"),
    ],
)
def test_what_is_not_known_is_not_guessed(
    known: pd.DataFrame | None, read: pd.DataFrame | None, reason: str
) -> None:
    with pytest.raises(Unavailable, match=reason):
        judge(known, gauges=read)
