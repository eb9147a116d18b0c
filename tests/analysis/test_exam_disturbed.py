"""The exam once more, with what real recordings have beside: the answers stay.

Each disturbance changes the tables of a recording and nothing that its first finding rests on.
"""

from collections.abc import Callable, Mapping

import numpy as np
import pandas as pd
import pytest

from stock import PID, frame, warnings
from tests.analysis.test_exam import HEALTHY, PROBLEMS
from tracekit.analysis import Times, analyze
from tracekit.base import Process, Provenance

pytestmark = pytest.mark.campaign

Tables = Mapping[str, pd.DataFrame]
Disturb = Callable[[Tables], Tables]
KNOWN = Provenance(recorder="xctrace", targets=(Process(PID, "python3"),))
MS = 1_000_000
_DRAWN = {
    "process": "WindowServer",
    "pid": 420,
    "target": False,
    "label": "frame",
    "state": "Active",
    "clock": "gpu",
    "device": "M1",
    "start_latency": 2_000,
}


def end_of(tables: Tables) -> int:
    work = tables["gpu_intervals"]
    return int((work["start"] + work["duration"]).max())


def window_server(tables: Tables) -> Tables:
    """Let another process draw 60 times a second, on channels of its own."""
    random = np.random.default_rng(0)
    rows = [
        {
            **_DRAWN,
            "start": at + int(random.integers(0, 2 * MS)),
            "duration": int(random.integers(100_000, 400_000)),
            "channel": channel,
        }
        for at in range(0, end_of(tables), 16_667_000)
        for channel in ("Vertex", "Fragment")
    ]
    every = pd.concat([tables["gpu_intervals"], frame(rows)], ignore_index=True)
    return {**tables, "gpu_intervals": every.astype({"target": bool})}


def ids_alike(tables: Tables) -> Tables:
    """Give all command buffers one id, as real traces do."""
    named = [name for name, rows in tables.items() if "command_buffer" in rows]
    return {
        **tables,
        **{
            name: tables[name].assign(
                command_buffer=pd.array([1] * len(tables[name]), dtype="UInt64")
            )
            for name in named
            if name != "command_buffer_errors"
        },
    }


def second_channel(tables: Tables) -> Tables:
    """Let every tenth interval run on another channel."""
    work = tables["gpu_intervals"].copy()
    work.loc[work.index[::10], "channel"] = "Blit"
    return {**tables, "gpu_intervals": work}


def older(tables: Tables) -> Tables:
    """Leave out the columns that tell how long encoders of a command buffer took."""
    left = tables["submissions"].drop(columns=["encoder_time", "encoders"])
    return {**tables, "submissions": left}


def without_latencies(tables: Tables) -> Tables:
    work = tables["gpu_intervals"]
    none = pd.array([None] * len(work), dtype="Int64")
    return {**tables, "gpu_intervals": work.assign(start_latency=none)}


def moved(tables: Tables, way: Callable[[Times], Times]) -> Tables:
    """Lay all times of a recording on another course; lengths follow."""
    made: dict[str, pd.DataFrame] = {}
    for name, rows in tables.items():
        key = "time" if "time" in rows else "start"
        if rows.empty:
            made[name] = rows
            continue
        before = rows[key].to_numpy(dtype=np.int64)
        after = way(before)
        cells: dict[str, object] = {key: after}
        if "start_latency" in rows:
            latency = rows["start_latency"].to_numpy(dtype=np.int64, na_value=0)
            cells["start_latency"] = pd.array(after - way(before - latency), dtype="Int64")
        if "duration" in rows:
            ends = before + rows["duration"].to_numpy(dtype=np.int64, na_value=0)
            cells["duration"] = pd.array(way(ends) - after, dtype="Int64")
            if "encoder_time" in rows:
                spent = rows["encoder_time"].to_numpy(dtype=np.int64, na_value=0)
                cells["encoder_time"] = pd.array(way(ends) - way(ends - spent), dtype="Int64")
        made[name] = rows.assign(**cells)
    return made


def later(tables: Tables) -> Tables:
    return moved(tables, lambda times: times + 5_000 * MS)


def uneven(tables: Tables) -> Tables:
    """Let time pass up to 3 % faster or slower in each millisecond."""
    at = np.arange(0, end_of(tables) + 100 * MS, MS)
    steps = np.exp(np.random.default_rng(5).normal(0, 0.03, at.size - 1)) * MS
    course = np.concatenate(([0.0], np.cumsum(steps)))
    return moved(tables, lambda times: np.rint(np.interp(times, at, course)).astype(np.int64))


def hiccups(tables: Tables) -> Tables:
    """Take the host off its processor for 5 ms, twice, where the device has nothing to do."""
    own = tables["gpu_intervals"][tables["gpu_intervals"]["target"]].sort_values("start")
    begins = own["start"].to_numpy(dtype=np.int64)
    ends = np.maximum.accumulate(begins + own["duration"].to_numpy(dtype=np.int64))
    idle = np.flatnonzero(begins[1:] > ends[:-1] + 200)
    if idle.size < 2:
        return tables
    chosen = np.random.default_rng(3).choice(idle, 2, replace=False)
    moments = np.sort(ends[chosen]) + 50
    return moved(tables, lambda times: times + 5 * MS * np.searchsorted(moments, times, "right"))


DISTURBANCES: dict[str, Disturb] = {
    "a window server": window_server,
    "ids all alike": ids_alike,
    "a second channel": second_channel,
    "an older version": older,
    "no start latencies": without_latencies,
    "a later begin": later,
    "uneven times": uneven,
    "two hiccups": hiccups,
}
NO_CLOCK = {"as even as a display"}  # nothing but its evenness tells that it is paced


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("disturbance", DISTURBANCES)
def test_the_first_finding_stays(problem: str, disturbance: str) -> None:
    scene, rule, said, unsaid = PROBLEMS[problem]
    result = analyze(DISTURBANCES[disturbance](scene().tables()), KNOWN)
    assert not [check for check in result.checks if check.status == "failed"]
    assert rule in [one.rule for one in result.findings]
    assert said in result.findings[0].advice
    assert unsaid not in result.findings[0].advice


@pytest.mark.parametrize("scene", HEALTHY)
@pytest.mark.parametrize("disturbance", DISTURBANCES)
def test_no_warning_comes(scene: str, disturbance: str) -> None:
    if scene in NO_CLOCK and disturbance == "uneven times":
        return
    assert not warnings(analyze(DISTURBANCES[disturbance](HEALTHY[scene]().tables()), KNOWN))
