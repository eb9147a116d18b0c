"""Literal tables for analyses, and what rules and metrics say of them.

Tables around idle time (`work`, `rows`, `named`, `completed`, `gaps_of`) take milliseconds.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tracekit.analysis.given import Given
from tracekit.analysis.inject import inject
from tracekit.analysis.metrics import METRICS
from tracekit.analysis.rhythm import happenings
from tracekit.analysis.rule import Finding
from tracekit.analysis.rules import RULES
from tracekit.base.recording import Process, Provenance

MS = 1_000_000

_INTERVAL = {
    "start": "int64",
    "duration": "Int64",
    "channel": "string",
    "label": "string",
    "process": "string",
    "pid": "Int64",
    "target": "bool",
    "start_latency": "Int64",
    "command_buffer": "UInt64",
    "clock": "string",
}


def intervals(
    own: list[tuple[int, int]],
    others: list[tuple[int, int]] | None = None,
    *,
    clock: str = "gpu",
    latencies: list[int | None] | None = None,
) -> pd.DataFrame:
    """Make `gpu_intervals` of (start, duration) pairs of the target, and of other processes."""
    late = latencies or [1_000] * len(own)
    rows = [
        (start, length, "Compute", "paged", "python3", 4711, True, latency, None, clock)
        for (start, length), latency in zip(own, late, strict=True)
    ]
    rows += [
        (start, length, "Fragment", "frame", "WindowServer", 420, False, 2_000, None, clock)
        for start, length in others or []
    ]
    return pd.DataFrame(rows, columns=list(_INTERVAL)).astype(_INTERVAL)


TARGETS = (Process(4711, "python3"),)
"""The target as the analysis knows it."""


def phases(start: int, duration: int) -> pd.DataFrame:
    """Make `phases` with a steady phase from `start`, `duration` long, after a warm-up."""
    return pd.DataFrame(
        {
            "start": [0, start],
            "duration": pd.array([start, duration], dtype="Int64"),
            "name": pd.array(["warm-up", "steady"], dtype="string"),
            "clock": pd.array(["host", "host"], dtype="string"),
        }
    )


def row_of_steps(times: Sequence[int], variants: Sequence[str] = ("",)) -> pd.DataFrame:
    """Make `steps` that follow one another, each so long, in ns; variants go round."""
    lengths, number = np.array(times, dtype=np.int64), len(times)
    names = [variants[place % len(variants)] for place in range(number)]
    return pd.DataFrame(
        {
            "start": np.cumsum(lengths) - lengths,
            "duration": pd.array(lengths, dtype="Int64"),
            "index": pd.array(range(number), dtype="Int64"),
            "phase": pd.array(["steady"] * number, dtype="string"),
            "tokens": pd.array([1] * number, dtype="Int64"),
            "variant": pd.array(names, dtype="string"),
        }
    )


NO_HAPPENINGS = happenings(None, None, None, None, None, None)
"""The table `happenings` of a recording that shows nothing beside its steps."""


def handed_over(buffers: Sequence[tuple[int, ...]]) -> dict[str, pd.DataFrame]:
    """Make `gpu_intervals`, `submissions`, `completions` of (begun, commit, start, end, complete).

    Each row is one command buffer with one interval, in µs.
    """
    begun, commit, start, end, complete = (
        np.array(column, dtype=np.int64) * 1_000 for column in zip(*buffers, strict=True)
    )
    numbers = pd.array(np.arange(len(buffers)) + 100, dtype="UInt64")
    own = {"target": True, "command_buffer": numbers, "clock": "gpu", "channel": "Compute"}
    intervals = pd.DataFrame({"start": start, "duration": end - start, **own})
    intervals["start_latency"] = pd.array(start - commit, dtype="Int64")
    submissions = pd.DataFrame(
        {
            "start": np.concatenate((begun[:1], commit[:-1])),
            "duration": pd.array(commit - np.concatenate((begun[:1], commit[:-1])), dtype="Int64"),
            "event": "CommandBufferSubmission",
            "encoder_time": pd.array(commit - begun, dtype="Int64"),
            **own,
        }
    )
    completions = pd.DataFrame({"time": complete, "command_buffer": numbers, "clock": "gpu"})
    return {"gpu_intervals": intervals, "submissions": submissions, "completions": completions}


def judged(
    rule: str,
    limits: dict[str, float] | None = None,
    *,
    known: bool = True,
    provenance: Provenance | None = None,
    **tables: Any,
) -> list[Finding]:
    """Let a rule judge tables by name, those that the analysis makes of them included."""
    targets = TARGETS if known else ()
    there = {name: frame for name, frame in tables.items() if frame is not None}
    if "steps" in there and "phases" not in there:
        steps = there["steps"]
        length = int(steps["duration"].sum())
        there["phases"] = pd.DataFrame(
            {"name": ["steady"], "start": [int(steps["start"].min())], "duration": [length]}
        ).assign(clock="host")
    given = Given(there, replace(provenance or Provenance(), targets=targets), part=True)
    return list(inject(RULES[rule].judge, given, limits))


def measured(
    metric: str, *, known: bool = True, provenance: Provenance | None = None, **tables: Any
) -> Any:
    """Measure a metric of tables by name; raise Unavailable where it cannot be known."""
    targets = TARGETS if known else ()
    there = {name: frame for name, frame in tables.items() if frame is not None}
    given = Given(there, replace(provenance or Provenance(), targets=targets), part=True)
    return inject(METRICS[metric].measure, given)


def work(
    rows: list[tuple[float, float, float | None, int]],
    others: list[tuple[float, float]] | None = None,
    clock: str = "gpu",
) -> pd.DataFrame:
    """Make `gpu_intervals` of (start, duration, latency, command buffer) of the target."""
    whole: list[tuple[Any, ...]] = [(*row, True) for row in rows]
    whole += [(start, length, 0, 0, False) for start, length in others or []]
    columns = ["start", "duration", "start_latency", "command_buffer", "target"]
    frame = pd.DataFrame(whole, columns=columns)
    return _in_ns(frame, "duration", "start_latency").assign(
        command_buffer=frame["command_buffer"].astype("UInt64"),
        clock=pd.array([clock] * len(frame), dtype="string"),
        channel=pd.array(["Compute"] * len(frame), dtype="string"),
    )


def rows(*rows: tuple[float, float, int], target: bool = True) -> pd.DataFrame:
    """Make a table of the target's (start, duration, command buffer)."""
    frame = pd.DataFrame(list(rows), columns=["start", "duration", "command_buffer"])
    return _in_ns(frame, "duration").assign(
        command_buffer=frame["command_buffer"].astype("UInt64"), target=target, depth=0
    )


