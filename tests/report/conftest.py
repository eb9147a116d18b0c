"""Runs as a report meets them, in literal rows."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pandas as pd
import pytest

from tracekit.analysis.result import Better, Check, Measurement, Result, Status
from tracekit.analysis.rule import Evidence, Finding, Severity
from tracekit.base.recording import Overhead, Process, Provenance, Stage
from tracekit.tables.schema import Kind
from tracekit.tables.schemas import SCHEMAS

MS = 1_000_000

DTYPES = {
    Kind.TIME: "int64",
    Kind.DURATION: "Int64",
    Kind.INSTANT: "Int64",
    Kind.BITS: "UInt64",
    Kind.INTEGER: "Int64",
    Kind.IDENTIFIER: "UInt64",
    Kind.STACK: "Int64",
    Kind.NUMBER: "Float64",
    Kind.TEXT: "string",
    Kind.FLAG: "boolean",
    Kind.PROCESS: "string",
    Kind.TARGET: "bool",
    Kind.CLOCK: "string",
}

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Run:
    """What `render` takes."""

    result: Result
    tables: Mapping[str, pd.DataFrame]

    def without(self, *names: str) -> "Run":
        """Leave out tables."""
        return replace(self, tables={k: v for k, v in self.tables.items() if k not in names})

    def emptied(self) -> "Run":
        """Keep all tables, without a row."""
        return replace(self, tables={name: one.iloc[:0] for name, one in self.tables.items()})

    def having(self, **parts: Any) -> "Run":
        """Change parts of the result."""
        return replace(self, result=replace(self.result, **parts))


def make_frame(table: str, rows: Rows) -> pd.DataFrame:
    """Make a table with all of its columns, typed as the reader types them."""
    columns = {}
    for column in SCHEMAS[table].columns:
        missing = False if column.kind is Kind.TARGET else pd.NA
        values = [row.get(column.name, missing) for row in rows]
        columns[column.name] = pd.array(values, dtype=DTYPES[column.kind])
    return pd.DataFrame(columns)


@pytest.fixture(scope="session")
def frame() -> Callable[[str, Rows], pd.DataFrame]:
    return make_frame


@pytest.fixture(scope="session")
def bare() -> Run:
    """A result of which nothing is known, and no tables."""
    return Run(Result(Provenance()), {})


def host_tables() -> dict[str, pd.DataFrame]:
    own = {"process": "python3", "pid": 77, "target": True, "clock": "host"}
    starts = [600, 610, 620, 640, 650]
    phases = [("prepare", 0, 600), ("warm-up", 600, 20), ("steady", 620, 38)]

    def row(start: int, length: int, **more: Any) -> dict[str, Any]:
        return {"start": start * MS, "duration": length * MS, "clock": "host", **more}

    rows = {
        "phases": [row(at, length, name=name) for name, at, length in phases],
        "steps": [
            row(at, 8, index=index, phase="warm-up" if at < 620 else "steady", tokens=16)
            | {"submitted": MS}
            for index, at in enumerate(starts)
        ],
        "submissions": [row(at, 1, event="eval", label="step") | own for at in starts],
        "gpu_intervals": [row(at + 1, 7, channel="CPU", label="paged") | own for at in starts],
        "specializations": [{"time": 601 * MS, "name": "decode_f16", "clock": "host"}],
    }
    return {name: make_frame(name, of) for name, of in rows.items()}


@pytest.fixture(scope="session")
def host_run() -> Run:
    """Five steps on the CPU, with one long gap; a warning, a note, two abstentions."""
    provenance = Provenance(
        tracekit="0.1.0",
        created="2026-11-20T10:15:03+00:00",
        recorder="host",
        recorder_version="tracekit 0.1.0",
        workload="paged",
        parameters={"batch": 16, "dtype": "float16", "ragged": False},
        command_lines=(("python3", "-m", "tracekit.workload.worker", "a b.json"),),
        targets=(Process(77, "python3"),),
        time_limit=5.0,
        duration=6.1,
        end_reason="the workload ended",
        machine={"system": "Linux", "memory": 8 << 30},
        clock={"origin": 123, "clock": "monotonic"},
        overhead=Overhead(0.012, 0.02, 4_250_000, 4_200_000),
        stages={"record": Stage("done", "2026-11-20T10:15:09+00:00")},
        warnings=("The machine had 1.4 other cores busy.",),
        redacted=True,
    )
    metrics = (
        Measurement("tokens_per_second", 3412.4, "tokens/s", Better.HIGHER),
        Measurement("step_p50", 8 * MS, "ns", Better.LOWER),
        Measurement("gpu_busy", None, "ns", Better.NEITHER, "the work ran on the CPU."),
        Measurement("host_idle_ratio", 0.345, "ratio", Better.LOWER),
    )
    findings = (
        Finding("trace-overhead", Severity.NOTE, "Recording cost 1.2 %.", ""),
        Finding(
            rule="bubbles",
            severity=Severity.WARNING,
            message="The work of the target was idle for 34.5 % of the steady phase.",
            advice="Keep two steps in flight.",
            evidence=(Evidence("gpu_intervals", 628 * MS, 641 * MS),),
            saving=13 * MS,
        ),
    )
    checks = (
        Check("capture-empty", Status.PASSED),
        Check("bubbles", Status.FOUND),
        Check("low-occupancy", Status.ABSTAINED, "the recording has no GPU counters."),
        Check("gpu-contended", Status.ABSTAINED, "the work ran on the CPU."),
    )
    return Run(Result(provenance, metrics, findings, checks), host_tables())


@pytest.fixture(scope="session")
def trace_run() -> Run:
    """Two channels of a target, another process, a driver and a compiler, on a trace's clock."""
    own = {"process": "probe", "pid": 41, "target": True, "clock": "gpu"}
    other = {"process": "WindowServer", "pid": 420, "target": False, "clock": "gpu"}

    def work(at: int, length: int, channel: str, label: str, who: dict[str, Any]) -> dict[str, Any]:
        named = f"{label}      ( {who['process']} ({who['pid']}) )  0xf269{at:04x}"
        latency = 80_000 if who["target"] else pd.NA
        row = {"start": at * 1000, "duration": length * 1000, "channel": channel, "label": named}
        return {**row, "start_latency": latency, **who}

    intervals = [
        work(100, 50, "Compute", "Command Buffer 0:Compute Command 0", own),
        work(150, 30, "Compute", "Command Buffer 0:Compute Command 0", own),
        work(200, 100, "Compute", "Command Buffer 0:Compute Command 1", own),
        work(120, 10, "Blit", "Command Buffer 0:Blit 0", own),
        work(210, 20, "Fragment", "Frame", other),
        work(215, 20, "Vertex", "Frame", other),
    ]
    driver = {"start": 90_000, "duration": 5_000, "event": "Command Buffer", **own}
    compiler = {"start": 10_000, "duration": 60_000, "program": "compute", **own}
    provenance = Provenance(
        recorder="import",
        targets=(Process(41, "probe"),),
        templates=("Metal System Trace",),
        stages={"analyze": Stage("running", "2026-11-20T10:15:09+00:00")},
    )
    metrics = (
        Measurement("gpu_busy", 180_000, "ns", Better.NEITHER),
        Measurement("gpu_idle_ratio", 0.1, "ratio", Better.LOWER),
        Measurement("tokens_per_second", None, "tokens/s", Better.HIGHER, "there are no steps"),
    )
    tables = {
        "gpu_intervals": make_frame("gpu_intervals", intervals),
        "driver_intervals": make_frame("driver_intervals", [driver]),
        "compiler_activity": make_frame("compiler_activity", [compiler]),
    }
    checks = (Check("capture-empty", Status.PASSED), Check("bubbles", Status.PASSED))
    return Run(Result(provenance, metrics, (), checks), tables)
