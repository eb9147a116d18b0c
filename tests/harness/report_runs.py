"""Runs as a report meets them, in literal rows."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import pandas as pd

from tracekit.analysis.result import Better, Measurement, Result, RuleCheck, Status
from tracekit.analysis.rule import Evidence, Finding, Severity
from tracekit.base.recording import Overhead, Process, Provenance, Stage
from typed_rows import frames

MS = 1_000_000

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Run:
    result: Result
    tables: Mapping[str, pd.DataFrame]

    def having(self, **parts: Any) -> "Run":
        return replace(self, result=replace(self.result, **parts))


@cache
def bare() -> Run:
    return Run(Result(Provenance()), {})


def host_tables() -> dict[str, pd.DataFrame]:
    target_cells = {"process": "python3", "pid": 77, "target": True, "clock": "host"}
    starts = [600, 610, 620, 640, 650]
    phases = [("prepare", 0, 600), ("warm-up", 600, 20), ("steady", 620, 38)]

    def row(start: int, length: int, **more: Any) -> dict[str, Any]:
        return {"start": start * MS, "duration": length * MS, "clock": "host", **more}

    rows = {
        "phases": [row(start_ms, length, name=name) for name, start_ms, length in phases],
        "steps": [
            row(
                start_ms, 8, index=index, phase="warm-up" if start_ms < 620 else "steady", tokens=16
            )
            | {"submitted": MS}
            for index, start_ms in enumerate(starts)
        ],
        "submissions": [
            row(start_ms, 1, event="eval", label="step") | target_cells for start_ms in starts
        ],
        "gpu_intervals": [
            row(start_ms + 1, 7, channel="CPU", label="paged") | target_cells for start_ms in starts
        ],
        "specializations": [{"time": 601 * MS, "name": "decode_f16", "clock": "host"}],
    }
    return frames(**rows)


@cache
def host_run() -> Run:
    """Five steps on the CPU, with one long gap; a warning, a note, two abstentions."""
    provenance = Provenance(
        tracekit="0.1.0", created="2026-11-20T10:15:03+00:00", recorder="host",
        recorder_version="tracekit 0.1.0", workload="paged",
        parameters={"batch": 16, "dtype": "float16", "ragged": False},
        command_lines=(("python3", "-m", "tracekit.workload.worker", "a b.json"),),
        targets=(Process(77, "python3"),), time_limit=5.0, duration=6.1,
        end_reason="the workload ended", machine={"system": "Linux", "memory": 8 << 30},
        clock={"origin": 123, "clock": "monotonic"},
        overhead=Overhead(0.012, 0.02, 4_250_000, 4_200_000),
        stages={"record": Stage("done", "2026-11-20T10:15:09+00:00")},
        warnings=("The machine had 1.4 other cores busy.",), redacted=True,
    )  # fmt: skip
    metrics = (
        Measurement("tokens_per_second", 3412.4, "tokens/s", Better.HIGHER),
        Measurement("step_p50", 8 * MS, "ns", Better.LOWER),
        Measurement("gpu_busy", None, "ns", Better.NEITHER, "the work ran on the CPU."),
        Measurement("host_idle_ratio", 0.345, "ratio", Better.LOWER),
    )
    findings = (
        Finding(
            "bubbles", Severity.WARNING,
            "The work of the target was idle for 34.5 % of the steady phase.",
            "Keep two steps in flight.", (Evidence("gpu_intervals", 628 * MS, 641 * MS),), 13 * MS,
        ),
        Finding("trace-overhead", Severity.NOTE, "Recording cost 1.2 %.", ""),
    )  # fmt: skip
    checks = (
        RuleCheck("capture-empty", Status.PASSED),
        RuleCheck("bubbles", Status.FOUND),
        RuleCheck("low-occupancy", Status.ABSTAINED, "the recording has no GPU counters."),
        RuleCheck("gpu-contended", Status.ABSTAINED, "the work ran on the CPU."),
    )
    return Run(Result(provenance, metrics, findings, checks), host_tables())


@cache
def trace_run() -> Run:
    """Two channels of a target, another process, a driver and a compiler, on a trace's clock."""
    target_cells = {"process": "probe", "pid": 41, "target": True, "clock": "gpu"}
    compositor_cells = {"process": "WindowServer", "pid": 420, "target": False, "clock": "gpu"}

    def work(
        start_us: int, length: int, channel: str, label: str, who: dict[str, Any]
    ) -> dict[str, Any]:
        full_label = f"{label}      ( {who['process']} ({who['pid']}) )  0xf269{start_us:04x}"
        latency = 80_000 if who["target"] else pd.NA
        row = {
            "start": start_us * 1000,
            "duration": length * 1000,
            "channel": channel,
            "label": full_label,
        }
        return {**row, "start_latency": latency, **who}

    intervals = [
        work(100, 50, "Compute", "Command Buffer 0:Compute Command 0", target_cells),
        work(150, 30, "Compute", "Command Buffer 0:Compute Command 0", target_cells),
        work(200, 100, "Compute", "Command Buffer 0:Compute Command 1", target_cells),
        work(120, 10, "Blit", "Command Buffer 0:Blit 0", target_cells),
        work(210, 20, "Fragment", "Frame", compositor_cells),
        work(215, 20, "Vertex", "Frame", compositor_cells),
    ]
    driver = {"start": 90_000, "duration": 5_000, "event": "Command Buffer", **target_cells}
    compiler = {"start": 10_000, "duration": 60_000, "program": "compute", **target_cells}
    provenance = Provenance(
        recorder="import", targets=(Process(41, "probe"),), templates=("Metal System Trace",),
        stages={"analyze": Stage("running", "2026-11-20T10:15:09+00:00")},
    )  # fmt: skip
    metrics = (
        Measurement("gpu_busy", 180_000, "ns", Better.NEITHER),
        Measurement("gpu_idle_ratio", 0.1, "ratio", Better.LOWER),
        Measurement("tokens_per_second", None, "tokens/s", Better.HIGHER, "there are no steps"),
    )
    tables = frames(
        gpu_intervals=intervals, driver_intervals=[driver], compiler_activity=[compiler]
    )
    checks = (RuleCheck("capture-empty", Status.PASSED), RuleCheck("bubbles", Status.PASSED))
    return Run(Result(provenance, metrics, (), checks), tables)


