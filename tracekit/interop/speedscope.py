"""Stacks of a run as a profile of speedscope: one for each thread that was sampled.

The format: https://www.speedscope.app/file-format-schema.json
"""

from collections.abc import Iterator
from typing import Any, BinaryIO

import msgspec
import numpy as np
import pandas as pd

from tracekit.analysis import profile
from tracekit.base import InputError
from tracekit.interop.tracks import Redact
from tracekit.tables import Symbols, Tables

_SCHEMA = "https://www.speedscope.app/file-format-schema.json"
_UNITS = {"cpu_profile": "nanoseconds", "cycle_profile": "none"}  # of the weights of samples


def write_speedscope(tables: Tables, name: str, redact: Redact, file: BinaryIO) -> None:
    """Write the samples of threads that have stacks, the busiest first; InputError without any."""
    samples, symbols, unit = _find_samples(tables)
    frames = list(_frames(symbols, redact))
    profiles = list(_profiles(samples, symbols, unit, redact))
    document = {
        "$schema": _SCHEMA,
        "exporter": "tracekit",
        "name": name,
        "activeProfileIndex": 0,
        "shared": {"frames": frames},
        "profiles": profiles,
    }
    file.write(msgspec.json.encode(document))


def _find_samples(tables: Tables) -> tuple[pd.DataFrame, Symbols, str]:
    for table, schema in profile.PROFILES.items():
        if table not in tables:
            continue
        samples = tables[table]
        with_stacks = samples[samples["stack"].notna()]
        if len(with_stacks):
            ordered = with_stacks.sort_values("time", kind="stable")
            return ordered, tables.symbols(schema), _UNITS[table]
    raise InputError(
        "The run has no samples of threads with stacks.",
        hint="They come from Time Profiler or CPU Profiler; export them with "
        "`tracekit export RUN --tables needed,cpu_profile`.",
    )


def _frames(symbols: Symbols, redact: Redact) -> Iterator[dict[str, Any]]:
    for frame in symbols.frames.to_pylist():
        address = frame.get("address")
        unnamed = "unknown" if address is None else f"0x{address:x}"
        entry: dict[str, Any] = {"name": redact(frame.get("name") or unnamed)}
        file = frame.get("source") or frame.get("binary")
        if file:
            entry["file"] = redact(file)
        line = frame.get("line")
        if line is not None:
            entry["line"] = line
        yield entry


def _profiles(
    samples: pd.DataFrame, symbols: Symbols, unit: str, redact: Redact
) -> Iterator[dict[str, Any]]:
    stack_lists = symbols.stacks.column("frames")
    stacks: list[list[int]] = stack_lists.to_pylist()
    threads = samples.groupby(["process", "pid", "tid"], sort=False, dropna=False)
    by_weight = sorted(threads, key=lambda thread: -float(thread[1]["weight"].fillna(0).sum()))
    for (process, pid, tid), thread_samples in by_weight:
        weights = thread_samples["weight"].fillna(0).to_numpy(np.int64)
        thread_title = f"{_text(process)} ({_text(pid)}), thread {_text(tid)}"
        yield {
            "type": "sampled",
            "name": redact(thread_title),
            "unit": unit,
            "startValue": 0,
            "endValue": int(weights.sum()),
            "samples": [stacks[int(number)][::-1] for number in thread_samples["stack"]],
            "weights": weights.tolist(),
        }


def _text(cell: object) -> str:
    if pd.isna(cell):  # pyright: ignore[reportArgumentType, reportCallIssue]
        return "unknown"
    return str(cell)
