"""What is known of each run or batch, as rows: where it comes from, metrics, findings."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tracekit.analysis import METRICS, Finding, Measurement, load
from tracekit.base import Provenance, Recording, RecordingError
from tracekit.fleet.batch.results import device_of
from tracekit.fleet.query.database import text, texts
from tracekit.fleet.query.sources import AskedBatch, AskedRun

RESULTS = "batch_results"


def results(batches: Sequence[AskedBatch]) -> list[str]:
    """Return, for each batch, its rows as they are."""
    if not batches:
        raise RecordingError(
            "No batch is asked, so there are no batch_results.",
            hint="Name the folder that `tracekit batch --output` wrote; runs have `runs`.",
        )
    return [rows_in(batch, batch.results) for batch in batches]


def rows_in(batch: AskedBatch, files: Sequence[Path]) -> str:
    """Return the rows of files of a batch, with the columns that every view has first."""
    name, path = f"concat({text(batch.prefix)}, recording)", text(str(batch.path))
    return f"SELECT {name} AS run, {path} AS run_path, * EXCLUDE (recording) FROM {parquet(files)}"


def parquet(files: Sequence[Path]) -> str:
    """Return the rows of files, whatever columns each has."""
    return f"read_parquet({texts([str(file.resolve()) for file in files])}, union_by_name = true)"


Cells = dict[str, Any]
_KINDS: dict[str, pa.DataType] = {
    **dict.fromkeys(("gpu_cores", "memory", "target_pid", "saving"), pa.int64()),
    **dict.fromkeys(("seconds", "value", "saving_per_token"), pa.float64()),
    "parameters": pa.map_(pa.string(), pa.string()),
    "warnings": pa.list_(pa.string()),
}


def _schema(*columns: str) -> pa.Schema:
    """Return columns after the run's name and path; those of no other kind are texts."""
    names = ("run", "run_path", *columns)
    return pa.schema([(name, _KINDS.get(name, pa.string())) for name in names])


# One row for each run: its state, and where it comes from.
RUNS = _schema(
    *("state", "error", "created", "started", "seconds", "recorder", "recorder_version"),
    *("template", "method", "workload", "parameters", "device", "chip", "model", "gpu_cores"),
    *("system", "os", "memory", "mlx", "git_commit", "tracekit", "target_name", "target_pid"),
    "warnings",
)
SCHEMAS: Mapping[str, pa.Schema] = {
    "runs": RUNS,
    "metrics": _schema("metric", "value", "unit", "better", "reason"),
    "findings": _schema(
        *("rule", "severity", "message", "advice", "saving", "saving_per_token", "within")
    ),
}


def rows_of(name: str, run: AskedRun, recording: Recording) -> Iterator[Cells]:
    """Yield a run's rows of an overview."""
    provenance = recording.provenance()
    if name != "runs" and not recording.result_file.exists():
        raise RecordingError("it is not analyzed", hint="`tracekit analyze RUN` does it.")
    if name == "runs":
        rows = [_run(recording, provenance)]
    elif name == "metrics":
        rows = [_metric(metric) for metric in load(recording.result_file).metrics]
    else:
        rows = [_finding(finding) for finding in load(recording.result_file).findings]
    return (identify_run(run) | row for row in rows)


def of_batches(name: str, batches: Sequence[AskedBatch]) -> Iterator[str]:
    """Yield, for each batch, the rows of an overview that its recordings have."""
    units = ", ".join(
        f"({text(metric.name)}, {text(metric.unit)}, {text(str(metric.better))})"
        for metric in METRICS.values()
    )
    for batch in batches:
        if batch.results:
            rows = rows_in(batch, batch.results)
            yield _OF_BATCH[name].replace("UNITS", f"(VALUES {units})").replace("ROWS", f"({rows})")


_TEXTS = ", ".join(
    f"nullif({name}, '') AS {name}"
    for name in ("error", "template", "device", "workload", "tracekit")
)
_OF_BATCH = {
    "runs": rf"""
        SELECT run, run_path, if(state = 'ok', 'analyzed', state) AS state, duration AS seconds,
            {_TEXTS}, warnings, nullif(instruments, '') AS recorder_version,
            nullif(regexp_replace(target, ' ?\(\d+\)$', ''), '') AS target_name,
            TRY_CAST(regexp_extract(target, '\((\d+)\)$', 1) AS BIGINT) AS target_pid
        FROM ROWS""",
    "metrics": """
        SELECT run, run_path, entry.key AS metric, entry.value AS value, unit, better
        FROM (SELECT run, run_path, unnest(map_entries(metrics)) AS entry FROM ROWS)
        LEFT JOIN UNITS AS units(metric, unit, better) ON units.metric = entry.key""",
    "findings": """
        SELECT run, run_path, found.rule, found.severity, found.message, found.advice,
            CAST(round(found.saving_ms * 1e6) AS BIGINT) AS saving,
            nullif(found.within, '') AS within
        FROM (SELECT run, run_path, unnest(findings) AS found FROM ROWS)""",
}


def identify_run(run: AskedRun) -> Cells:
    """Return the columns of a run that every view has."""
    return {"run": run.name, "run_path": run.place}


def _run(recording: Recording, provenance: Provenance) -> Cells:
    done = "analyzed" if recording.result_file.exists() else "not analyzed"
    broken = (
        (f"{stage_name} {stage.state}", stage.message)
        for stage_name, stage in provenance.unfinished_stages.items()
    )
    state, error = next(broken, (done, ""))
    kinds = {column.name: column.type for column in RUNS}
    machine = {
        name: _fit_type(kinds[name], provenance.machine.get(name))
        for name in ("chip", "model", "gpu_cores", "system", "os", "memory", "mlx")
    }
    target = provenance.targets[0] if provenance.targets else None
    texts = ("created", "started", "recorder", "recorder_version", "method", "workload")
    return {
        "state": state,
        "error": error or None,
        **{name: getattr(provenance, name) or None for name in texts},
        "seconds": provenance.duration,
        "template": ", ".join(provenance.templates) or None,
        "parameters": [(name, str(value)) for name, value in provenance.parameters.items()],
        "device": device_of(provenance.machine) or None,
        **machine,
        "git_commit": provenance.git_commit or None,
        "tracekit": provenance.tracekit or None,
        "target_name": target.name if target else None,
        "target_pid": target.pid if target else None,
        "warnings": list(provenance.warnings),
    }


def _fit_type(kind: pa.DataType, value: Any) -> Any:
    """Return a fact of a machine, which is whatever a file says, or null where it does not fit."""
    if pa.types.is_string(kind):
        return None if value is None else str(value)
    return value if isinstance(value, int) else None


def _metric(metric: Measurement) -> Cells:
    return {
        "metric": metric.name,
        "value": None if metric.value is None else float(metric.value),
        "unit": metric.unit,
        "better": str(metric.better),
        "reason": metric.reason or None,
    }


def _finding(finding: Finding) -> Cells:
    names = ("rule", "severity", "message", "advice", "saving", "saving_per_token")
    return {name: getattr(finding, name) for name in names} | {"within": finding.within or None}
