"""The rows of a recording, as values; `documents.py` and `bundles.py` write the same ones."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from gpu import Job, make_jobs

WINDOW_SERVER = ("WindowServer", 4_200_000)  # above any pid that a recorded process can have
_SERVER_STEP = 50_000_000  # ns from one job of the window server to the next
_VSYNC = 16_666_667  # ns
_ENCODED = 300_000  # ns from the encoding of a job to its start; its latency is shorter
_TIMEBASE = (125, 3)


@dataclass(frozen=True)
class Process:
    name: str
    pid: int


@dataclass(frozen=True)
class Thread:
    tid: int
    process: Process


@dataclass(frozen=True)
class Label:
    """A label of one piece of text."""

    text: str


Value = str | int | tuple[int, int] | Process | Thread | Label | None
Row = list[Value]
Owner = tuple[str, int]  # a process: name and pid


def rows_of(state: dict[str, Any], schema: str) -> list[Row]:
    """Return the rows of a table, in the order of their times."""
    make = _MAKERS.get(schema)
    if make is None or state["empty"] or state["target"] is None:
        return []
    return make(state)


def target_jobs(state: dict[str, Any]) -> list[Job]:
    """Return the jobs of the target alone."""
    if state["busy"]:
        return make_jobs(state["duration"])
    return state["jobs"].get(str(state["target"]["pid"]), [])


def _all_jobs(state: dict[str, Any]) -> list[tuple[Job, Owner]]:
    """Return the jobs of all processes, by their starts."""
    target = state["target"]
    owner = (target["name"], target["pid"])
    jobs = [(job, owner) for job in target_jobs(state)]
    for pid, others in state["jobs"].items():
        if int(pid) != target["pid"]:
            jobs += [(job, (state["names"].get(pid, "python3"), int(pid))) for job in others]
    for start in range(0, max(int(state["duration"] * 1e9), 1), _SERVER_STEP):
        jobs.append(([start + 1000, start + 1_001_000], WINDOW_SERVER))
    return sorted(jobs, key=lambda job: job[0])


def _intervals(state: dict[str, Any]) -> list[Row]:
    return [
        [
            start, end - start, "Fragment" if owner == WINDOW_SERVER else "Compute", None,
            200_000 + number % 5 * 1000, 0, Label(f"Dispatch {number}"), "Active", 4, 3,
            Process(*owner), state["chip"], "", Label(""), 0, owner[1] * 10_000 + number,
            owner[1] * 20_000 + number, number,
        ]
        for number, ((start, end), owner) in enumerate(_all_jobs(state))
    ]  # fmt: skip


def _encoders(state: dict[str, Any]) -> list[Row]:
    target = state["target"]["pid"]
    rows: list[Row] = []
    for number, ((start, _), owner) in enumerate(_all_jobs(state)):
        if owner[1] == target:
            process = Process(*owner)
            rows.append([
                max(start - _ENCODED, 0), 20_000, Thread(owner[1], process), process,
                state["chip"], None, "", f"Command Buffer {number}", "", "Compute Encoder 0",
                "Compute",
                owner[1] * 10_000 + number, owner[1] * 20_000 + number,
            ])  # fmt: skip
    return rows


def _counters(state: dict[str, Any]) -> list[Row]:
    starts = range(0, max(int(state["duration"] * 1e9), 1), 5_000_000)
    rows: list[Row] = []
    for number, start in enumerate(starts):
        for counter, name in enumerate(state["counters"], 1):
            share = f"{20 + number % 50}.000000000"
            rows.append([
                start, 5_000_000, counter, name, None, share, share, 0, state["chip"], 0, 1, 0,
            ])  # fmt: skip
    return rows


def _counter_infos(state: dict[str, Any]) -> list[Row]:
    return [
        [0, counter, name, 100, 1, name, 1, "Percentage", 1, 0, 0]
        for counter, name in enumerate(state["counters"], 1)
    ]


def _time_info(state: dict[str, Any]) -> list[Row]:
    ticks = state["origin"] * _TIMEBASE[1] // _TIMEBASE[0]
    epoch = f"{state['epoch'] // 10**9}.{state['epoch'] % 10**9:09d}"
    return [[0, ticks, ticks, _TIMEBASE, epoch]]


def _gpu_states(state: dict[str, Any]) -> list[Row]:
    """Return when the GPU was busy or idle, whoever used it."""
    rows: list[Row] = []
    last_end = 0
    for start, end in _union(job for job, _ in _all_jobs(state)):
        if start > last_end:
            rows.append(_gpu_state(last_end, start, "Idle", state["chip"]))
        rows.append(_gpu_state(start, end, "Active", state["chip"]))
        last_end = end
    return rows


def _gpu_state(start: int, end: int, name: str, chip: str) -> Row:
    return [start, end - start, name, Label(name), 3, 1, chip]


def _union(jobs: Iterable[Job]) -> list[Job]:
    spans: list[Job] = []
    for start, end in jobs:
        if spans and start <= spans[-1][1]:
            spans[-1][1] = max(spans[-1][1], end)
        else:
            spans.append([start, end])
    return spans


def _completions(state: dict[str, Any]) -> list[Row]:
    ends = [
        (end, owner[1] * 10_000 + number)
        for number, ((_, end), owner) in enumerate(_all_jobs(state))
    ]
    return [[end, buffer, number] for number, (end, buffer) in enumerate(sorted(ends))]


def _processes(state: dict[str, Any]) -> list[Row]:
    target = state["target"]
    owners = [WINDOW_SERVER, (target["name"], target["pid"])]
    return [[0, pid, pid, Process(name, pid), name] for name, pid in owners]


def _performance_states(state: dict[str, Any]) -> list[Row]:
    """Return the states of a GPU that reaches its best one some seconds after its first job."""
    end = _whole_span(state)
    ramp = int(state.get("clock_ramp", 0) * 1e9)
    if not ramp:
        return [_performance_state(0, end, "Maximum")]
    first = min((start for jobs in state["jobs"].values() for start, _ in jobs), default=0)
    best = min(first + ramp, end)
    rows = [_performance_state(0, best, "Minimum")]
    if best < end:
        rows.append(_performance_state(best, end - best, "Maximum"))
    return rows


def _performance_state(start: int, duration: int, name: str) -> Row:
    return [start, duration, name, "GPU", 1, Label(name), name]


def _whole_span(state: dict[str, Any]) -> int:
    return int(state["duration"] * 1e9)


_MAKERS: dict[str, Callable[[dict[str, Any]], list[Row]]] = {
    "metal-gpu-intervals": _intervals,
    "metal-application-encoders-list": _encoders,
    "metal-gpu-counter-intervals": _counters,
    "gpu-counter-info": _counter_infos,
    "time-info": _time_info,
    "metal-gpu-state-intervals": _gpu_states,
    "metal-command-buffer-completed": _completions,
    "process-info": _processes,
    "tick": lambda state: [[time] for time in range(0, _whole_span(state), 100_000_000)],
    "device-gpu-info": lambda state: [
        [0, 1, state["chip"], "Apple", 5_726_623_061, 0, 0, 0, 1, "", 0]
    ],
    "metal-gpu-info": lambda state: [[0, state["chip"], 0, 1, 1]],
    "device-thermal-state-intervals": lambda state: [
        [0, _whole_span(state), _whole_span(state), "Nominal", "Thermal State", 0, Label("Nominal")]
    ],
    "gpu-performance-state-intervals": _performance_states,
    "display-vsyncs-interval": lambda state: [
        [start, _VSYNC, "Display", 3, Label("VSYNC"), "VSYNC"]
        for start in range(0, _whole_span(state), _VSYNC)
    ],
}
