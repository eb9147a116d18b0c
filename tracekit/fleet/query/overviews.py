"""What is known of each run, as rows: where it comes from, its metrics, its findings."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from tracekit.analysis.result import load
from tracekit.base.errors import RecordingError, TracekitError
from tracekit.base.recording import Provenance, Recording
from tracekit.fleet.query.sources import Run

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


def _runs(recording: Recording) -> Iterator[Row]:
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


def _metrics(recording: Recording) -> Iterator[Row]:
    for one in load(_analyzed(recording)).metrics:
        yield {
            "metric": one.name,
            "value": None if one.value is None else float(one.value),
            "unit": one.unit,
            "better": str(one.better),
            "reason": one.reason or None,
        }


def _findings(recording: Recording) -> Iterator[Row]:
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
    "runs": _runs,
    "metrics": _metrics,
    "findings": _findings,
}
