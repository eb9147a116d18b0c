"""What is known of each run or batch, as rows: where it comes from, metrics, findings."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.analysis import METRICS, load
from tracekit.base import Provenance, Recording, RecordingError, TracekitError
from tracekit.fleet.query.database import text, texts
from tracekit.fleet.query.sources import Batch, Run

RESULTS = "batch_results"
RESULTS_MEANING = "One row for each recording of a batch, as OUT/results has it."
_RUNS = """
    CASE state WHEN 'ok' THEN 'analyzed' ELSE state END AS state, nullif(error, '') AS error,
    duration AS seconds, nullif(template, '') AS template,
    nullif(instruments, '') AS recorder_version,
    nullif(device, '') AS device, nullif(workload, '') AS workload,
    nullif(regexp_replace(target, ' ?\\(\\d+\\)$', ''), '') AS target_name,
    TRY_CAST(regexp_extract(target, '\\((\\d+)\\)$', 1) AS BIGINT) AS target_pid,
    warnings, tracekit"""


def results(batches: Sequence[Batch]) -> str:
    """Return the rows of all batches, as they are.

    Raises:
        RecordingError: There is no batch.
    """
    if not batches:
        raise RecordingError(
            "No batch is asked, so there are no batch_results.",
            hint="Name the folder that `tracekit batch --output` wrote; runs have `runs`.",
        )
    return _together(f"SELECT {_named(one)}, * EXCLUDE (recording) {_rows(one)}" for one in batches)


def overview(batches: Sequence[Batch], name: str) -> list[str]:
    """Return, for each batch, what its results say of an overview: runs, metrics or findings."""
    return [_OVERVIEWS[name](one) for one in batches]


def tables(batches: Sequence[Batch], name: str) -> list[str]:
    """Return, for each batch that has a normalized table, its rows."""
    kept = [(one, _whole(one.table(name))) for one in batches]
    return [
        f"SELECT {_named(one)}, * EXCLUDE (recording) FROM {_parquet(files)}"
        for one, files in kept
        if files
    ]


def lacking(batch: Batch, name: str) -> Iterator[str]:
    """Yield the recordings that a batch analysed and whose table it did not keep."""
    kept = {file.stem for file in _whole(batch.table(name))}
    for recording, key, state, _ in _told(batch):
        if state == "ok" and key not in kept:
            yield recording


def failed(batch: Batch) -> Iterator[tuple[str, str]]:
    """Yield the recordings that failed, with the reason."""
    return ((recording, error) for recording, _, state, error in _told(batch) if state != "ok")


def recorded(batch: Batch) -> int:
    """Count the recordings of a batch."""
    return sum(1 for _ in _told(batch))


def analysed(batch: Batch) -> int:
    """Count the recordings of a batch that did not fail."""
    return sum(state == "ok" for _, _, state, _ in _told(batch))


def columns(batch: Batch) -> tuple[str, ...]:
    """Return the columns of a batch's results, but for the recording's name."""
    files = _whole(batch.results())
    names = pq.read_schema(files[0]).names if files else []
    return tuple(name for name in names if name != "recording")


def _runs(batch: Batch) -> str:
    return f"SELECT {_named(batch)}, {_RUNS} {_rows(batch)}"


def _metrics(batch: Batch) -> str:
    known = ", ".join(
        f"({text(one.name)}, {text(one.unit)}, {text(str(one.better))})" for one in METRICS.values()
    )
    return (
        "SELECT e.run, e.run_path, e.entry.key AS metric, e.entry.value AS value, u.unit, u.better "
        f"FROM (SELECT {_named(batch)}, unnest(map_entries(metrics)) AS entry {_rows(batch)}) e "
        f"LEFT JOIN (VALUES {known}) u(metric, unit, better) ON u.metric = e.entry.key"
    )


def _findings(batch: Batch) -> str:
    return (
        "SELECT run, run_path, f.rule, f.severity, f.message, f.advice, "
        "CAST(round(f.saving_ms * 1e6) AS BIGINT) AS saving, nullif(f.within, '') AS within "
        f"FROM (SELECT {_named(batch)}, unnest(findings) AS f {_rows(batch)})"
    )


_OVERVIEWS = {"runs": _runs, "metrics": _metrics, "findings": _findings}


def _named(batch: Batch) -> str:
    path = text(str(batch.path))
    return f"concat({text(batch.prefix)}, recording) AS run, {path} AS run_path"


def _rows(batch: Batch) -> str:
    return f"FROM {_parquet(_whole(batch.results()))}"


def _parquet(files: Sequence[Path]) -> str:
    paths = [str(one.resolve()) for one in files]
    return f"read_parquet({texts(paths)}, union_by_name = true)"


def _together(selects: Iterator[str]) -> str:
    return " UNION ALL BY NAME ".join(selects)


def _whole(files: Sequence[Path]) -> list[Path]:
    """Return the files that are Parquet to their end."""
    found: list[Path] = []
    for file in files:
        with suppress(OSError, pa.ArrowException):
            pq.read_metadata(file)
            found.append(file)
    return found


def _told(batch: Batch) -> Iterator[tuple[str, str, str, str]]:
    for file in _whole(batch.results()):
        rows = pq.ParquetFile(file).read(columns=["recording", "key", "state", "error"])
        for row in rows.to_pylist():
            yield f"{batch.prefix}{row['recording']}", row["key"], row["state"], row["error"]


Row = dict[str, Any]
_TEXTS = pa.list_(pa.string())
_RUN = (("run", pa.string()), ("run_path", pa.string()))

RUNS = pa.schema(
    [
        *_RUN,
        *(("state", pa.string()), ("error", pa.string()), ("created", pa.string())),
        *(("started", pa.string()), ("seconds", pa.float64()), ("recorder", pa.string())),
        *(("recorder_version", pa.string()), ("template", pa.string()), ("method", pa.string())),
        *(("workload", pa.string()), ("parameters", pa.map_(pa.string(), pa.string()))),
        *(("device", pa.string()), ("chip", pa.string()), ("model", pa.string())),
        ("gpu_cores", pa.int64()),
        *(("system", pa.string()), ("os", pa.string()), ("memory", pa.int64())),
        *(("mlx", pa.string()), ("git_commit", pa.string()), ("tracekit", pa.string())),
        *(("target_name", pa.string()), ("target_pid", pa.int64()), ("warnings", _TEXTS)),
    ]
)
METRIC_ROWS = pa.schema(
    [
        *_RUN,
        *(("metric", pa.string()), ("value", pa.float64()), ("unit", pa.string())),
        *(("better", pa.string()), ("reason", pa.string())),
    ]
)
FINDINGS = pa.schema(
    [
        *_RUN,
        *(("rule", pa.string()), ("severity", pa.string()), ("message", pa.string())),
        *(("advice", pa.string()), ("saving", pa.int64()), ("saving_per_token", pa.float64())),
        ("within", pa.string()),
    ]
)

MEANINGS = {
    "runs": "One row for each run: its state, and where it comes from.",
    "metrics": "One row for each metric of each analyzed run.",
    "findings": "One row for each finding of each analyzed run; `saving` in ns.",
}
SCHEMAS: Mapping[str, pa.Schema] = {"runs": RUNS, "metrics": METRIC_ROWS, "findings": FINDINGS}


def rows_of(name: str, run: Run, recording: Recording) -> Iterator[Row]:
    """Yield a run's rows of an overview, without the columns `run` and `run_path`.

    Raises:
        TracekitError: It has none, with the reason; a row of `runs` there always is.
    """
    named = {"run": run.name, "run_path": run.place}
    return (named | row for row in _ROWS[name](recording))


def unread(run: Run, error: TracekitError) -> Row:
    """Return the row of `runs` of a run that cannot be read."""
    return {
        "run": run.name,
        "run_path": run.place,
        "state": "unreadable",
        "error": error.message,
    }


def _run_rows(recording: Recording) -> Iterator[Row]:
    provenance = recording.provenance()
    state, error = _state(recording, provenance)
    machine = {
        name: provenance.machine.get(name)
        for name in ("chip", "model", "gpu_cores", "system", "os", "memory", "mlx")
    }
    target = provenance.targets[0] if provenance.targets else None
    texts = ("created", "started", "recorder", "recorder_version", "method", "workload")
    yield {
        "state": state,
        "error": error or None,
        **{name: getattr(provenance, name) or None for name in texts},
        "seconds": provenance.duration,
        "template": ", ".join(provenance.templates) or None,
        "parameters": [(name, str(value)) for name, value in provenance.parameters.items()],
        "device": _device(provenance.machine),
        **{name: _typed(RUNS.field(name).type, value) for name, value in machine.items()},
        "git_commit": provenance.git_commit or None,
        "tracekit": provenance.tracekit or None,
        "target_name": target.name if target else None,
        "target_pid": target.pid if target else None,
        "warnings": list(provenance.warnings),
    }


def _device(machine: Mapping[str, Any]) -> str | None:
    model = machine.get("chip") or machine.get("model")
    system = " ".join(str(machine[name]) for name in ("system", "release") if machine.get(name))
    return ", ".join(str(one) for one in (model, system) if one) or None


def _typed(kind: pa.DataType, value: Any) -> Any:
    """Return a fact of a machine, which is whatever a file says, or null where it does not fit."""
    if pa.types.is_string(kind):
        return None if value is None else str(value)
    return value if isinstance(value, int) else None


def _state(recording: Recording, provenance: Provenance) -> tuple[str, str]:
    for name, stage in provenance.unfinished.items():
        return f"{name} {stage.state}", stage.message
    return ("analyzed" if recording.result_file.exists() else "not analyzed"), ""


def _metric_rows(recording: Recording) -> Iterator[Row]:
    for one in load(_analyzed(recording)).metrics:
        yield {
            "metric": one.name,
            "value": None if one.value is None else float(one.value),
            "unit": one.unit,
            "better": str(one.better),
            "reason": one.reason or None,
        }


def _finding_rows(recording: Recording) -> Iterator[Row]:
    for one in load(_analyzed(recording)).findings:
        yield {
            "rule": one.rule,
            "severity": str(one.severity),
            "message": one.message,
            "advice": one.advice,
            "saving": one.saving,
            "saving_per_token": one.saving_per_token,
            "within": one.within or None,
        }


def _analyzed(recording: Recording) -> Any:
    _ = recording.provenance()
    if not recording.result_file.exists():
        raise RecordingError("it is not analyzed", hint="`tracekit analyze RUN` does it.")
    return recording.result_file


_ROWS: Mapping[str, Callable[[Recording], Iterator[Row]]] = {
    "runs": _run_rows,
    "metrics": _metric_rows,
    "findings": _finding_rows,
}
