"""Benches as files: JSON with every sample, CSV with a line for each subject."""

import csv
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from tracekit.base import UsageError, recording, require_writable, write_whole
from tracekit.lab.bench.document import VERSION, Bench, Row
from tracekit.lab.bench.inputs import Shape
from tracekit.lab.bench.tune import Tuning

_MS = 1e6


def _ms(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / _MS


def _of_heads(name: str) -> "Cell":
    return lambda row, shape: None if row.family == "norm" else getattr(shape, name)


def _of_limits(name: str) -> "Cell":
    return lambda row, _: getattr(row.dispatches[0], name) if row.dispatches else None


def _of_summary(name: str) -> "Cell":
    return lambda row, _: _ms(getattr(row.micro.summary, name)) if row.micro else None


def _of_comparison(comparison: str, name: str) -> "Cell":
    return lambda row, _: getattr(getattr(row, comparison), name, None)


Cell = Callable[[Row, Shape], Any]
COLUMNS: Mapping[str, Cell] = {
    "tokens": lambda row, _: row.tokens or None,
    "seq_len": lambda row, _: row.sequence or None,
    "heads": _of_heads("q_heads"),
    "head_dim": _of_heads("head_dim"),
    "BLOCK_SIZE": lambda row, _: row.block_size,
    "TG_SIZE": lambda row, _: row.threadgroup,
    "gpu_ms": lambda row, _: _ms(row.gpu_ns),
    "subject": lambda row, _: row.name,
    "family": lambda row, _: row.family,
    "state": lambda row, _: row.state,
    "kernel": lambda row, _: row.kernel,
    "kv_heads": _of_heads("kv_heads"),
    "dtype": lambda _, shape: shape.dtype,
    "HD_TILE": lambda row, _: row.hd_tile,
    "partitions": lambda row, _: row.partitions,
    "host_ms": _of_summary("median"),
    "host_ms_mad": _of_summary("mad"),
    "host_ms_p95": _of_summary("p95"),
    "samples": lambda row, _: row.micro.summary.count if row.micro else None,
    "clock": lambda row, _: "host" if row.micro else None,
    "step_ms": lambda row, _: _ms(row.macro.summary.median) if row.macro else None,
    "tokens_per_s": lambda row, _: row.tokens_per_s,
    "bytes": lambda row, _: (row.bytes_unique + row.bytes_written) or None,
    "bytes_read": lambda row, _: row.bytes_read or None,
    "flops": lambda row, _: row.flops or None,
    "intensity": lambda row, _: row.intensity,
    "gb_per_s": lambda row, _: row.gb_per_s,
    "residence": lambda row, _: row.residence,
    "error": lambda row, _: row.error,
    "speed_up": _of_comparison("speed_up", "median"),
    "speed_up_low": _of_comparison("speed_up", "low"),
    "speed_up_high": _of_comparison("speed_up", "high"),
    "against": _of_comparison("against", "other"),
    "ratio": _of_comparison("against", "median"),
    "ratio_low": _of_comparison("against", "low"),
    "ratio_high": _of_comparison("against", "high"),
    "execution_width": _of_limits("execution_width"),
    "most_threads": _of_limits("most_threads"),
    "threadgroup_memory": _of_limits("threadgroup_memory"),
    "reason": lambda row, _: row.reason or row.no_gpu,
}
"""What a line of the CSV holds, by column; what is not known is empty."""


def save(bench: Bench, path: Path) -> None:
    """Write a bench: as CSV if the name ends in .csv, else as JSON.

    Raises:
        RecordingError: The file cannot be written.
    """
    if path.suffix == ".csv":
        write_whole(path, as_csv(bench).encode())
    else:
        recording.save(path, bench_document(bench))


def check_writable(path: Path) -> None:
    """Refuse, before anything is measured, a file that could not be written at its end."""
    if path.suffix not in {".json", ".csv"}:
        raise UsageError(
            f"{path} ends neither in .json nor in .csv.", hint="The ending says what is written."
        )
    require_writable(path)


def bench_document(bench: Bench) -> dict[str, Any]:
    """Return a bench as plain values, with what follows from its numbers."""
    plain: dict[str, Any] = msgspec.to_builtins(bench)
    for row, one in zip(plain["rows"], bench.rows, strict=True):
        row |= {
            "gpu_ns": one.gpu_ns,
            "tokens_per_s": one.tokens_per_s,
            "intensity": one.intensity,
            "gb_per_s": one.gb_per_s,
        }
    return plain | {"failures": bench.failures}


def tuning_document(tuning: Tuning) -> dict[str, Any]:
    """Return a sweep as plain values."""
    plain: dict[str, Any] = msgspec.to_builtins(tuning)
    return {"kind": "tuning", "version": VERSION} | plain


def as_csv(bench: Bench) -> str:
    """Return a line for each subject; what is not known is empty."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([cell(row, bench.shape) for cell in COLUMNS.values()] for row in bench.rows)
    return text.getvalue()
