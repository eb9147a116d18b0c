"""Runs made of literal step times, as a comparison takes them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tracekit.analysis.result import Better, Measurement, Result, RuleCheck
from tracekit.analysis.rule import Finding
from tracekit.base.errors import InputError
from tracekit.base.recording import Process, Provenance
from tracekit.comparison.samples import Sample
from typed_rows import frame

MS = 1_000_000
MACHINE = {"chip": "Apple M1", "cores": 8, "os": "macOS 26.0", "mlx": "0.32"}


class Broken(dict[str, pd.DataFrame]):
    """Tables of which two are damaged."""

    def __getitem__(self, name: str) -> pd.DataFrame:
        if name in {"process_samples", "gpu_intervals"}:
            raise InputError("it is damaged.")
        return super().__getitem__(name)


def tables_of(times: Sequence[int], begin: int = 0) -> dict[str, pd.DataFrame]:
    """Make the tables of a steady phase with steps of these lengths in ns, one after the other."""
    starts = [begin + int(sum(times[:place])) for place in range(len(times))]
    spans = [
        {"start": start, "duration": int(length), "clock": "host"}
        for start, length in zip(starts, times, strict=True)
    ]
    step = {"phase": "steady", "submitted": 0, "tokens": 16}
    process_cells = {
        "channel": "CPU",
        "label": "burn",
        "process": "python3",
        "pid": 77,
        "target": True,
    }
    steady = {"start": begin, "duration": int(sum(times)), "name": "steady", "clock": "host"}
    return {
        "steps": frame(
            "steps", [{**span, **step, "index": index} for index, span in enumerate(spans)]
        ),
        "gpu_intervals": frame("gpu_intervals", [span | process_cells for span in spans]),
        "phases": frame("phases", [steady]),
    }


def reference_frame(
    times: Sequence[int], paces: Sequence[float], source: str = "workload"
) -> pd.DataFrame:
    """Make the gauge `reference`, reported after each step, in ns."""
    ends = np.cumsum(np.asarray(times, np.int64)) - 1
    gauge = {"name": "reference", "value": list(paces), "unit": "ns", "source": source}
    return pd.DataFrame({"time": ends, "clock": "host"} | gauge)


def sample_of(
    times: Sequence[int],
    name: str = "run",
    *,
    findings: Sequence[Finding] = (),
    checks: Sequence[RuleCheck] = (),
    tables: dict[str, pd.DataFrame] | None = None,
    **provenance: Any,
) -> Sample:
    """Make a run: its step times in ns, and what its result says of them."""
    lengths = np.asarray(times, np.int64)
    provenance_facts = {"workload": "burn", "recorder": "host", "machine": MACHINE} | provenance
    metrics = (
        Measurement("tokens_per_second", float(16e9 / lengths.mean()), "tokens/s", Better.HIGHER),
        Measurement("step_p50", float(np.median(lengths)), "ns", Better.LOWER),
        Measurement("gpu_busy", None, "ns", Better.NEITHER, "the work ran on the CPU."),
    )
    full_provenance = Provenance(targets=(Process(77, "python3"),), **provenance_facts)
    result = Result(
        full_provenance, metrics=metrics, findings=tuple(findings), checks=tuple(checks)
    )
    return Sample(name, result, tables_of(times) if tables is None else tables)


def noisy(middle: float, count: int = 200, seed: int = 1) -> list[int]:
    """Make step times around `middle` ns that vary by 1 %, the same for the same seed."""
    noise = np.random.default_rng(seed).normal(0, 0.01, count)
    return np.round(middle * np.exp(noise)).astype(int).tolist()


def make_paced_sample(
    middle: float, pace: float, seed: int, source: str = "tracekit (MLX)", **provenance: Any
) -> Sample:
    """Make a run of noisy steps around a length, with reference work of a length in ns."""
    times = noisy(middle, seed=seed)
    gauges = reference_frame(times, noisy(pace, seed=seed + 100), source)
    return sample_of(times, tables=tables_of(times) | {"gauges": gauges}, **provenance)