def make_target_row(pid: int = 7, **more: Any) -> dict[str, Any]:
    """Return the columns of rows that belong to the target on a trace's clock."""
    return {"process": "app", "pid": pid, "target": True, "clock": "gpu", **more}


@cache
def paced_run() -> Run:
    """Sixty steps on a GPU, two of them long; counters, memory, a monitor, a chip."""
    lengths = [2] * 60
    lengths[20], lengths[40] = 30, 50
    starts = [10 + sum(lengths[:place]) for place in range(60)]
    steps = list(zip(starts, lengths, strict=True))
    vmmap = (None, "vmmap is a program of macOS")
    notes = [
        *(("baseline", "resident", 20, ""), ("baseline", "mlx_active", None, "MLX is not loaded")),
        *(("warm-up", "resident", 60, ""), ("warm-up", "mlx_active", 8, "")),
        *(("warm-up", "mlx_peak", 5, ""), ("warm-up", "footprint", *vmmap)),
        *(("steady", "resident", 59, ""), ("steady", "mlx_active", 12, "")),
        *(("steady", "mlx_peak", 9, ""), ("steady", "footprint", *vmmap)),
    ]
    clocks = ((5, 444e6), (50, 1.4e9), (90, 1.2e9), (206, 1.3e9))
    gauges = [(time_ms, "gpu_clock", clock, "Hz", "macmon") for time_ms, clock in clocks]
    gauges += [(50, "cpu_power", 2.0, "W", "macmon"), (60, "blocks", 7.0, "count", "workload")]
    counters = (("Compute Occupancy", 30.0, 50.0, True), ("GPU Read Bandwidth", 50.0, 60.5, False))
    rows: dict[str, Rows] = {
        "phases": [
            {"start": start_ms * MS, "duration": length * MS, "name": name, "clock": "host"}
            for name, start_ms, length in (("warm-up", 0, 18), ("steady", 18, 188))
        ],
        "steps": [
            {"start": start_ms * MS, "duration": length * MS, "index": index, "tokens": 4}
            | {"phase": "warm-up" if start_ms < 18 else "steady", "variant": "<b>paged</b>"}
            for index, (start_ms, length) in enumerate(steps)
        ],
        "gpu_intervals": [
            make_target_row(
                start=start_ms * MS + MS // 2,
                duration=MS + start_ms * 1_000,
                channel="Compute",
                label="k",
            )
            | {"start_latency": 10_000 + start_ms * 1_000, "command_buffer": start_ms}
            for start_ms, _ in steps
        ],
        "command_buffers": [
            make_target_row(
                command_buffer=start_ms, committed=start_ms * MS, completed=(start_ms + 2) * MS
            )
            | {"commit_to_start": MS // 2, "commit_to_complete": 2 * MS}
            for start_ms, _ in steps
        ],
        "specializations": [
            {"time": time_ms * MS, "name": name, "clock": "host"}
            for time_ms, name in ((5, "early"), (18, "late"), (40, "late"), (1, None))
        ],
        "shaders": [
            {"time": 12 * MS, "name": name, "target": target, "clock": "gpu"}
            for name, target in (("shader", True), ("of another", False))
        ],
        "step_models": [
            {"time": 0, "backend": "metal", "bytes_unique": 15 * MS, "bytes_written": 0}
            | {"flops": 2 * MS, "variant": "<b>paged</b>"}
        ],
        "gpu_counters": [
            {"start": 18 * MS + sample_index * MS, "duration": MS // 10, "counter": name}
            | {"value": value, "percentage": percentage, "clock": "gpu"}
            for name, low_value, high_value, percentage in counters
            for sample_index, value in enumerate(
                [low_value, low_value, high_value, high_value] * 15
            )
        ],
        "process_samples": [
            make_target_row(time=time_ms * MS, memory=(300 - time_ms) << 20)
            for time_ms in range(0, 200, 10)
        ],
        "memory_profile": [
            {
                "time": note_index,
                "phase": phase,
                "what": quantity,
                "reason": reason,
                "clock": "host",
            }
            | {"bytes": None if level is None else level << 10}
            for note_index, (phase, quantity, level, reason) in enumerate(notes)
        ],
        "gauges": [
            {"time": time_ms * MS, "name": name, "value": value, "unit": unit, "source": source}
            for time_ms, name, value, unit, source in gauges
        ],
        "spans": [{"name": "decode", "start": 20 * MS, "duration": MS, "clock": "host"}],
        "submissions": [
            make_target_row(
                start=start_ms * MS, duration=MS // 4, event="e", label="", command_buffer=start_ms
            )
            for start_ms, _ in steps[::4]
        ],
        "gpu_states": [
            make_target_row(start=0, duration=5, state="Active"),
            make_target_row(start=5, duration=9),
        ],
    }
    provenance = Provenance(
        recorder="xctrace", workload="paged", method="attach", templates=("Metal System Trace",),
        time_limit=1.5, targets=(Process(7, "app"),),
        machine={"chip": "Apple M1", "gpu_cores": 8},
        clock={"source": "start-date", "origin": 5, "uncertainty": 1_200_000},
        stages={"export": Stage("failed", "t", "The disk is full.")},
    )  # fmt: skip
    metrics = (
        Measurement("gpu_idle_ratio", 0.5, "ratio", Better.LOWER),
        Measurement("idle_ratio", 0.25, "ratio", Better.LOWER),
        Measurement("gpu_busy", 0, "ns", Better.NEITHER),
        Measurement("compile_time", None, "ns", Better.LOWER, "no compiler."),
        Measurement("pipelines_made", None, "count", Better.LOWER, "no compiler."),
    )
    churn = (Evidence("steps", time_ms * MS, time_ms * MS, "new") for time_ms in range(10))
    findings = (
        Finding("gpu-contended", Severity.ERROR, "Others used the GPU. By app.", "Close them."),
        Finding("late-start", Severity.WARNING, "Late.", "a", saving=3_000, within="bubbles"),
        Finding("pipeline-churn", Severity.WARNING, "2 are new.", "`warm up`", tuple(churn), 9),
    )
    checks = (
        RuleCheck("pipeline-churn", Status.FOUND),
        RuleCheck("odd", Status.ABSTAINED, "the moon is full."),
        RuleCheck("b", Status.ABSTAINED, "no GPU."),
        RuleCheck("c", Status.ABSTAINED, "no GPU."),
        RuleCheck("d", Status.FAILED, "ZeroDivisionError"),
    )
    tables = frames(**rows)
    settings = {"instrument": ["GPU"], "setting": ["Counter Set: Performance Limiters"]}
    tables["settings"] = pd.DataFrame(settings, dtype="string")
    loss_texts = {"text": ["It is cut.", "It is cut.", None]}
    tables["losses"] = pd.DataFrame(loss_texts, dtype="string")
    return Run(Result(provenance, metrics, findings, checks), tables)


@cache
def served_run() -> Run:
    """Three requests: one completed, one that had to go, one that could not come in."""
    too_many = "64 + 8 tokens need 18 blocks of 4; the pool has 8"
    served = [
        (0, "completed", 10, 40, 4, ""),
        (20, "unfinished", None, None, 0, ""),
        (30, "rejected", None, None, 0, too_many),
    ]
    gauges = [
        *((0, "limit_active_sequences", 1), (0, "limit_blocks", 8), (1, "active_sequences", 1)),
        *((1, "used_blocks", 4), (1, "queued_requests", 0), (21, "queued_requests", 2)),
    ]
    rows: dict[str, Rows] = {
        "requests": [
            {"start": start_ms * MS, "number": number, "state": state, "produced": produced}
            | {
                "first_token": first_token and first_token * MS,
                "last_token": last_token and last_token * MS,
            }
            | {"reason": reason}
            for number, (start_ms, state, first_token, last_token, produced, reason) in enumerate(
                served
            )
        ],
        "request_tokens": [
            {"time": time_ms * MS, "request": 0, "index": index}
            for index, time_ms in enumerate((10, 20, 30, 40))
        ],
        "steps": [
            {"start": start_ms * MS, "duration": length * MS, "phase": "steady", "tokens": tokens}
            | {"variant": ""}
            for start_ms, length, tokens in ((0, 10, 0), (10, 10, 1), (20, 30, 3))
        ],
        "gauges": [
            {"time": time_ms * MS, "name": name, "value": value} for time_ms, name, value in gauges
        ],
        "spans": [
            {"name": name, "start": start_ms * MS, "duration": length * MS}
            for name, start_ms, length in (("decode", 0, 8), ("prefill", 8, 30), ("decode", 40, 4))
        ],
    }
    metrics = (
        Measurement("ttft_p50", 10.0 * MS, "ns", Better.LOWER),
        Measurement("ttft_p99", 143 * MS, "ns", Better.LOWER),
        Measurement("tpot_p50", 8 * MS, "ns", Better.LOWER),
        Measurement("tpot_p99", None, "ns", Better.LOWER, "no request was completed."),
        Measurement("goodput", 12.5, "requests/s", Better.HIGHER),
        Measurement("slo_attainment", None, "ratio", Better.HIGHER, "nothing was demanded."),
    )
    results = (Measurement("arrival_lateness_max", 2.0 * MS, "ns", Better.LOWER),)
    tables = frames(**rows)
    provenance = Provenance(recorder="host", workload="serve", parameters={"sizes": [1, 2]})
    return Run(Result(provenance, metrics, results=results), tables)


@cache
def profiled_run() -> Run:
    """A recording without GPU work: samples of threads, hangs, signposts, a launch."""
    app = {"subsystem": "app"}
    rows: dict[str, Rows] = {
        "cpu_profile": [make_target_row(time=5, weight=3 * MS, stack=0, tid=70)] * 3
        + [
            make_target_row(time=9, weight=MS, stack=1, tid=71),
            make_target_row(time=9, weight=99 * MS, stack=1, tid=8, target=False),
        ],
        "threads": [make_target_row(time=0, tid=70, name="Main Thread")],
        "signpost_intervals": [
            *(
                make_target_row(start=start, duration=(start + 1) * 100, name="decode", **app)
                for start in range(3)
            ),
            make_target_row(start=3, duration=None, name="open", **app),
        ],
        "hangs": [
            make_target_row(start=1, duration=5, kind="Microhang"),
            make_target_row(start=2, duration=9, kind="Hang"),
            make_target_row(start=3, duration=99, kind="Hang", target=False),
        ],
        "life_cycles": [make_target_row(start=0, duration=7 * MS, period="Initializing")],
    }
    tables = frames(**rows)
    tables["profile_frames"] = pd.DataFrame(
        {"stack": [0, 0, 1], "depth": [0, 1, 0], "function": ["<spin>", "main", "start"]}
    )
    provenance_facts = {"recorder": "import", "started": "2026-03-30", "duration": 0.1}
    return Run(Result(Provenance(targets=(Process(7, "app"),), **provenance_facts)), tables)


@cache
def replayed_run() -> Run:
    """Counters of two encoders that Xcode exported; one value cannot be."""
    encoders = {
        1: {"Execution Cost": 0.25, "Kernel Occupancy": 0.6, "F32 Limiter": 0.2}
        | {"F32 Utilization": 0.1, "MMU Limiter": 0.9},
        2: {"Execution Cost": 0.75, "Kernel Occupancy": 0.2, "F32 Limiter": 0.4}
        | {"F32 Utilization": 0.1, "MMU Limiter": 0.3, "ALU Limiter": 7.0},
    }
    rows = [
        {"place": place, "function": place, "encoder": f"Encoder {place}", "command_buffer": "CB"}
        | {"counter": name, "value": value, "unit": "ratio"}
        | {"suspect": "above 1" if value > 1 else None}
        for place, values in encoders.items()
        for name, value in values.items()
    ]
    provenance = Provenance(recorder="import", targets=(Process(7, "app"),))
    return Run(Result(provenance), frames(replay_counters=rows))
