"""The data sets of batches as SQL: their results as rows of the overviews, and their tables."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tracekit.analysis.metrics import METRICS
from tracekit.base.errors import RecordingError
from tracekit.fleet.query.database import text, texts
from tracekit.fleet.query.sources import Batch

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
