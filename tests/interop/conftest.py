"""A small run as its tables: two command buffers, their encoders, and their work on the GPU."""

import numpy as np
import pandas as pd
import pytest

from tracekit.analysis.rule import Evidence, Finding, Severity

_TYPES = {"start": "int64", "time": "int64", "target": "bool", "value": "Float64"}
_TYPES |= dict.fromkeys(("duration", "pid", "start_latency"), "Int64")
_TYPES |= dict.fromkeys(("command_buffer", "encoder"), "UInt64")


def frame(columns: str, *rows: tuple[object, ...], **shared_cells: object) -> pd.DataFrame:
    table = pd.DataFrame(rows, columns=columns.split()).assign(**shared_cells)
    texts = [name for name in table if name not in _TYPES and table[name].dtype == object]
    types = {name: kind for name, kind in _TYPES.items() if name in table}
    return table.astype(types | dict.fromkeys(texts, "string"))


OURS: dict[str, object] = {"process": "python3", "pid": 4711, "target": True, "clock": "gpu"}
THEIRS: dict[str, object] = {"process": "WindowServer", "pid": 420, "target": False, "clock": "gpu"}


@pytest.fixture
def tables() -> dict[str, pd.DataFrame]:
    work = "start duration label channel command_buffer encoder start_latency"
    ours = (
        (4000, 1500, "copy  ( python3 (4711) )  0x1", "Compute", 70, 80, 2100),
        (5500, 0, "paged  ( python3 (4711) )  0x2", "Compute", 71, 81, None),
    )
    on_gpu = [
        frame(work, *ours, **OURS),
        frame(work, (4500, 200, "frame", "Vertex", None, 80, 5), **THEIRS),
    ]
    counter_rows = ((4000, 0, 40.5), (4100, 0, np.nan), (4200, 0, 50.25))
    return {
        "phases": frame("start duration name", (-500, 400, "warm-up"), (0, 9000, "steady")),
        "submissions": frame(
            "start duration event command_buffer",
            *((1000, 900, "Submission", 70), (1500, 900, "Submission", 71)),
            **OURS,
        ),
        "encoders": frame(
            "start duration label command_buffer encoder",
            *((1100, 300, None, 70, 80), (1600, 300, None, 71, 81)),
            **OURS,
        ),
        "gpu_intervals": pd.concat(on_gpu, ignore_index=True),
        "gpu_counters": frame(
            "start duration value", *counter_rows, counter="Kernel Occupancy", percentage=True
        ),
    }


@pytest.fixture
def findings() -> tuple[Finding, ...]:
    evidence = (
        Evidence("gpu_intervals", 1000, 4000, "host late"),
        Evidence("gpu_intervals", 50, 60),
    )
    return (
        Finding("bubbles", Severity.WARNING, "Idle for 33 %.", "Submit ahead.", evidence, 3000),
    )
