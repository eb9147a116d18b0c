"""A recording with counters and steps, of literal numbers, and what the analysis makes of it."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tracekit.analysis.analyze import judge, measure
from tracekit.analysis.given import Given
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.metrics import METRICS
from tracekit.analysis.result import Measurement, Status
from tracekit.analysis.rule import Finding
from tracekit.analysis.rules import RULES
from tracekit.base.recording import Process, Provenance
from typed_rows import frame

MS = 1_000_000
M1_MAX = {"system": "Darwin", "chip": "Apple M1 Max", "gpu_cores": 32}
M3_MAX = {"system": "Darwin", "chip": "Apple M3 Max", "gpu_cores": 40}


def samples(
    values: Mapping[str, float],
    *,
    count: int = 20,
    every: int = MS,
    length: int | None = 100_000,
    start: int = 0,
    percentage: bool | None = True,
) -> pd.DataFrame:
    """Make `gpu_counters`: so many samples of each counter, always of the same value."""
    return frame(
        "gpu_counters",
        [
            {"start": start + number * every, "duration": length, "counter": name, "value": value}
            | {"percentage": percentage}
            for number in range(count)
            for name, value in values.items()
        ],
    )


def steady(
    *, count: int = 10, every: int = MS, tokens: int | None = 16, variant: str | None = None
) -> dict[str, pd.DataFrame]:
    """Make `steps` and `phases`: so many steady steps, one right after the other."""
    step = {"duration": every, "phase": "steady", "tokens": tokens, "variant": variant}
    phase = {"start": 0, "duration": count * every, "name": "steady"}
    return {
        "steps": frame("steps", [{"start": at * every, **step} for at in range(count)]),
        "phases": frame("phases", [phase]),
    }


def model(moved: int, flops: int | None = None, backend: str = "metal") -> pd.DataFrame:
    """Make `step_models`: a step that moves so many bytes, by default two operations for each."""
    made = {"time": 0, "backend": backend, "bytes_unique": moved, "bytes_written": 0}
    more = {"bytes_read": 2 * moved, "flops": 2 * moved if flops is None else flops}
    return frame("step_models", [made | more])


def given(machine: Mapping[str, Any] = M1_MAX, **tables: pd.DataFrame) -> Given:
    """Return what the analysis knows of a recording with these tables."""
    target = Process(4711, "python3")
    return Given(tables, Provenance(machine=dict(machine), targets=(target,)))


def findings(rule: str, known: Given, **settings: Any) -> list[Finding]:
    """Return what a rule finds; raise Unavailable, with its reason, where it abstains."""
    check, found = judge(RULES[rule], known, settings)
    if check.status is Status.ABSTAINED:
        raise Unavailable(check.reason)
    return found


def measured(metric: str, known: Given) -> Measurement:
    """Return a metric's value, or the reason why there is none."""
    return measure(METRICS[metric], known)
