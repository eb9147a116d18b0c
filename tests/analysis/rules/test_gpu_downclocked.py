"""`gpu-downclocked`: performance states and clocks below the best."""

import pandas as pd
import pytest

from analysed import intervals, judged, phases
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence, Severity

SECOND = 1_000_000_000


def states(*rows: tuple[int, int, str | None], induced: bool = False) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "start": [start for start, _, _ in rows],
            "duration": pd.array([length for _, length, _ in rows], dtype="Int64"),
            "state": pd.array([state for _, _, state in rows], dtype="string"),
            "induced": pd.array([induced] * len(rows), dtype="boolean"),
        }
    )


def gauges(clocks: list[float], active: list[float] | None = None) -> pd.DataFrame:
    rows = [(at * SECOND, "gpu_clock", hertz) for at, hertz in enumerate(clocks)]
    rows += [(at * SECOND, "gpu_active", ratio) for at, ratio in enumerate(active or [])]
    frame = pd.DataFrame(rows, columns=["time", "name", "value"])
    return frame.astype({"name": "string", "value": "Float64"}).assign(source="macmon")


def test_time_below_the_best_state_is_reported_of_the_time_awake() -> None:
    frame = intervals([(SECOND, 9 * SECOND)])
    slow = states((0, 3 * SECOND, "Minimum"), (4 * SECOND, 2 * SECOND, "Maximum"))
    [finding] = judged(
        "gpu-downclocked",
        gpu_intervals=frame,
        phases=phases(SECOND, 9 * SECOND),
        gpu_performance_states=slow,
    )
    assert finding.severity is Severity.WARNING
    assert "50.0 % of the 4 s" in finding.message
    assert "Minimum 2 s" in finding.message
    assert finding.evidence == (Evidence("gpu_performance_states", SECOND, 3 * SECOND),)
    assert finding.saving is None


def test_the_column_induced_says_nothing_and_the_settings_do() -> None:
    tables = {
        "gpu_intervals": intervals([(0, 2 * SECOND)]),
        "gpu_performance_states": states((0, 2 * SECOND, "Medium"), induced=True),
    }
    [finding] = judged("gpu-downclocked", **tables)
    assert finding.severity is Severity.WARNING
    assert "held" not in finding.advice
    switches = pd.DataFrame({"enabled": pd.array([True], dtype="boolean")})
    [finding] = judged("gpu-downclocked", **tables, gpu_performance_settings=switches)
    assert finding.severity is Severity.NOTE
    assert "held the GPU at a state" in finding.advice


def test_a_low_clock_saves_what_the_highest_would_have_won() -> None:
    frame = intervals([(0, SECOND), (2 * SECOND, 4 * SECOND)])
    clocks = gauges([1.4e9, 1.4e9, 1.4e9, 0.7e9, 0.7e9, 0.7e9, 0.7e9])
    [finding] = judged(
        "gpu-downclocked", gpu_intervals=frame, phases=phases(3 * SECOND, 4 * SECOND), gauges=clocks
    )
    assert finding.saving == 1.5 * SECOND  # half of the 3 s in which the target was on the device
    assert "50.0 % of the run's highest, 1.40 GHz" in finding.message
    assert finding.evidence[0] == Evidence("gauges", 3 * SECOND, 3 * SECOND, "700 MHz")


def test_a_single_low_reading_is_chance() -> None:
    frame = intervals([(0, 9 * SECOND)])
    once, twice = [0.7e9] + [1.4e9] * 8, [0.7e9] * 2 + [1.4e9] * 7
    assert not judged("gpu-downclocked", gpu_intervals=frame, gauges=gauges(once))
    assert len(judged("gpu-downclocked", gpu_intervals=frame, gauges=gauges(twice))) == 1


def test_a_state_of_unknown_rank_leaves_the_clock_to_judge() -> None:
    tables = {
        "gpu_intervals": intervals([(0, 4 * SECOND)]),
        "gpu_performance_states": states((0, 4 * SECOND, "Turbo")),
    }
    with pytest.raises(Unavailable, match=r"rank is not known: Turbo .* no monitor was read"):
        judged("gpu-downclocked", **tables)
    clocks = gauges([1.4e9, 0.7e9, 0.7e9, 0.7e9, 0.7e9])
    assert len(judged("gpu-downclocked", **tables, gauges=clocks)) == 1
