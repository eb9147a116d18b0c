"""The tables that a trace of the machine has."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pandas as pd

from schedules.machine import RUNNING, Machine

PID = 4711
_OWN: dict[str, Any] = {"process": "python3", "pid": PID, "target": True, "clock": "gpu"}
_RIVAL: dict[str, Any] = {"process": "WindowServer", "pid": 420, "target": False, "clock": "gpu"}
_TYPES: dict[str, str] = {
    **dict.fromkeys(("start", "time"), "int64"),
    **dict.fromkeys(("duration", "pid", "tid", "start_latency", "encoder_time"), "Int64"),
    **dict.fromkeys(("encoders", "depth", "weight"), "Int64"),
    **dict.fromkeys(("command_buffer", "encoder"), "UInt64"),
    **dict.fromkeys(("process", "clock", "channel", "label", "event", "device", "leaf"), "string"),
    "target": "bool",
}
_COLUMNS = {
    "gpu_intervals": (
        "start duration channel label process pid target start_latency depth command_buffer "
        "encoder device clock"
    ),
    "submissions": (
        "start duration event label encoders encoder_time process pid target tid command_buffer "
        "device clock"
    ),
    "completions": "time command_buffer clock",
    "encoders": "start duration label process pid target tid command_buffer encoder device clock",
    "driver_intervals": "start duration event depth process pid target tid device clock",
    "driver_events": "start duration event label depth process pid target tid device clock",
    "compiler_activity": "start duration process pid target clock",
    "cpu_profile": "time weight leaf process pid target tid clock",
}
SAMPLE = 1_000_000


@dataclass(frozen=True)
class Recorded:
    """What the instruments were set to record."""

    samples: bool = True
    encoders: bool = True
    submissions: bool = True
    latency: bool = True
    completions: bool = True


def tables_of(machine: Machine, recorded: Recorded) -> dict[str, pd.DataFrame]:
    """Return the tables, by name."""
    rows = {
        "gpu_intervals": [*_intervals(machine, recorded), *_rivals(machine)],
        "driver_intervals": _lines(machine.drivers, "Command Buffer"),
        "driver_events": _lines(machine.wirings, "Wire Memory"),
        "compiler_activity": _lines(machine.compiles, ""),
    }
    if recorded.submissions:
        rows["submissions"] = _submissions(machine)
    if recorded.encoders:
        rows["encoders"] = _encoders(machine)
    if recorded.completions:
        rows["completions"] = _completions(machine)
    if recorded.samples:
        rows["cpu_profile"] = _samples(machine)
    return {name: _frame(name, table_rows) for name, table_rows in rows.items()}


def _frame(name: str, rows: list[dict[str, Any]]) -> pd.DataFrame:
    columns = _COLUMNS[name].split()
    frame = pd.DataFrame(rows, columns=pd.Index(columns))
    frame = frame.astype({column: _TYPES[column] for column in columns})
    moment = "time" if "time" in columns else "start"
    return frame.sort_values(moment, kind="stable", ignore_index=True)


def _id(number: int) -> int:
    return 4_000_000_000 + 3 * number


def _intervals(machine: Machine, recorded: Recorded) -> Iterable[dict[str, Any]]:
    for buffer in machine.buffers:
        for place, (start, end) in enumerate(buffer.pieces):
            yield _OWN | {
                "start": start,
                "duration": end - start,
                "channel": "Compute",
                "label": f"Compute Command {place}",
                "start_latency": start - buffer.committed if recorded.latency else None,
                "depth": 0,
                "command_buffer": _id(buffer.number),
                "encoder": 100 * buffer.number + place,
                "device": f"GPU {buffer.device}",
            }


def _rivals(machine: Machine) -> Iterable[dict[str, Any]]:
    for number, (start, end, device) in enumerate(machine.rivals):
        yield _RIVAL | {
            "start": start,
            "duration": end - start,
            "channel": "Compute",
            "label": "Compute Command 0",
            "start_latency": 1_000,
            "depth": 0,
            "command_buffer": 9_000_000_000 + number,
            "encoder": 9_000_000_000 + number,
            "device": f"GPU {device}",
        }


def _submissions(machine: Machine) -> list[dict[str, Any]]:
    return [
        _OWN
        | {
            "start": buffer.creation_time,
            "duration": buffer.committed - buffer.creation_time,
            "event": "CommandBufferSubmission",
            "label": "",
            "encoders": len(buffer.works),
            "encoder_time": sum(end - start for start, end in buffer.encoded),
            "tid": 100 + buffer.thread,
            "command_buffer": _id(buffer.number),
            "device": f"GPU {buffer.device}",
        }
        for buffer in machine.buffers
    ]


def _encoders(machine: Machine) -> list[dict[str, Any]]:
    return [
        _OWN
        | {
            "start": start,
            "duration": end - start,
            "label": "",
            "tid": 100 + buffer.thread,
            "command_buffer": _id(buffer.number),
            "encoder": 100 * buffer.number + place,
            "device": f"GPU {buffer.device}",
        }
        for buffer in machine.buffers
        for place, (start, end) in enumerate(buffer.encoded)
    ]


def _completions(machine: Machine) -> list[dict[str, Any]]:
    return [
        {"time": buffer.reported, "command_buffer": _id(buffer.number), "clock": "gpu"}
        for buffer in machine.buffers
    ]


def _lines(times: list[tuple[int, int]], event: str) -> list[dict[str, Any]]:
    return [
        _OWN
        | {"start": start, "duration": end - start, "event": event, "label": "", "depth": 0}
        | {"tid": None, "device": "GPU 0"}
        for start, end in times
    ]


def _samples(machine: Machine) -> list[dict[str, Any]]:
    """Look at each thread about once a millisecond, and note those that run."""
    random = machine.random
    rows: list[dict[str, Any]] = []
    for thread, states in enumerate(machine.states):
        if not states:
            continue
        place = 0
        sample_time = states[0].start + random.integers(SAMPLE)
        while sample_time < states[-1].end:
            while states[place].end <= sample_time:
                place += 1
            state = states[place]
            if state.start <= sample_time and state.doing in RUNNING:
                cells = {"time": int(sample_time), "weight": SAMPLE, "tid": 100 + thread}
                rows.append(_OWN | cells | {"leaf": f"{state.doing}_something"})
            sample_time += random.integers(SAMPLE * 9 // 10, SAMPLE * 11 // 10)
    return rows