def named(*rows: tuple[str, float, float]) -> pd.DataFrame:
    """Make `spans` of (name, start, duration)."""
    frame = pd.DataFrame(list(rows), columns=["name", "start", "duration"])
    return _in_ns(frame, "duration").astype({"name": "string"})


def completed(*rows: tuple[float, int]) -> pd.DataFrame:
    """Make `completions` of (time, command buffer)."""
    frame = pd.DataFrame(list(rows), columns=["time", "command_buffer"])
    return frame.assign(
        time=(frame["time"] * MS).astype("int64"),
        command_buffer=frame["command_buffer"].astype("UInt64"),
    )


def gaps_of(
    gpu_intervals: pd.DataFrame, window: tuple[float, float], **tables: pd.DataFrame
) -> pd.DataFrame:
    """Make the table `gaps` of a steady window from `start` to `end`, and of tables by name."""
    start, end = (round(moment * MS) for moment in window)
    steady = pd.DataFrame({"name": ["steady"], "start": [start], "duration": [end - start]})
    there = {"gpu_intervals": gpu_intervals, "phases": steady, **tables}
    return Given(there, Provenance(targets=TARGETS), part=True)["gaps"]


def _in_ns(frame: pd.DataFrame, *durations: str) -> pd.DataFrame:
    whole = {one: (frame[one].astype("Float64") * MS).round().astype("Int64") for one in durations}
    return frame.assign(start=(frame["start"] * MS).round().astype("int64"), **whole)
