"""Good recordings of every kind, with all that is known of them, to take something away from."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from labelled.faults import FAULTS
from labelled.folder import write
from labelled.program import simulate
from labelled.setup import MICROSECOND, MILLISECOND, Counters, Hold, Server, Setup
from small_trace import SETUP
from tracekit import pipeline
from tracekit.analysis.analyze import judge, measure, used_tables
from tracekit.analysis.given import Given
from tracekit.analysis.metrics import METRICS
from tracekit.analysis.result import Check, Measurement
from tracekit.analysis.rule import Finding
from tracekit.analysis.rules import RULES
from tracekit.base.recording import Recording
from tracekit.record.host.exports import EVENTS, source_of, write_rows
from tracekit.workload.plan import Plan
from tracekit.workload.workload import find

# A simulated recording with something of everything that a metric measures.
_BUSY = replace(
    SETUP,
    steps=24,
    version="27.0",
    ahead=0,
    tells=True,
    monitored=True,
    counters=Counters(),
    bytes_moved=200_000_000,
    flops=1_000_000_000,
    readbacks=2,
    late=600 * MICROSECOND,
    rival=Hold(20 * MILLISECOND, 2 * MILLISECOND),
    compiles=((5, 20 * MILLISECOND), (9, 3 * MILLISECOND)),
    leak=1 << 21,
    allocations=4,
    wiring=300 * MICROSECOND,
    spilled=256,
    overhead=0.01,
    clock=(0.7, 0.3),
    thermal="Serious",
    spikes=((16, 30 * MILLISECOND),),
)
_PAGED = {"batch": 2, "q_heads": 4, "kv_heads": 2, "head_dim": 64, "block_size": 16}
_PAGED |= {"max_blocks": 4, "active_blocks": 2, "dtype": "float32"}
_SERVE = {"head_dim": 32, "q_heads": 2, "kv_heads": 1, "layers": 1, "dtype": "float32"}
_SERVE |= {"max_seqs": 2, "blocks": 3, "seed": 2, "rate": 120.0, "duration": 0.4}
_SERVE |= {"prompt_tokens": 12, "prompt_shortest": 4, "prompt_longest": 40}
_SERVE |= {"output_tokens": 6, "output_shortest": 1, "output_longest": 20}
_SERVE |= {"slo_ttft": 40.0, "slo_tpot": 4.0, "slow_tick": 2.0}

Judged = tuple[Check, list[Finding]]


@dataclass(frozen=True)
class Whole:
    """A recording, its tables, and what each metric and each rule says of it."""

    recording: Recording
    tables: Mapping[str, pd.DataFrame]
    metrics: dict[str, Measurement]
    judged: dict[str, Judged]

    def given(self, tables: Mapping[str, pd.DataFrame]) -> Given:
        return Given(tables, self.recording.provenance(), used_tables())


def _simulated(setup: Setup) -> Callable[[Path], Recording]:
    """Make a recording with all tables of marks, as a workload of tracekit leaves them."""

    def make(folder: Path) -> Recording:
        recording = write(simulate(setup), folder)
        for name in EVENTS:
            if not (recording.exports / f"{source_of(name)}.parquet").exists():
                write_rows(recording.exports, name, ())
        return recording

    return make


def _hosted(workload: str, parameters: Mapping[str, object]) -> Callable[[Path], Recording]:
    def make(folder: Path) -> Recording:
        plan = Plan(
            workload=find(workload),
            parameters=dict(parameters),
            recorder="host",
            time_limit=20.0,
            warmup=2,
            repeats=300 if workload == "paged" else None,
            output=folder,
        )
        recording = pipeline.record(plan)
        pipeline.export(recording)
        return recording

    return make


KINDS: Mapping[str, Callable[[Path], Recording]] = {
    "metal": _simulated(_BUSY),
    "metal that tells no waits": _simulated(replace(_BUSY, tells=False)),
    "metal server": _simulated(replace(_BUSY, server=Server(8, 20 * MILLISECOND, True))),
    "host": _hosted("paged", _PAGED),
    "host server": _hosted("serve", _SERVE),
}
"""How a good recording of each kind is made."""


def whole(make: Callable[[Path], Recording], folder: Path) -> Whole:
    recording = make(folder)
    found = pipeline.tables_of(recording)
    tables = {name: found[name] for name in used_tables() if name in found}
    known = Given(tables, recording.provenance())
    metrics = {name: measure(metric, known) for name, metric in METRICS.items()}
    judged = {name: judge(rule, known, {}) for name, rule in RULES.items()}
    return Whole(recording, tables, metrics, judged)


def faulty(fault: str, seed: int) -> Callable[[Path], Recording]:
    """Return how a recording with a fault is made, that the rule of its name finds."""
    setup = replace(SETUP, steps=40)
    return _simulated(FAULTS[fault].put(setup, np.random.default_rng(seed)))
