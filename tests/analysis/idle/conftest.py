"""Literal tables around the target's device intervals; times in milliseconds."""

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest

from tracekit.analysis.given import Given
from tracekit.base.recording import Process, Provenance

MS = 1_000_000
Make = Callable[..., pd.DataFrame]


@pytest.fixture
def work() -> Make:
    """Make `gpu_intervals` of (start, duration, latency, command buffer) of the target."""

    def make(
        rows: list[tuple[float, float, float | None, int]],
        others: list[tuple[float, float]] | None = None,
        clock: str = "gpu",
    ) -> pd.DataFrame:
        whole: list[tuple[Any, ...]] = [(*row, True) for row in rows]
        whole += [(start, length, 0, 0, False) for start, length in others or []]
        columns = ["start", "duration", "start_latency", "command_buffer", "target"]
        frame = pd.DataFrame(whole, columns=columns)
        return _in_ns(frame, "duration", "start_latency").assign(
            command_buffer=frame["command_buffer"].astype("UInt64"),
            clock=pd.array([clock] * len(frame), dtype="string"),
            channel=pd.array(["Compute"] * len(frame), dtype="string"),
        )

    return make


@pytest.fixture
def rows() -> Make:
    """Make a table of the target's (start, duration, command buffer)."""

    def make(*rows: tuple[float, float, int], target: bool = True) -> pd.DataFrame:
        frame = pd.DataFrame(list(rows), columns=["start", "duration", "command_buffer"])
        return _in_ns(frame, "duration").assign(
            command_buffer=frame["command_buffer"].astype("UInt64"), target=target, depth=0
        )

    return make


@pytest.fixture
def named() -> Make:
    """Make `spans` of (name, start, duration)."""

    def make(*rows: tuple[str, float, float]) -> pd.DataFrame:
        frame = pd.DataFrame(list(rows), columns=["name", "start", "duration"])
        return _in_ns(frame, "duration").astype({"name": "string"})

    return make


@pytest.fixture
def completed() -> Make:
    """Make `completions` of (time, command buffer)."""

    def make(*rows: tuple[float, int]) -> pd.DataFrame:
        frame = pd.DataFrame(list(rows), columns=["time", "command_buffer"])
        return frame.assign(
            time=(frame["time"] * MS).astype("int64"),
            command_buffer=frame["command_buffer"].astype("UInt64"),
        )

    return make


@pytest.fixture
def gaps_of(targets: tuple[Process, ...]) -> Make:
    """Make the table `gaps` of a steady window from `start` to `end`, and of tables by name."""

    def make(
        gpu_intervals: pd.DataFrame, window: tuple[float, float], **tables: pd.DataFrame
    ) -> pd.DataFrame:
        start, end = (round(moment * MS) for moment in window)
        steady = pd.DataFrame({"name": ["steady"], "start": [start], "duration": [end - start]})
        there = {"gpu_intervals": gpu_intervals, "phases": steady, **tables}
        return Given(there, Provenance(targets=targets), part=True)["gaps"]

    return make


def _in_ns(frame: pd.DataFrame, *durations: str) -> pd.DataFrame:
    whole = {one: (frame[one].astype("Float64") * MS).round().astype("Int64") for one in durations}
    return frame.assign(start=(frame["start"] * MS).round().astype("int64"), **whole)
