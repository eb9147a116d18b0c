"""Shares of the idle time by cause."""

from typing import Any

import pandas as pd
import pytest

from analysed import MS, completed, given, intervals, measure_tables, phases, rows, table
from tracekit.analysis.inject import Unavailable, inject
from tracekit.analysis.metrics import METRICS
from tracekit.analysis.result import Better


def make_spans(*names: str) -> pd.DataFrame:
    return table("name", *((name,) for name in names), start=20, duration=10)


@pytest.fixture
def tables() -> dict[str, pd.DataFrame]:
    """A window of 80 ms: 20 ms of work, 40 ms of the host, 20 ms on the way to the device."""
    target_rows = [(0, 10 * MS), (70 * MS, 10 * MS)]
    frame = intervals(target_rows, [(60 * MS, 5 * MS)], latencies=[0, 20 * MS]).assign(
        channel="Compute"
    )
    frame["command_buffer"] = pd.array([1, 2, None], dtype="UInt64")
    return {
        "gpu_intervals": frame,
        "phases": phases(0, 80 * MS),
        "completions": completed((10, 1)),
        "driver_intervals": rows((32, 2, 0)),
        "driver_events": rows().assign(event=""),
        "compiler_activity": rows(),
        "encoders": rows((40, 8, 2)),
        "gpu_performance_states": table("start duration", (0, 200)),
    }


def test_the_shares_sum_to_the_idle_ratio(tables: dict[str, pd.DataFrame]) -> None:
    tables["spans"] = table("name start", ("readback", 20), ("compile", 35), duration=10)
    names = [name for name in METRICS if name.startswith("idle_") and name != "idle_ratio"]
    given_tables = given(**tables)
    assert {METRICS[name].better for name in names} == {Better.LOWER}
    shares = {name: inject(METRICS[name].measure, given_tables) for name in names}
    assert sum(shares.values()) == pytest.approx(
        inject(METRICS["idle_ratio"].measure, given_tables)
    )
    assert {name: share for name, share in shares.items() if share} == {
        "idle_late_start": 15 / 80,
        "idle_driver": 2 / 80,
        "idle_other_process": 5 / 80,
        "idle_compile": 10 / 80,
        "idle_encoding": 3 / 80,
        "idle_host": 25 / 80,
    }


def test_time_without_load_is_outside_the_window(tables: dict[str, pd.DataFrame]) -> None:
    for name in ("idle", "reference"):
        assert measure_tables("idle_ratio", **tables, spans=make_spans(name)) == 50 / 70, name


_OF_HOST = ("idle_encoding", "idle_host")
_QUEUED = ("idle_between_buffers", "idle_start_latency", "idle_late_start", "idle_powering_up")
_DRIVEN = (*_OF_HOST, *_QUEUED, "idle_driver", "idle_other_process")
_COMPILED = (*_OF_HOST, "idle_compile")
_REPORTED = (*_OF_HOST, "idle_way_back")


def test_values_without_a_table_are_not_zero(
    tables: dict[str, Any], subtests: pytest.Subtests
) -> None:
    for missing, names, reason in (
        ("completions", _REPORTED, "no completion of a command buffer of the target"),
        ("encoders", _OF_HOST, "which show when the host encoded"),
        ("driver_intervals", _DRIVEN, "no driver interval of the target"),
        ("driver_events", (*_DRIVEN, "idle_wiring"), "driver events"),
        ("compiler_activity", _COMPILED, "neither compiler"),
        ("gpu_performance_states", _QUEUED, "no performance state of the GPU"),
    ):
        there = tables | {"spans": make_spans("admit")}
        given_tables, without = given(**there), given(**{**there, missing: None})
        for name in METRICS:
            measure = METRICS[name].measure
            if name in names:
                with subtests.test((missing, name)), pytest.raises(Unavailable, match=reason):
                    inject(measure, without)
            elif name.startswith("idle_") and (missing, name) != (
                "completions",
                "idle_unattributed",
            ):
                assert inject(measure, without) == inject(measure, given_tables), (missing, name)


@pytest.mark.parametrize("table", ["completions", "driver_intervals", "gpu_performance_states"])
def test_values_without_rows_are_not_zero(tables: dict[str, pd.DataFrame], table: str) -> None:
    tables[table] = tables[table].iloc[:0]
    with pytest.raises(Unavailable, match=r"of the (target|GPU)"):
        measure_tables("idle_way_back" if table == "completions" else "idle_late_start", **tables)


def test_completions_of_others_are_none_of_the_targets(tables: dict[str, pd.DataFrame]) -> None:
    tables["completions"] = tables["completions"].assign(command_buffer=77)
    with pytest.raises(Unavailable, match="no completion of a command buffer of the target"):
        measure_tables("idle_host", **tables)


@pytest.mark.parametrize("name", ["idle_host", "idle_late_start", "idle_other_process"])
def test_where_submissions_are_unknown_only_the_rest_is_known(name: str) -> None:
    frame = intervals([(0, MS), (9 * MS, MS)], latencies=[None, None])
    tables = {"gpu_intervals": frame, "phases": phases(0, 10 * MS)}
    with pytest.raises(Unavailable, match="when work was committed"):
        measure_tables(name, **tables)
    assert measure_tables("idle_unattributed", **tables) == 0.8


def test_on_a_cpu_only_the_hosts_causes_are_known() -> None:
    frame = intervals([(0, MS), (9 * MS, MS)], clock="host")
    calls = rows((0, 0, 1), (2, 7, 2))
    tables = {"gpu_intervals": frame, "phases": phases(0, 10 * MS), "submissions": calls}
    assert measure_tables("idle_host", **tables) == 0.1
    assert measure_tables("idle_encoding", **tables) == 0.7
    for name in ("idle_late_start", "idle_other_process"):
        with pytest.raises(Unavailable, match="the work ran on the CPU"):
            measure_tables(name, **tables)


def test_without_gaps_every_share_is_zero() -> None:
    tables = {"gpu_intervals": intervals([(0, MS)], latencies=[None])}
    assert measure_tables("idle_ratio", **tables) == 0
    assert measure_tables("idle_host", **tables) == 0
