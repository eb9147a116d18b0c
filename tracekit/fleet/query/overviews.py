"""Each run or batch as rows: its provenance, its metrics, its findings."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tracekit import analysis, pipeline
from tracekit.base import Provenance, Recording, RecordingError
from tracekit.fleet.query.database import text, texts
from tracekit.fleet.query.sources import AskedBatch, AskedRun
from tracekit.tables.lazy import pa

if TYPE_CHECKING:
    from tracekit.analysis import Finding, Measurement, Result, RuleCheck

RESULTS = "batch_results"


def results(batches: Sequence[AskedBatch]) -> list[str]:
    """Return a query for the rows of each batch, as they are."""
    if not batches:
        raise RecordingError(
            "No batch is asked, so there are no batch_results.",
            hint="Name the folder that `tracekit batch --output` wrote; runs have `runs`.",
        )
    return [rows_in(batch, batch.find_results()) for batch in batches]


def rows_in(batch: AskedBatch, files: Sequence[Path]) -> str:
    """Return a query for the rows of a batch's files, after the columns that every view has."""
    name = f"concat({text(batch.prefix)}, recording)"
    path = text(str(batch.path))
    return f"SELECT {name} AS run, {path} AS run_path, * EXCLUDE (recording) FROM {parquet(files)}"


def select_no_rows(column: str) -> str:
    """Return a query that adds a column of texts to rows that may lack it, and no row."""
    return f"SELECT CAST(NULL AS VARCHAR) AS {column} WHERE false"


def parquet(files: Sequence[Path]) -> str:
    """Return a source in SQL for the rows of files, whose columns may differ."""
    paths = [str(file.resolve()) for file in files]
    return f"read_parquet({texts(paths)}, union_by_name = true)"


Cells = dict[str, Any]
# One row for each run: its state and its provenance.
_OF_RUNS = (
    *("state", "error", "created", "started", "seconds", "recorder", "recorder_version"),
    *("template", "method", "workload", "parameters", "device", "chip", "model", "gpu_cores"),
    *("system", "os", "memory", "mlx", "git_commit", "tracekit", "target_name", "target_pid"),
    "warnings",
)
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "runs": _OF_RUNS,
    "metrics": ("metric", "value", "unit", "better", "reason"),
    "findings": (
        *("finding", "rule", "severity", "cause", "lever", "message", "advice"),
        *("saving", "saving_per_token", "within"),
    ),
    "evidence": ("finding", "rule", "of_table", "start", "duration", "note"),
    "checks": ("rule", "status", "reason", "remedy"),
}
"""The columns of each overview, after those that identify the run."""


def schema_of(name: str) -> pa.Schema:
    """Return the columns of an overview, with those that identify the run."""
    identity = [("run", pa.string()), ("run_path", pa.string())]
    return pa.schema([*identity, *without_identity(name)])


def without_identity(name: str) -> pa.Schema:
    """Return the columns of an overview without those that identify the run."""
    kinds = _list_kinds()
    typed_columns = [(column, kinds.get(column, pa.string())) for column in COLUMNS[name]]
    return pa.schema(typed_columns)


@cache
def _list_kinds() -> dict[str, pa.DataType]:
    """Return the types of the columns that are not texts."""
    return {
        **dict.fromkeys(("gpu_cores", "memory", "target_pid", "saving"), pa.int64()),
        **dict.fromkeys(("finding", "start", "duration"), pa.int64()),
        **dict.fromkeys(("seconds", "value", "saving_per_token"), pa.float64()),
        "parameters": pa.map_(pa.string(), pa.string()),
        "warnings": pa.list_(pa.string()),
    }


IN_BATCHES = ("runs", "metrics", "findings")
"""The overviews that a batch keeps; its windows and checks are not stored."""


def rows_of(name: str, recording: Recording) -> list[Cells]:
    """Return a run's rows of an overview, without the columns that identify the run."""
    provenance = recording.provenance()
    if name != "runs" and not recording.result_file.exists():
        raise RecordingError("it is not analyzed", hint="`tracekit analyze RUN` does it.")
    if name == "runs":
        return [_run(recording, provenance)]
    return _rows_of_result(name, pipeline.load_result(recording))


