"""Rules on the machine: who else used the GPU, how fast it was clocked, how hot it became.

`gpu-contended`, `gpu-downclocked`, `thermal-pressure`. Times are in seconds.
"""

import pandas as pd
import pytest

from analysed import SECOND, Golden, intervals, judge_tables, phases, table
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Finding, Severity


def judge_contention(
    target_rows: list[tuple[int, int]],
    other_rows: list[tuple[int, int]],
    window: tuple[int, int] | None = None,
    latencies: list[int | None] | None = None,
    **tables: pd.DataFrame,
) -> list[Finding]:
    """Judge work of (start, duration) of the target and of others, in a window."""
    rows = [
        [(start * SECOND, length * SECOND) for start, length in pieces]
        for pieces in (target_rows, other_rows)
    ]
    work = intervals(*rows, latencies=latencies).assign(channel="Compute")
    if window is not None:
        tables["phases"] = phases(*(time * SECOND for time in window))
    return judge_tables("gpu-contended", gpu_intervals=work, **tables)


def test_concurrent_work_is_named_with_its_owner_and_its_delay(
    golden: Golden,
) -> None:
    overlaps = judge_contention([(0, 10), (10, 10)], [(5, 2), (30, 1)])
    # Committed 1 s into the gap, while the other had begun: only the driver's table tells that
    # the rest was the other's.
    latencies = [1_000, 9 * SECOND]
    driver = table("start duration", (0, 1), target=True, depth=0)
    driver_tables = {"driver_intervals": driver, "driver_events": driver.iloc[:0].assign(event="")}
    work = [(0, 5), (15, 5)], [(5, 9)]
    [late] = judge_contention(*work, latencies=latencies, **driver_tables)
    assert late.saving == 8 * SECOND
    golden(*overlaps, late, *judge_contention(*work, latencies=latencies))
    frame = intervals([(0, 10)], other_times=[(0, 5)])
    frame.loc[~frame["target"], ["process", "pid"]] = pd.NA
    [finding] = judge_tables("gpu-contended", gpu_intervals=frame)
    assert "unknown process" in str(finding.fact("owners"))


def test_only_work_at_the_same_time_as_the_targets_counts() -> None:
    for target_rows, other_rows, window, is_found in (
        ([(0, 5), (15, 5)], [(5, 10)], None, False),  # while the target has nothing
        ([(0, 100)], [(0, 4), (1, 3)], None, False),  # overlaps count once
        ([(0, 100)], [(0, 5)], None, False),
        ([(0, 100)], [(0, 4), (95, 2)], None, True),
        ([(100, 100)], [(0, 90)], (100, 100), False),  # outside of the steady window
    ):
        assert bool(judge_contention(target_rows, other_rows, window)) == is_found


def states(*rows: tuple[int, int, str], induced: bool = False) -> pd.DataFrame:
    return table("start duration state", *rows, unit=SECOND, induced=induced)


def clocks(*gigahertz: float) -> pd.DataFrame:
    """Make `gauges` of a reading a second."""
    rows = [(second, hertz * 1e9) for second, hertz in enumerate(gigahertz)]
    return table("time value", *rows, unit=SECOND, name="gpu_clock", source="macmon")


def judge_clock(*target_rows: tuple[float, float], **tables: pd.DataFrame) -> list[Finding]:
    rows = [(round(start * SECOND), round(length * SECOND)) for start, length in target_rows]
    return judge_tables("gpu-downclocked", gpu_intervals=intervals(rows), **tables)


