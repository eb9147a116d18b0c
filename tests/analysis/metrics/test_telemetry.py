"""Clock, heat and power in the steady window, by a monitor."""

from collections.abc import Callable

import pandas as pd
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.metrics import METRICS

Make = Callable[..., pd.DataFrame]
NAMES = ("gpu_clock_p50", "gpu_clock_min", "gpu_power_p50", "thermal_pressure_worst")


def gauges(*rows: tuple[int, str, float, str]) -> pd.DataFrame:
    frame = pd.DataFrame(rows, columns=["time", "name", "value", "source"])
    return frame.astype({"name": "string", "source": "string"})


READ = gauges(
    (0, "gpu_clock", 444e6, "powermetrics"),
    (1_000, "gpu_clock", 1.4e9, "powermetrics"),
    (1_500, "gpu_clock", 1.2e9, "powermetrics"),
    (2_000, "gpu_clock", 1.0e9, "powermetrics"),
    (1_500, "gpu_power", 17.0, "powermetrics"),
    (2_000, "gpu_power", 19.0, "powermetrics"),
    (1_000, "thermal_pressure", 0, "powermetrics"),
    (1_500, "thermal_pressure", 2, "powermetrics"),
    (9_000, "thermal_pressure", 4, "powermetrics"),
)


def test_the_steady_window_counts_alone(phases: Make) -> None:
    window = phases(1_000, 1_000)
    assert [METRICS[name].measure(READ, window) for name in NAMES] == [1.2e9, 1.0e9, 18.0, 2]


def test_without_phases_all_of_the_run_counts() -> None:
    assert METRICS["gpu_clock_min"].measure(READ, None) == 444e6
    assert METRICS["thermal_pressure_worst"].measure(READ, None) == 4


def test_a_run_that_never_became_steady_counts_whole(phases: Make) -> None:
    window = phases(1_000, 1_000)
    warm = window[window["name"] == "warm-up"]
    assert METRICS["gpu_clock_min"].measure(READ, warm) == 444e6


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("read", [None, READ.iloc[:0]])
def test_without_a_monitor_nothing_is_known(name: str, read: pd.DataFrame | None) -> None:
    with pytest.raises(Unavailable, match=r"no monitor was read; .*--telemetry"):
        METRICS[name].measure(read, None)


def test_gauges_of_the_workload_are_no_monitors() -> None:
    own = gauges((0, "gpu_clock", 1.0, "workload"))
    with pytest.raises(Unavailable, match="no monitor was read"):
        METRICS["gpu_clock_p50"].measure(own, None)


def test_a_monitor_that_does_not_tell_it_is_named() -> None:
    active = gauges((0, "gpu_active", 0.5, "ioreg"), (0, "blocks", 3, "workload"))
    with pytest.raises(Unavailable, match="ioreg, which was read, does not tell gpu_clock"):
        METRICS["gpu_clock_p50"].measure(active, None)
    with pytest.raises(Unavailable, match="powermetrics tells the thermal pressure"):
        METRICS["thermal_pressure_worst"].measure(active, None)


def test_a_window_shorter_than_a_sample_has_none(phases: Make) -> None:
    with pytest.raises(Unavailable, match="no reading of gpu_clock lies in the steady window"):
        METRICS["gpu_clock_p50"].measure(READ, phases(1_100, 300))
