"""A program without marks, as Metal System Trace records it: literal tables, times in µs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd

from tracekit.analysis import Finding, Result, analyze
from tracekit.base import Process, Provenance

PID = 4711
_OWN = {"process": "python3", "pid": PID, "target": True, "tid": 1, "clock": "gpu", "device": "M1"}
TYPES = {
    **dict.fromkeys(("duration", "pid", "tid", "start_latency", "encoder_time", "size"), "Int64"),
    **dict.fromkeys(("encoders", "depth", "weight", "committed", "spilled"), "Int64"),
    **dict.fromkeys(("start", "time"), "int64"),
    **dict.fromkeys(("command_buffer", "encoder", "submission"), "UInt64"),
    **dict.fromkeys(("event", "label", "process", "clock", "channel", "state", "name"), "string"),
    **dict.fromkeys(("leaf", "type", "device", "subsystem", "category", "track"), "string"),
}
_SHARED = {"gpu_intervals", "gpu_performance_states", "steps"}
Rows = list[dict[str, Any]]
WIRE = "Wire  {size} MiB   System Memory  ( Success ) ( python3 0x1 (python3, pid: 4711) )"


def frame(rows: Rows) -> pd.DataFrame:
    """Make a table of rows, with the types that a table of the recording has."""
    table = pd.DataFrame(rows)
    return table.astype({name: kind for name, kind in TYPES.items() if name in table})


@dataclass
class Stock:
    """A host thread, a driver and a queue: what the program does goes into tables.

    `host_time` is the host's time; `device_free_time` when the device is through with all that it
    was given.
    """

    host_time: float = 1_000.0
    device_free_time: float = 0.0
    switch: float = 1.0
    launch: float = 0.5
    start: float = 60.0
    complete: float = 30.0
    wake: float = 10.0
    rows: dict[str, Rows] = field(default_factory=dict[str, Rows])
    done: float = 0.0
    number: int = 100
    ends: list[float] = field(default_factory=list[float])

    def add(self, table: str, start_time: float, lasts: float | None = None, **cells: Any) -> None:
        """Add a row; a table of moments takes no length."""
        key = "time" if lasts is None else "start"
        if table == "resource_allocations":
            cells = {"label": "", **cells}
        row = {
            key: round(start_time * 1e3),
            **({} if lasts is None else {"duration": round(lasts * 1e3)}),
        }
        self.rows.setdefault(table, []).append({**row, **_OWN, **cells})

    def spend(self, time: float) -> None:
        self.host_time += time

    def buffer(
        self,
        works: Sequence[float],
        encode: float = 5.0,
        *,
        switch: float | None = None,
        names: Sequence[str] = (),
        driver: float = 8.0,
    ) -> None:
        """Encode a command buffer with so many encoders, commit it, and let the device run it."""
        self.number += 1
        encoding_start, ids = self.host_time, []
        for place, _ in enumerate(works):
            ids.append(self.number * 1_000 + place)
            self.add(
                "encoders", self.host_time, encode, command_buffer=self.number, encoder=ids[-1]
            )
            self.host_time += encode + 0.1
        self.host_time += 1
        cells = {"command_buffer": self.number, "event": "CommandBufferSubmission"}
        encoder_time = round(encode * len(works) * 1e3)
        cells |= {"encoders": len(works), "encoder_time": encoder_time, "label": "Committed"}
        self.add("submissions", encoding_start, self.host_time - encoding_start, **cells)
        ready = self.host_time + driver + 2
        cells = {"event": "Command Buffer", "label": "Command Buffer 0", "depth": 0}
        self.add("driver_intervals", self.host_time + 2, driver, **cells)
        gap = self.switch if switch is None else switch
        work_start = (
            self.device_free_time + gap
            if self.device_free_time + gap > ready
            else ready + self.start
        )
        for place, work in enumerate(works):
            name = names[place % len(names)] if names else f"Compute Command {place}"
            cells = {"command_buffer": self.number, "encoder": ids[place], "channel": "Compute"}
            late = round((work_start - self.host_time) * 1e3)
            cells |= {"label": f"Command Buffer 0:{name}", "start_latency": late}
            self.add(
                "gpu_intervals", work_start, work, **cells, submission=ids[place], state="Active"
            )
            self.device_free_time = work_start + work
            work_start = self.device_free_time + self.launch
        self.done = max(self.done, self.device_free_time + self.complete)
        self.add("completions", self.done, command_buffer=self.number)

    def wait(self, until: float | None = None) -> float:
        """Let the host wait for all that it committed, or for an earlier moment; return when."""
        until = self.done if until is None else until
        if until > self.host_time:
            self.host_time = until + self.wake
        return self.host_time

    def run_ahead(self) -> None:
        """End an iteration: let the host wait for the one before it, while this one runs."""
        self.ends.append(self.done)
        self.wait(self.ends[max(0, len(self.ends) - 2)])

    def tables(self) -> dict[str, pd.DataFrame]:
        frames = {name: frame(rows) for name, rows in self.rows.items()}
        columns = ["start", "duration", "event", "label", "target"]
        frames.setdefault("driver_events", pd.DataFrame(columns=columns).astype({"target": bool}))
        columns = ["start", "duration", "compiler", "program", "process", "target"]
        frames.setdefault(
            "compiler_activity", pd.DataFrame(columns=columns).astype({"target": bool})
        )
        if "gpu_performance_states" not in frames:
            state = {"start": 0, "duration": round(self.done * 1e3), "state": "Maximum"}
            frames["gpu_performance_states"] = frame([state | {"induced": True, "label": ""}])
        return frames

    def analyze_tables(self, **provenance: Any) -> Result:
        base_provenance = Provenance(recorder="xctrace", targets=(Process(PID, "mlx_lm.generate"),))
        rows = in_company(self.tables())
        mixed = {name: table.sample(frac=1, random_state=1) for name, table in rows.items()}
        return analyze(mixed, replace(base_provenance, **provenance))


def in_company(tables: Mapping[str, Any]) -> dict[str, Any]:
    """Let another process do all that the target does, but for work on the GPU, a moment later."""
    mixed_tables = dict(tables)
    for name, target_rows in tables.items():
        if (
            name not in _SHARED
            and isinstance(target_rows, pd.DataFrame)
            and "target" in target_rows
        ):
            moment = "time" if "time" in target_rows else "start"
            other_cells = {
                moment: target_rows[moment] + 12_345,
                "target": False,
                "process": "other",
                "pid": 420,
            }
            if "command_buffer" in target_rows:
                other_cells["command_buffer"] = target_rows["command_buffer"] + 100_000
            theirs = target_rows.assign(
                **{key: value for key, value in other_cells.items() if key in target_rows}
            )
            all_rows = pd.concat([target_rows, theirs]).astype({"target": bool})
            mixed_tables[name] = all_rows.sort_values(moment, kind="stable", ignore_index=True)
    return mixed_tables


def warnings(result: Result) -> list[Finding]:
    return [finding for finding in result.findings if finding.severity != "note"]


def jitter(number: int, share: float = 0.05, seed: int = 1) -> list[float]:
    return np.random.default_rng(seed).normal(1, share, number).clip(0.5, 2).tolist()
