"""Literal tables for analyses."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tracekit.analysis.given import Given
from tracekit.analysis.inject import inject
from tracekit.analysis.metrics import METRICS
from tracekit.analysis.rhythm import happenings
from tracekit.analysis.rule import Finding
from tracekit.analysis.rules import RULES
from tracekit.base.recording import Process, Provenance

Rows = list[dict[str, Any]]
Make = Callable[..., pd.DataFrame]

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


@pytest.fixture
def intervals() -> Make:
    """Make `gpu_intervals` of (start, duration) pairs of the target, and of other processes."""

    def make(
        own: list[tuple[int, int]],
        others: list[tuple[int, int]] | None = None,
        *,
        clock: str = "gpu",
        latencies: list[int | None] | None = None,
    ) -> pd.DataFrame:
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

    return make


@pytest.fixture
def targets() -> tuple[Process, ...]:
    """The target as the analysis knows it: python3, 4711."""
    return (Process(4711, "python3"),)


@pytest.fixture
def phases() -> Make:
    """Make `phases` with a steady phase from `start`, `duration` long, after a warm-up."""

    def make(start: int, duration: int) -> pd.DataFrame:
        return pd.DataFrame(
            {
                "start": [0, start],
                "duration": pd.array([start, duration], dtype="Int64"),
                "name": pd.array(["warm-up", "steady"], dtype="string"),
                "clock": pd.array(["host", "host"], dtype="string"),
            }
        )

    return make


@pytest.fixture
def row_of_steps() -> Make:
    """Make `steps` that follow one another, each so long, in ns; variants go round."""

    def make(times: Sequence[int], variants: Sequence[str] = ("",)) -> pd.DataFrame:
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

    return make


@pytest.fixture
def no_happenings() -> pd.DataFrame:
    """The table `happenings` of a recording that shows nothing beside its steps."""
    return happenings(None, None, None, None, None, None)


@pytest.fixture
def handed_over() -> Callable[..., tuple[pd.DataFrame, ...]]:
    """Make `gpu_intervals`, `submissions`, `completions` of (begun, commit, start, end, complete).

    Each row is one command buffer with one interval, in µs.
    """

    def make(buffers: Sequence[tuple[int, ...]]) -> tuple[pd.DataFrame, ...]:
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
                "duration": pd.array(
                    commit - np.concatenate((begun[:1], commit[:-1])), dtype="Int64"
                ),
                "event": "CommandBufferSubmission",
                "encoder_time": pd.array(commit - begun, dtype="Int64"),
                **own,
            }
        )
        completions = pd.DataFrame({"time": complete, "command_buffer": numbers, "clock": "gpu"})
        return intervals, submissions, completions

    return make


@pytest.fixture
def judged() -> Callable[..., list[Finding]]:
    """Let a rule judge tables by name, those that the analysis makes of them included."""

    def judge(
        rule: str,
        limits: dict[str, float] | None = None,
        *,
        known: bool = True,
        provenance: Provenance | None = None,
        **tables: Any,
    ) -> list[Finding]:
        targets = (Process(4711, "python3"),) if known else ()
        there = {name: frame for name, frame in tables.items() if frame is not None}
        if "steps" in there and "phases" not in there:
            steps = there["steps"]
            length = int(steps["duration"].sum())
            there["phases"] = pd.DataFrame(
                {"name": ["steady"], "start": [int(steps["start"].min())], "duration": [length]}
            ).assign(clock="host")
        given = Given(there, replace(provenance or Provenance(), targets=targets), part=True)
        return list(inject(RULES[rule].judge, given, limits))

    return judge


@pytest.fixture
def measured() -> Callable[..., Any]:
    """Measure a metric of tables by name; raise Unavailable where it cannot be known."""

    def measure(
        metric: str, *, known: bool = True, provenance: Provenance | None = None, **tables: Any
    ) -> Any:
        targets = (Process(4711, "python3"),) if known else ()
        there = {name: frame for name, frame in tables.items() if frame is not None}
        given = Given(there, replace(provenance or Provenance(), targets=targets), part=True)
        return inject(METRICS[metric].measure, given)

    return measure
