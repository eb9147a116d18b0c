"""Literal tables for analyses, and what rules and metrics say of them.

`table` and what is made with it (`work`, `rows`, `make_named_table`, `completed`), and `gaps_of`,
take ms.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from stock import TYPES, in_company
from tracekit.analysis.given import Given
from tracekit.analysis.happenings import happenings
from tracekit.analysis.inject import inject
from tracekit.analysis.metrics import METRICS
from tracekit.analysis.rule import Finding
from tracekit.analysis.rules import RULES
from tracekit.base.recording import Process, Provenance
from typed_rows import frame

MS = 1_000_000
SECOND = 1_000_000_000
TARGETS = (Process(4711, "python3"),)
"""The target as the analysis knows it."""
UNKNOWN = Provenance()
"""A recording of which nothing is known but its tables and its target."""
M1_MAX = Provenance(machine={"system": "Darwin", "chip": "Apple M1 Max", "gpu_cores": 32})
M3_MAX = Provenance(machine={"system": "Darwin", "chip": "Apple M3 Max", "gpu_cores": 40})
Golden = Callable[..., None]
"""Compares findings with a golden file, see tests/analysis/conftest.py."""
_TIMES = {
    *("start", "time", "duration", "start_latency", "encoder_time", "committed"),
    *("first_token", "last_token"),
}
_TYPES = dict.fromkeys(_TIMES, "Float64") | TYPES


def table(columns: str, *rows: Sequence[Any], unit: int = MS, **cells: Any) -> pd.DataFrame:
    """Make a table of rows, and of cells that are the same in each; times are in ms or a `unit`."""
    # One array at a time: this runs hundreds of times while tests are collected.
    column_values = {
        name: [row[place] for row in rows] for place, name in enumerate(columns.split())
    }
    column_values |= {
        name: cell if np.ndim(cell) else [cell] * len(rows) for name, cell in cells.items()
    }
    for name in _TIMES & column_values.keys():
        column_values[name] = [
            None if pd.isna(time) else round(time * unit) for time in column_values[name]
        ]
    typed = {
        name: pd.array(column_values[name], _TYPES[name])
        for name in column_values
        if name in _TYPES
    }
    return pd.DataFrame(column_values | cells | typed)


rows = partial(table, "start duration command_buffer", target=True, depth=0)
make_named_table = partial(table, "name start duration")
completed = partial(table, "time command_buffer")


def work(
    rows: list[tuple[float, float, float | None, int]],
    other_work: Sequence[tuple[float, float]] = (),
    clock: str = "gpu",
) -> pd.DataFrame:
    """Make `gpu_intervals` of (start, duration, latency, command buffer) of the target."""
    other_rows = [(start, length, 0, 0, False) for start, length in other_work]
    columns = "start duration start_latency command_buffer target"
    return table(
        columns, *((*row, True) for row in rows), *other_rows, clock=clock, channel="Compute"
    )


def intervals(
    target_times: list[tuple[int, int]],
    other_times: Sequence[tuple[int, int]] = (),
    *,
    clock: str = "gpu",
    latencies: list[int | None] | None = None,
) -> pd.DataFrame:
    """Make `gpu_intervals` of (start, duration) of the target, and of other processes; in ns."""
    late = latencies or [1_000] * len(target_times)
    mine = [
        (*times, "Compute", "paged", "python3", 4711, True, latency)
        for times, latency in zip(target_times, late, strict=True)
    ]
    other_rows = [
        (*times, "Fragment", "frame", "WindowServer", 420, False, 2_000) for times in other_times
    ]
    columns = "start duration channel label process pid target start_latency"
    all_rows = table(columns, *mine, *other_rows, unit=1, command_buffer=None, clock=clock)
    return all_rows.astype({"target": bool})


def phases(start: int, duration: int) -> pd.DataFrame:
    """Make `phases` with a steady phase from `start`, `duration` long, after a warm-up; in ns."""
    stretches = ("warm-up", 0, start), ("steady", start, duration)
    return make_named_table(*stretches, unit=1, clock="host")


def row_of_steps(times: Sequence[int], variants: Sequence[str] = ("",)) -> pd.DataFrame:
    """Make `steps` that follow one another, each so long, in ns; variants go round."""
    starts = np.cumsum([0, *times[:-1]])
    names = [variants[place % len(variants)] for place in range(len(times))]
    steps = table("start duration", *zip(starts, times, strict=True), unit=1, phase="steady")
    return steps.assign(index=range(len(steps)), tokens=1, variant=names)


NO_HAPPENINGS = happenings(None, None, None, None, None, None, None, None)
"""The table `happenings` of a recording that shows nothing beside its steps."""


def handed_over(buffers: Sequence[tuple[int, ...]]) -> dict[str, pd.DataFrame]:
    """Make `gpu_intervals`, `submissions`, `completions` of (begun, commit, start, end, complete).

    Each row is one command buffer with one interval, in µs.
    """
    begin, commit, start, end, complete = (
        np.array(column, dtype=np.int64) * 1_000 for column in zip(*buffers, strict=True)
    )
    numbers = pd.array(np.arange(len(buffers)) + 100, dtype="UInt64")
    target_cells = {"target": True, "command_buffer": numbers, "clock": "gpu", "channel": "Compute"}
    intervals = pd.DataFrame({"start": start, "duration": end - start, **target_cells})
    intervals["start_latency"] = pd.array(start - commit, dtype="Int64")
    submission_starts = np.concatenate((begin[:1], commit[:-1]))
    submissions = pd.DataFrame(
        {"start": submission_starts, "event": "CommandBufferSubmission", **target_cells}
    )
    submissions["duration"] = pd.array(commit - submission_starts, dtype="Int64")
    submissions["encoder_time"] = pd.array(commit - begin, dtype="Int64")
    completions = pd.DataFrame({"time": complete, "command_buffer": numbers, "clock": "gpu"})
    return {"gpu_intervals": intervals, "submissions": submissions, "completions": completions}


def samples(
    values: Mapping[str, float],
    *,
    count: int = 20,
    period: int = MS,
    length: int | None = 100_000,
    start: int = 0,
    percentage: bool | None = True,
) -> pd.DataFrame:
    """Make `gpu_counters`: so many samples of each counter, always of the same value."""
    rows = [
        {"start": start + number * period, "duration": length, "counter": name, "value": value}
        for number in range(count)
        for name, value in values.items()
    ]
    return frame("gpu_counters", [row | {"percentage": percentage} for row in rows])


def steady(*, count: int = 10, tokens: int | None = 16) -> dict[str, pd.DataFrame]:
    """Make `steps` and `phases`: so many steady steps of 1 ms, one right after the other."""
    step = {"duration": MS, "phase": "steady", "tokens": tokens}
    phase = {"start": 0, "duration": count * MS, "name": "steady"}
    return {
        "steps": frame("steps", [{"start": index * MS, **step} for index in range(count)]),
        "phases": frame("phases", [phase]),
    }


def model(moved: int, flops: int | None = None) -> pd.DataFrame:
    """Make `step_models`: a step that moves so many bytes, by default two operations for each."""
    cells = {"time": 0, "backend": "metal", "bytes_unique": moved, "bytes_written": 0}
    more = {"bytes_read": 2 * moved, "flops": 2 * moved if flops is None else flops}
    return frame("step_models", [cells | more])


def given(provenance: Provenance = UNKNOWN, *, has_targets: bool = True, **tables: Any) -> Given:
    """Return what the analysis knows of a part of a recording: tables by name, but for None."""
    there = {name: frame for name, frame in tables.items() if frame is not None}
    return Given(there, replace(provenance, targets=TARGETS if has_targets else ()), part=True)


def gaps_of(
    gpu_intervals: pd.DataFrame, window: tuple[float, float], **tables: pd.DataFrame
) -> pd.DataFrame:
    """Make the table `gaps` of a steady window from `start` to `end`, and of tables by name."""
    phases = make_named_table(("steady", window[0], window[1] - window[0]))
    return given(gpu_intervals=gpu_intervals, phases=phases, **tables)["gaps"]


def judge_tables(
    rule: str,
    limits: dict[str, float] | None = None,
    *,
    has_targets: bool = True,
    provenance: Provenance = UNKNOWN,
    **tables: Any,
) -> list[Finding]:
    """Let a rule judge tables by name, and those that the analysis makes of them.

    Another process does in them what the target does; so it is with `measure_tables`.
    """
    if "steps" in tables and "phases" not in tables:
        steps = tables["steps"]
        steady = ("steady", steps["start"].min(), steps["duration"].sum())
        tables["phases"] = make_named_table(steady, unit=1, clock="host")
    there = given(provenance, has_targets=has_targets, **in_company(tables))
    return list(inject(RULES[rule].judge, there, limits))


def measure_tables(
    metric: str, *, has_targets: bool = True, provenance: Provenance = UNKNOWN, **tables: Any
) -> Any:
    """Measure a metric of tables by name; raise Unavailable where it cannot be known."""
    there = given(provenance, has_targets=has_targets, **in_company(tables))
    return inject(METRICS[metric].measure, there)
