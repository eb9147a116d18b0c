"""The panel of clock, power and heat: there where a monitor was read, and nowhere else."""

from typing import Any

import pandas as pd
import pytest

from tracekit.analysis.result import Result
from tracekit.base.recording import Provenance
from tracekit.report.panels.telemetry import telemetry
from tracekit.report.render import render

SECOND = 10**9
RESULT = Result(Provenance())
READ = [
    (0, "gpu_clock", 444e6, "Hz", "macmon"),
    (1, "gpu_clock", 1.4e9, "Hz", "macmon"),
    (2, "gpu_clock", 1.2e9, "Hz", "macmon"),
    (3, "gpu_clock", 1.3e9, "Hz", "macmon"),
    (1, "cpu_power", 2.0, "W", "macmon"),
    (2, "blocks", 7.0, "count", "workload"),
]


@pytest.fixture
def tables(frame: Any) -> dict[str, pd.DataFrame]:
    names = ("time", "name", "value", "unit", "source")
    gauges = [dict(zip(names, (at * SECOND, *rest), strict=True)) for at, *rest in READ]
    phases = [
        {"start": 0, "duration": SECOND, "name": "warm-up"},
        {"start": SECOND, "duration": 2 * SECOND, "name": "steady"},
    ]
    return {"gauges": frame("gauges", gauges), "phases": frame("phases", phases)}


def levels(tables: dict[str, pd.DataFrame]) -> dict[str, Any]:
    shown = telemetry.context(RESULT, tables)
    assert shown is not None
    return {one["name"]: one for one in shown["levels"]}


def test_numbers_are_of_the_steady_window(tables: dict[str, pd.DataFrame]) -> None:
    clock = levels(tables)["gpu_clock"]
    assert clock["numbers"] == ["1.20 GHz", "1.30 GHz", "1.40 GHz"]
    assert clock["count"] == 3


def test_the_gpu_stands_first_and_the_workloads_gauges_nowhere(
    tables: dict[str, pd.DataFrame],
) -> None:
    assert list(levels(tables)) == ["gpu_clock", "cpu_power"]


def test_lines_are_drawn_of_the_gpu_and_of_all_where_there_is_none(
    tables: dict[str, pd.DataFrame],
) -> None:
    shown = telemetry.context(RESULT, tables)
    assert shown is not None
    assert [one["name"] for one in shown["drawn"]] == ["gpu_clock"]
    gauges = tables["gauges"]
    cpu = {**tables, "gauges": gauges[gauges["name"] == "cpu_power"]}
    shown = telemetry.context(RESULT, cpu)
    assert shown is not None
    assert [one["name"] for one in shown["drawn"]] == ["cpu_power"]


def test_without_phases_all_of_the_run_counts(tables: dict[str, pd.DataFrame]) -> None:
    del tables["phases"]
    assert levels(tables)["gpu_clock"]["numbers"][0] == "444 MHz"
    shown = telemetry.context(RESULT, tables)
    assert shown is not None
    assert shown["steady"] is False


def test_a_reading_holds_until_the_next(tables: dict[str, pd.DataFrame]) -> None:
    path = levels(tables)["gpu_clock"]["path"]
    assert path == "M0 60H0V41.0H332.5V0.0H667.5V8.6H1000V60Z"


def test_one_reading_of_zero_can_be_drawn(frame: Any) -> None:
    one = {"time": 5, "name": "gpu_power", "value": 0.0, "unit": "W", "source": "macmon"}
    power = levels({"gauges": frame("gauges", [one])})["gpu_power"]
    assert power["path"] == "M0 60H0V60.0H1000V60Z"
    assert power["numbers"] == ["0 W"] * 3


def test_of_very_many_readings_the_highest_of_each_part_is_drawn(frame: Any) -> None:
    many = [
        {"time": at, "name": "gpu_power", "value": at % 2, "unit": "W", "source": "macmon"}
        for at in range(5000)
    ]
    power = levels({"gauges": frame("gauges", many)})["gpu_power"]
    assert power["path"] == "M0 60H0V0.0H1000V60Z"


@pytest.mark.parametrize("kept", [0, 1])
def test_without_a_monitor_there_is_no_panel(tables: dict[str, pd.DataFrame], kept: int) -> None:
    own = tables["gauges"][tables["gauges"]["source"] == "workload"].head(kept)
    assert telemetry.context(RESULT, {**tables, "gauges": own}) is None
    assert telemetry.context(RESULT, {}) is None


def test_the_page_shows_it(tables: dict[str, pd.DataFrame]) -> None:
    early = tables["phases"].assign(start=[0, 20 * SECOND])
    page = render(RESULT, {**tables, "phases": early}, redact=str)
    assert "Clock, power and heat" in page
    assert "by macmon beside the run" in page
    assert "no reading lies in the steady window" in page
    assert "Clock, power and heat" not in render(RESULT, {}, redact=str)
