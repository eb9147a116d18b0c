"""Time below the best state, and the clock that a monitor read."""

import pandas as pd
import pytest

from analysed import table
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Window
from tracekit.analysis.machine import below_best, chip_of, clock, held_state

WINDOW = Window(0, 100, "the steady window")


def states(*rows: tuple[int, int | None, str | None]) -> pd.DataFrame:
    return table("start duration state", *rows, unit=1)


def readings(name: str, *rows: tuple[int, float], source: str = "macmon") -> pd.DataFrame:
    return table("time value", *rows, unit=1, name=name, source=source)


def test_each_lower_state_has_its_own_time() -> None:
    rows = (0, 10, "Minimum"), (10, 20, "Medium"), (40, 10, "Maximum"), (60, 5, "Minimum")
    lower_states = below_best(states(*rows, (63, 2, "Minimum")), WINDOW)
    assert (lower_states.awake, lower_states.states) == (45, {"Medium": 20, "Minimum": 15})
    assert lower_states.share == pytest.approx(35 / 45)
    assert (lower_states.starts.tolist(), lower_states.best) == ([0, 10, 60, 63], (40, 40))


def test_values_outside_of_the_window_are_cut_off() -> None:
    lower_states = below_best(states((-50, 60, "low"), (90, 60, "high"), (500, 5, "Turbo")), WINDOW)
    assert (lower_states.awake, lower_states.states, lower_states.ends.tolist()) == (
        20,
        {"low": 10},
        [10],
    )


def test_a_state_was_held_only_if_settings_say_so() -> None:
    for setting, is_held in (
        ("Induced GPU Performance State: Maximum", True),
        ("Induced GPU Performance State: Default", False),
        ("Counter Set: Performance Limiters", False),
        (None, False),
    ):
        settings = pd.DataFrame({"instrument": ["GPU"], "setting": pd.array([setting], "string")})
        assert held_state(settings, None) is is_held, setting
        switches = pd.DataFrame({"enabled": pd.array([is_held, None], dtype="boolean")})
        assert held_state(None, switches) is is_held, setting


def test_unrankable_values_are_not_ranked() -> None:
    for performance_states, message in (
        (None, "no performance states were recorded"),
        (states((200, 10, "Minimum")), "is noted in the steady window"),
        (states((0, None, "Minimum")), "is noted in the steady window"),
        (states((0, 5, "Maximum"), (5, 5, None)), "rank is not known: no name"),
        (states((0, 5, "Turbo"), (5, 5, "Idle")), "rank is not known: Idle, Turbo"),
    ):
        with pytest.raises(Unavailable, match=message):
            below_best(performance_states, WINDOW)


def test_the_highest_clock_is_that_of_the_whole_run() -> None:
    rows = (-50, 2e9), (70, 0.5e9), (10, 1e9), (50, 1.5e9), (30, 1e9), (40, 0.0)
    read = clock(readings("gpu_clock", *rows), WINDOW, active=0.25)
    assert read.times.tolist() == [10, 30, 50, 70]
    assert (read.best, read.ratio) == (2e9, 0.5)
    assert read.share_below(0.75) == 0.75
    assert read.ends == (1e9, 0.5e9)


def test_a_reading_counts_by_the_activity_of_its_own_moment_and_monitor() -> None:
    clocks = readings("gpu_clock", *[(time, 1e9) for time in (10, 20, 30, 40, 50)])
    idle = readings("gpu_active", (10, 0.1))
    assert clock(pd.concat([clocks, idle]), WINDOW, active=0.25).times.tolist() == [20, 30, 40, 50]
    other_readings = readings("gpu_active", (10, 0.1), source="ioreg")
    assert clock(pd.concat([clocks, other_readings]), WINDOW, active=0.25).times.size == 5
    assert clock(pd.concat([clocks, idle]), WINDOW, active=0.05).times.size == 5


def test_too_few_readings_and_other_gauges_are_not_a_clock() -> None:
    with pytest.raises(Unavailable, match=r"3 readings .* it takes 4"):
        clock(readings("gpu_clock", (1, 1.0), (2, 1.0), (3, 1.0)), WINDOW, active=0.25)
    with pytest.raises(Unavailable, match="macmon, which was read, does not tell gpu_clock"):
        clock(readings("gpu_power", (1, 1.0)), WINDOW, active=0.25)
    workload_readings = readings(
        "gpu_clock", *[(time, 1e9) for time in range(5)], source="workload"
    )
    for gauges in (None, workload_readings):
        with pytest.raises(Unavailable, match="no monitor was read"):
            clock(gauges, WINDOW, active=0.25)


def test_a_virtual_machine_has_no_figures_of_a_chip() -> None:
    assert chip_of({"chip": "Apple M1"}).name == "Apple M1"
    with pytest.raises(Unavailable, match="virtual machine"):
        chip_of({"chip": "Apple M1", "virtual": True})
