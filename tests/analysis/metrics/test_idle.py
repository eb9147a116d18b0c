"""Shares of the idle time by cause."""

from collections.abc import Mapping

import pandas as pd
import pytest

from analysed import intervals, phases
from tracekit.analysis.given import Given
from tracekit.analysis.inject import Unavailable, inject
from tracekit.analysis.metrics import METRICS
from tracekit.base.recording import Process, Provenance

MS = 1_000_000


def given(tables: Mapping[str, pd.DataFrame]) -> Given:
    return Given(tables, Provenance(targets=(Process(4711, "python3"),)))


def value(name: str, tables: Mapping[str, pd.DataFrame]) -> float:
    known = tables if isinstance(tables, Given) else given(tables)
    return inject(METRICS[name].measure, known)


def named(*names: str) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "name": pd.array(list(names), dtype="string"),
            "start": [20 * MS] * len(names),
            "duration": pd.array([10 * MS] * len(names), dtype="Int64"),
        }
    )


@pytest.fixture
def tables() -> dict[str, pd.DataFrame]:
    """A window of 80 ms: 20 ms of work, and 60 ms after a wait, 5 of them of others."""
    own = [(0, 10 * MS), (70 * MS, 10 * MS)]
    frame = intervals(own, [(60 * MS, 5 * MS)], latencies=[0, 20 * MS]).assign(channel="Compute")
    frame["command_buffer"] = pd.array([1, 2, None], dtype="UInt64")
    driver = named("driver").assign(start=32 * MS, duration=2 * MS, target=True, depth=0)
    return {
        "gpu_intervals": frame,
        "phases": phases(0, 80 * MS),
        "completions": pd.DataFrame(
            {"time": [10 * MS], "command_buffer": frame.command_buffer[:1]}
        ),
        "driver_intervals": driver,
        "driver_events": driver.iloc[:0].assign(event=""),
        "compiler_activity": driver.iloc[:0],
        "encoders": driver.assign(start=40 * MS, duration=8 * MS, command_buffer=2).astype(
            {"command_buffer": "UInt64"}
        ),
        "gpu_performance_states": named("state").assign(start=0, duration=200 * MS),
    }


def test_the_shares_sum_to_the_idle_ratio(tables: dict[str, pd.DataFrame]) -> None:
    tables |= {"spans": named("readback", "compile").assign(start=[20 * MS, 35 * MS])}
    names = [name for name in METRICS if name.startswith("idle_") and name != "idle_ratio"]
    known = given(tables)
    shares = {name: value(name, known) for name in names}
    assert sum(shares.values()) == pytest.approx(value("idle_ratio", known))
    assert shares == {
        "idle_between_encoders": 0.0,
        "idle_between_buffers": 0.0,
        "idle_late_start": 0.0,
        "idle_encoding": 0.0,
        "idle_after_wait": 43 / 80,
        "idle_host_late": 0.0,
        "idle_compile": 10 / 80,
        "idle_wiring": 0.0,
        "idle_driver": 2 / 80,
        "idle_other_process": 5 / 80,
        "idle_powering_up": 0.0,
        "idle_unattributed": 0.0,
    }


def test_time_without_load_is_no_part_of_the_window(tables: dict[str, pd.DataFrame]) -> None:
    tables["spans"] = named("idle")
    assert value("idle_ratio", tables) == 50 / 70


_EMPTY = ("idle_encoding", "idle_after_wait", "idle_host_late")
_QUEUED = ("idle_between_buffers", "idle_late_start", "idle_powering_up")
_DRIVEN = (*_EMPTY, *_QUEUED, "idle_driver", "idle_other_process")
_COMPILED = (*_EMPTY, "idle_wiring", "idle_driver", "idle_compile")


@pytest.mark.parametrize(
    ("table", "names", "reason"),
    [
        ("completions", _EMPTY, "no completion of a command buffer of the target"),
        ("encoders", _EMPTY, "which show when the host encoded"),
        ("driver_intervals", _DRIVEN, "no driver interval of the target"),
        ("driver_events", (*_DRIVEN, "idle_wiring"), "driver events"),
        ("compiler_activity", _COMPILED, "neither compiler"),
        ("gpu_performance_states", _QUEUED, "no performance state of the GPU"),
    ],
)
def test_what_no_table_shows_is_not_zero(
    tables: dict[str, pd.DataFrame], table: str, names: tuple[str, ...], reason: str
) -> None:
    there = tables | {"spans": named("admit")}
    known, without = given(there), given({key: there[key] for key in there if key != table})
    for name in METRICS:
        if name in names:
            with pytest.raises(Unavailable, match=reason):
                value(name, without)
        elif name.startswith("idle_"):
            assert value(name, without) == value(name, known)


@pytest.mark.parametrize("table", ["completions", "driver_intervals", "gpu_performance_states"])
def test_what_a_table_without_rows_does_not_show_is_not_zero(
    tables: dict[str, pd.DataFrame], table: str
) -> None:
    tables[table] = tables[table].iloc[:0]
    with pytest.raises(Unavailable, match=r"of the (target|GPU)"):
        value("idle_after_wait" if table == "completions" else "idle_late_start", tables)


def test_completions_of_others_are_none_of_the_targets(tables: dict[str, pd.DataFrame]) -> None:
    tables["completions"] = tables["completions"].assign(command_buffer=77)
    with pytest.raises(Unavailable, match="no completion of a command buffer of the target"):
        value("idle_host_late", tables)


@pytest.mark.parametrize("name", ["idle_host_late", "idle_late_start", "idle_other_process"])
def test_where_submissions_are_unknown_only_the_rest_is_known(name: str) -> None:
    frame = intervals([(0, MS), (9 * MS, MS)], latencies=[None, None])
    tables = {"gpu_intervals": frame, "phases": phases(0, 10 * MS)}
    with pytest.raises(Unavailable, match="when work was committed"):
        value(name, tables)
    assert value("idle_unattributed", tables) == 0.8


def test_on_a_cpu_only_the_hosts_causes_are_known() -> None:
    frame = intervals([(0, MS), (9 * MS, MS)], clock="host")
    calls = pd.DataFrame(
        {"start": [0, 2 * MS], "duration": pd.array([0, 7 * MS], dtype="Int64"), "target": True}
    )
    tables = {"gpu_intervals": frame, "phases": phases(0, 10 * MS), "submissions": calls}
    assert value("idle_after_wait", tables) == 0.8
    for name in ("idle_late_start", "idle_other_process"):
        with pytest.raises(Unavailable, match="the work ran on the CPU"):
            value(name, tables)


def test_without_gaps_every_share_is_zero() -> None:
    tables = {"gpu_intervals": intervals([(0, MS)], latencies=[None])}
    assert value("idle_ratio", tables) == 0
    assert value("idle_host_late", tables) == 0
