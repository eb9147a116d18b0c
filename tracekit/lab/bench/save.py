"""Benches as files: JSON with every sample, CSV with a line for each subject."""

import csv
import io
from pathlib import Path
from typing import Any

import msgspec

from tracekit.base import UsageError, recording, require_writable, write_whole
from tracekit.lab.bench.document import VERSION, Bench, Comparison, Row
from tracekit.lab.bench.tune import Tuning

COLUMNS = (
    *("tokens", "seq_len", "heads", "head_dim", "BLOCK_SIZE", "TG_SIZE", "gpu_ms"),
    *("subject", "family", "state", "kernel", "kv_heads", "dtype", "HD_TILE", "partitions"),
    *("host_ms", "host_ms_mad", "host_ms_p95", "samples", "clock", "step_ms", "tokens_per_s"),
    *("bytes", "bytes_read", "flops", "intensity", "gb_per_s", "residence", "error"),
    *("speed_up", "speed_up_low", "speed_up_high"),
    *("against", "ratio", "ratio_low", "ratio_high"),
    *("execution_width", "most_threads", "threadgroup_memory", "reason"),
)
_MS = 1e6


def save(bench: Bench, path: Path) -> None:
    """Write a bench: as CSV if the name ends in .csv, else as JSON.

    Raises:
        RecordingError: The file cannot be written.
    """
    write_whole(path, as_csv(bench).encode() if path.suffix == ".csv" else as_json(bench))


def check_writable(path: Path) -> None:
    """Find out before anything is measured whether a file can be written at its end.

    Raises:
        UsageError: The name ends in something else than .json or .csv.
        RecordingError: It is a folder, or nothing can be written where it should be.
    """
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


def save_tuning(tuning: Tuning, path: Path) -> None:
    """Write a sweep as JSON; raise RecordingError if the file cannot be written."""
    recording.save(path, tuning_document(tuning))


def as_json(bench: Bench) -> bytes:
    """Return a bench as indented JSON."""
    return recording.as_json(bench_document(bench))


def as_csv(bench: Bench) -> str:
    """Return a line for each subject; what is not known is empty."""
    text = io.StringIO()
    writer = csv.DictWriter(text, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in bench.rows:
        writer.writerow(line_of(row, bench))
    return text.getvalue()


def line_of(row: Row, bench: Bench) -> dict[str, Any]:
    """Return the cells of a subject's line, by column."""
    shape = bench.shape
    attention = row.family != "norm"
    cells: dict[str, Any] = {
        "tokens": row.tokens or None,
        "seq_len": row.sequence or None,
        "heads": shape.q_heads if attention else None,
        "head_dim": shape.head_dim if attention else None,
        "BLOCK_SIZE": row.block_size,
        "TG_SIZE": row.threadgroup,
        "gpu_ms": _ms(row.gpu_ns),
        "subject": row.name,
        "family": row.family,
        "state": row.state,
        "kernel": row.kernel,
        "kv_heads": shape.kv_heads if attention else None,
        "dtype": shape.dtype,
        "HD_TILE": row.hd_tile,
        "partitions": row.partitions,
        "bytes": (row.bytes_unique + row.bytes_written) or None,
        "bytes_read": row.bytes_read or None,
        "flops": row.flops or None,
        "intensity": row.intensity,
        "gb_per_s": row.gb_per_s,
        "residence": row.residence,
        "error": row.error,
        "reason": row.reason or row.no_gpu,
    }
    return cells | _times(row) | _ratios(row) | _limits(row)


def _times(row: Row) -> dict[str, Any]:
    if row.micro is None or row.macro is None:
        return {}
    said = row.micro.summary
    return {
        "host_ms": _ms(said.median),
        "host_ms_mad": _ms(said.mad),
        "host_ms_p95": _ms(said.p95),
        "samples": said.count,
        "clock": "host",
        "step_ms": _ms(row.macro.summary.median),
        "tokens_per_s": row.tokens_per_s,
    }


def _ratios(row: Row) -> dict[str, Any]:
    cells = _interval(row.speed_up, "speed_up")
    if row.against is None:
        return cells
    return cells | {"against": row.against.other} | _interval(row.against, "ratio")


def _interval(found: Comparison | None, name: str) -> dict[str, Any]:
    if found is None:
        return {}
    return {name: found.median, f"{name}_low": found.low, f"{name}_high": found.high}


def _limits(row: Row) -> dict[str, Any]:
    if not row.dispatches:
        return {}
    first = row.dispatches[0]
    return {
        "execution_width": first.execution_width,
        "most_threads": first.most_threads,
        "threadgroup_memory": first.threadgroup_memory,
    }


def _ms(nanoseconds: float | None) -> float | None:
    return None if nanoseconds is None else nanoseconds / _MS
