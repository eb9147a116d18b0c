"""A small run as its tables: two command buffers, their encoders, and their work on the GPU."""

import numpy as np
import pandas as pd
import pytest

from tracekit.analysis.rule import Evidence, Finding, Severity

_TYPES = {
    "start": "int64",
    "time": "int64",
    "duration": "Int64",
    "pid": "Int64",
    "command_buffer": "UInt64",
    "encoder": "UInt64",
    "start_latency": "Int64",
    "target": "bool",
    "value": "Float64",
}


def frame(rows: list[dict[str, object]]) -> pd.DataFrame:
    made = pd.DataFrame(rows)
    texts = [name for name in made if name not in _TYPES and made[name].dtype == object]
    types = {name: kind for name, kind in _TYPES.items() if name in made}
    return made.astype(types | dict.fromkeys(texts, "string"))


OURS: dict[str, object] = {"process": "python3", "pid": 4711, "target": True, "clock": "gpu"}
THEIRS: dict[str, object] = {"process": "WindowServer", "pid": 420, "target": False, "clock": "gpu"}


@pytest.fixture
def tables() -> dict[str, pd.DataFrame]:
    return {
        "phases": frame(
            [
                {"start": -500, "duration": 400, "name": "warm-up"},
                {"start": 0, "duration": 9000, "name": "steady"},
            ]
        ),
        "submissions": frame(
            [
                {"start": at, "duration": 900, "event": "Submission", "command_buffer": 70 + n}
                | OURS
                for n, at in enumerate((1000, 1500))
            ]
        ),
        "encoders": frame(
            [
                {"start": at, "duration": 300, "label": None, "command_buffer": 70 + n}
                | {"encoder": 80 + n}
                | OURS
                for n, at in enumerate((1100, 1600))
            ]
        ),
        "gpu_intervals": frame(
            [
                {"start": 4000, "duration": 1500, "label": "copy  ( python3 (4711) )  0x1"}
                | {"channel": "Compute", "command_buffer": 70, "encoder": 80, "start_latency": 2100}
                | OURS,
                {"start": 5500, "duration": 0, "label": "paged  ( python3 (4711) )  0x2"}
                | {"channel": "Compute", "command_buffer": 71, "encoder": 81}
                | {"start_latency": None}
                | OURS,
                {"start": 4500, "duration": 200, "label": "frame", "channel": "Vertex"}
                | {"command_buffer": None, "encoder": 80, "start_latency": 5}
                | THEIRS,
            ]
        ),
        "gpu_counters": frame(
            [
                {"start": at, "counter": "Kernel Occupancy", "value": value, "percentage": True}
                for at, value in ((4000, 40.5), (4100, np.nan), (4200, 50.25))
            ]
        ),
    }


@pytest.fixture
def findings() -> tuple[Finding, ...]:
    seen = (Evidence("gpu_intervals", 1000, 4000, "host late"), Evidence("gpu_intervals", 50, 60))
    return (Finding("bubbles", Severity.WARNING, "Idle for 33 %.", "Submit ahead.", seen, 3000),)