def test_time_below_the_best_state_or_clock_is_reported(golden: Golden) -> None:
    window = phases(SECOND, 9 * SECOND)
    slow = states((0, 3, "Minimum"), (4, 2, "Maximum"))
    slow_findings = judge_clock((1, 9), phases=window, gpu_performance_states=slow)
    # The column `induced` says nothing, and the settings do.
    medium = states((0, 2, "Medium"), induced=True)
    alone = judge_clock((0, 2), gpu_performance_states=medium)
    switches = pd.DataFrame({"enabled": pd.array([True], dtype="boolean")})
    held_findings = judge_clock(
        (0, 2), gpu_performance_states=medium, gpu_performance_settings=switches
    )
    # Half of the 3 s in which the target was on the device.
    window, read = phases(3 * SECOND, 4 * SECOND), clocks(1.4, 1.4, 1.4, 0.7, 0.7, 0.7, 0.7)
    [clock_finding] = judge_clock((0, 1), (2, 4), phases=window, gauges=read)
    assert clock_finding.saving == 1.5 * SECOND
    falling = judge_clock((0, 6), gauges=clocks(1.4, 1.2, 1.0, 0.9, 0.8, 0.7))
    golden(*slow_findings, *alone, *held_findings, clock_finding, *falling)
    # A ramp is half a second of work, however long it takes.
    ramp = states((0, 2, "Minimum"), (2, 3, "Maximum"))
    for slow_time, severity in ((0.5, Severity.NOTE), (0.6, Severity.WARNING)):
        [finding] = judge_clock((0, slow_time), (2, 3), gpu_performance_states=ramp)
        assert finding.severity is severity
    # What the clock did while nobody asked for anything does not count.
    long = states((0, 2, "Minimum"), (2, 8, "Maximum"))
    assert not judge_clock((0, 0.5), (2, 8), gpu_performance_states=long)
    # A single low reading is chance.
    assert not judge_clock((0, 9), gauges=clocks(0.7, *[1.4] * 8))
    assert len(judge_clock((0, 9), gauges=clocks(0.7, 0.7, *[1.4] * 7))) == 1


def test_a_state_of_unknown_rank_leaves_the_clock_to_judge() -> None:
    turbo = states((0, 4, "Turbo"))
    with pytest.raises(Unavailable, match=r"rank is not known: Turbo .* no monitor was read"):
        judge_clock((0, 4), gpu_performance_states=turbo)
    read = clocks(1.4, 0.7, 0.7, 0.7, 0.7)
    assert len(judge_clock((0, 4), gpu_performance_states=turbo, gauges=read)) == 1


def judge_heat(thermal: pd.DataFrame | None = None, **tables: pd.DataFrame | None) -> list[Finding]:
    """Judge a loop of ten seconds by states, or by a monitor's gauges."""
    work = intervals([(0, 10 * SECOND)])
    return judge_tables("thermal-pressure", gpu_intervals=work, thermal_states=thermal, **tables)


def levels(*pressures: float) -> pd.DataFrame:
    """Make `gauges` of a level of the thermal pressure each second."""
    cells = {"name": "thermal_pressure", "source": "powermetrics"}
    return table("time value", *enumerate(pressures), unit=SECOND, **cells)


LATER = phases(2 * SECOND, 8 * SECOND)


def test_heat_is_reported_with_its_share_and_warming_up_is_a_note(golden: Golden) -> None:
    hot = states((0, 6, "Nominal"), (6, 2, "Serious"), (8, 4, "Critical"))
    warming = states((0, 4, "Nominal"), (4, 9, "Fair"))
    found = [judge_heat(hot, phases=LATER), judge_heat(states(), gauges=levels(0, 2, 3, 4))]
    notes = [judge_heat(warming), judge_heat(gauges=levels(0, 0, 1, 2)[::-1])]
    assert {finding.severity for found in notes for finding in found} == {Severity.NOTE}
    golden(*(finding for group in (*found, *notes) for finding in group))
    assert not judge_heat(gauges=levels(2, 2, 2))
    assert not judge_heat(states((0, 3, "Fair"), (3, 9, "Nominal")), phases=LATER)  # it cooled down
    for equable in ("Nominal", "Fair", "fair"):
        assert not judge_heat(states((0, 12, equable))), equable
        assert not judge_heat(states((0, 2, "Critical"), (2, 10, equable)), phases=LATER), equable


def test_unknown_machines_are_not_guessed() -> None:
    for thermal_states, read, reason in (
        (states((0, 10, "Tepid")), None, "unknown ones: Tepid"),
        (states((20, 1, "Fair")), None, "there is none"),
        (None, None, "no thermal states were recorded, and no monitor"),
        (None, levels(0).assign(time=20 * SECOND), "no reading of the thermal pressure"),
    ):
        with pytest.raises(Unavailable, match=reason):
            judge_heat(thermal_states, gauges=read)