def _rows_of_result(name: str, result: Result) -> list[Cells]:
    """Return the rows of a result in an overview; findings are numbered from 1 by their rank."""
    ranked_findings = list(enumerate(result.findings, start=1))
    match name:
        case "metrics":
            return [_metric(metric) for metric in result.metrics]
        case "findings":
            return [_finding(number, finding) for number, finding in ranked_findings]
        case "checks":
            return [_check(check) for check in result.checks]
        case _:
            rows: list[Cells] = []
            for number, finding in ranked_findings:
                rows += _windows(number, finding)
            return rows


def of_batches(name: str, batches: Sequence[AskedBatch]) -> Iterator[str]:
    """Yield a query for the rows of an overview of each batch; none if batches do not keep it."""
    if name not in IN_BATCHES:
        return
    units = f"(VALUES {_list_units()})"
    select = _OF_BATCH[name].replace("UNITS", units)
    for batch in batches:
        result_files = batch.find_results()
        if result_files:
            rows = rows_in(batch, result_files)
            yield select.replace("ROWS", f"({rows} UNION ALL BY NAME {select_no_rows('started')})")


def _list_units() -> str:
    """Return the name, unit and direction of each metric, as SQL writes rows."""
    rows: list[str] = []
    for metric in analysis.METRICS.values():
        cells = (metric.name, metric.unit, str(metric.better))
        row = f"({', '.join(map(text, cells))})"
        rows.append(row)
    return ", ".join(rows)


_TEXTS = ", ".join(
    f"nullif({name}, '') AS {name}"
    for name in ("error", "template", "device", "workload", "tracekit", "started")
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
    from tracekit.fleet.batch.results import device_of  # noqa: PLC0415  kept rows need none of it

    state, error = _state_of(recording, provenance)
    parameters = [(name, str(value)) for name, value in provenance.parameters.items()]
    device = device_of(provenance.machine) or None
    cells: Cells = {
        "state": state,
        "error": error or None,
        "seconds": provenance.duration,
        "template": ", ".join(provenance.templates) or None,
        "parameters": parameters,
        "device": device,
        "git_commit": provenance.git_commit or None,
        "tracekit": provenance.tracekit or None,
        "warnings": list(provenance.warnings),
    }
    for name in ("created", "started", "recorder", "recorder_version", "method", "workload"):
        cells[name] = getattr(provenance, name) or None
    for name in ("chip", "model", "gpu_cores", "system", "os", "memory", "mlx"):
        fact = provenance.machine.get(name)
        cells[name] = _fit_type(_list_kinds().get(name), fact)
    if provenance.targets:
        target = provenance.targets[0]
        cells["target_name"] = target.name
        cells["target_pid"] = target.pid
    return cells


def _state_of(recording: Recording, provenance: Provenance) -> tuple[str, str]:
    """Return the state of a run, and the message of its first unfinished stage."""
    for name, stage in provenance.unfinished_stages.items():
        return f"{name} {stage.state}", stage.message
    if recording.result_file.exists():
        return "analyzed", ""
    return "not analyzed", ""


def _fit_type(kind: pa.DataType | None, value: Any) -> Any:
    """Return a fact of a machine, which a file states in any type; None if it does not fit."""
    if value is not None and kind is None:
        return str(value)
    if isinstance(value, int):
        return value
    return None


def _metric(metric: Measurement) -> Cells:
    value = None
    if metric.value is not None:
        value = float(metric.value)
    return {
        "metric": metric.name,
        "value": value,
        "unit": metric.unit,
        "better": str(metric.better),
        "reason": metric.reason or None,
    }


def _check(check: RuleCheck) -> Cells:
    return {
        "rule": check.rule,
        "status": str(check.status),
        "reason": check.reason or None,
        "remedy": check.remedy or None,
    }


def _windows(number: int, finding: Finding) -> list[Cells]:
    """Return a row for each window that shows a finding; a moment has the duration 0."""
    rows: list[Cells] = []
    for window in finding.evidence:
        row: Cells = {
            "finding": number,
            "rule": finding.rule,
            "of_table": window.table,
            "start": window.start,
            "duration": window.end - window.start,
            "note": window.note or None,
        }
        rows.append(row)
    return rows


def _finding(number: int, finding: Finding) -> Cells:
    return {
        "finding": number,
        "rule": finding.rule,
        "severity": finding.severity,
        "cause": finding.cause or None,
        "lever": finding.lever or None,
        "message": finding.message,
        "advice": finding.advice,
        "saving": finding.saving,
        "saving_per_token": finding.saving_per_token,
        "within": finding.within or None,
    }
