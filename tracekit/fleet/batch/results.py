"""The data set of a batch: a row for each recording, a Parquet file for each source, and tables."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit import pipeline
from tracekit import tables as tables_room
from tracekit.analysis import Finding, Measurement, Result
from tracekit.base import (
    InputError,
    Recording,
    TracekitError,
    files,
    make_timestamp,
    own_version,
    require,
)
from tracekit.fleet.batch import parts
from tracekit.tables import SCHEMAS, Severity
from tracekit.tables import losses as tables_losses

if TYPE_CHECKING:
    from tracekit.tables import Tables

_NS_PER_MS = 1e6


@dataclass(frozen=True)
class RowFinding:
    """A finding of a rule; `saving_ms` is None if it cannot be estimated."""

    rule: str
    severity: str
    message: str
    advice: str
    saving_ms: float | None = None
    within: str = ""


_OURS = own_version()  # the version that analyses


@dataclass(frozen=True)
class BatchRow:
    """One recording of a batch; docs/how-to/analyse-a-thousand-traces.md describes most columns.

    `key` is the digest of its place, and part of the names of its files in the batch; `source` is
    the same for all recordings of one source; `stamp` is the digest of the recording's files and
    of the batch's settings. `started` is ISO 8601, or empty if the recording does not tell it.
    """

    recording: str
    key: str
    source: str
    stamp: str
    form: str
    state: str
    error: str = ""
    hint: str = ""
    seconds: float = 0.0
    finished: str = field(default_factory=make_timestamp)
    template: str = ""
    instruments: str = ""
    device: str = ""
    workload: str = ""
    target: str = ""
    started: str = ""
    duration: float | None = None
    metrics: dict[str, float] = field(default_factory=dict[str, float])
    results: dict[str, float] = field(default_factory=dict[str, float])
    findings: tuple[RowFinding, ...] = ()
    warnings: tuple[str, ...] = ()
    losses: tuple[tables_losses.LossRow, ...] = ()
    tables: tuple[str, ...] = ()
    tracekit: str = _OURS

    @property
    def has_failed(self) -> bool:
        """Whether the recording could not be analysed; `error` says why."""
        return self.state != "ok"

    @property
    def costs(self) -> tuple[tables_losses.LossRow, ...]:
        """The losses by which damage cost rows or names."""
        return tuple(loss for loss in self.losses if loss.severity is Severity.ERROR)


_TYPES: dict[str, pa.DataType] = {
    **dict.fromkeys(("seconds", "duration", "saving_ms"), pa.float64()),
    **dict.fromkeys(("metrics", "results"), pa.map_(pa.string(), pa.float64())),
    **dict.fromkeys(("warnings", "tables"), pa.list_(pa.string())),
}


def _columns(kind: type) -> list[pa.Field]:
    """Return the columns of a class, which are texts unless `_TYPES` has another type."""
    return [pa.field(name, _TYPES.get(name, pa.string())) for name in kind.__annotations__]


def _loss_columns() -> list[pa.Field]:
    columns: list[pa.Field] = []
    for name in tables_losses.LossRow.__annotations__:
        kind = pa.int64() if name == "rows" else pa.string()
        columns.append(pa.field(name, kind))
    return columns


_TYPES["losses"] = pa.list_(pa.struct(_loss_columns()))
_TYPES["findings"] = pa.list_(pa.struct(_columns(RowFinding)))
ROW_SCHEMA = pa.schema(_columns(BatchRow))


def redact_row(row: BatchRow, say: Callable[[str], str]) -> BatchRow:
    """Return the row with its texts and places as results have them.

    Names of rules, metrics, tables and states stay as they are.
    """
    findings: list[RowFinding] = []
    for finding in row.findings:
        message = say(finding.message)
        advice = say(finding.advice)
        findings.append(replace(finding, message=message, advice=advice))
    losses: list[tables_losses.LossRow] = []
    for loss in row.losses:
        text = say(loss.text)
        losses.append(replace(loss, text=text))
    words = ("recording", "source", "error", "hint", "template", "instruments", "device", "target")
    texts: dict[str, Any] = {name: say(getattr(row, name)) for name in words}
    warnings = tuple(map(say, row.warnings))
    return replace(
        row,
        **texts,
        findings=tuple(findings),
        warnings=warnings,
        losses=tuple(losses),
    )


def fill_row(row: BatchRow, recording: Recording, result: Result) -> BatchRow:
    """Return the row with the recording's circumstances, numbers and findings."""
    provenance = result.provenance
    instruments = provenance.recorder_version.removeprefix("Instruments").strip()
    if recording.toc_file.exists():
        run = tables_room.toc.find_recorded_run(recording)
        if run and run.instruments_version:
            instruments = run.instruments_version
    targets = [f"{target.name} ({target.pid})".strip() for target in provenance.targets]
    warnings = list(provenance.warnings)
    metrics = _collect_values(result.metrics)
    busy = result.find_metric("gpu_busy")
    if busy and not metrics:
        # The reason why the device's time is not known explains why there is no number at all.
        warnings.append(f"No metric is available: {busy.reason}")
    template = ", ".join(provenance.templates)
    device = device_of(provenance.machine)
    results = _collect_values(result.results)
    findings = tuple(_row_findings(result.findings))
    return replace(
        row,
        template=template,
        instruments=instruments,
        device=device,
        workload=provenance.workload,
        target=", ".join(targets),
        started=provenance.started,
        duration=provenance.duration,
        metrics=metrics,
        results=results,
        findings=findings,
        warnings=tuple(warnings),
        losses=result.losses,
    )


def device_of(machine: Mapping[str, Any]) -> str:
    """Return the chip or model, and the system with its release."""
    model = machine.get("chip") or machine.get("model") or machine.get("processor")
    system_parts = (machine.get("system"), machine.get("release"))
    system_facts = filter(None, system_parts)
    system = " ".join(map(str, system_facts))
    known_facts = filter(None, (model, system))
    return ", ".join(map(str, known_facts))


def as_table(rows: tuple[BatchRow, ...]) -> pa.Table:
    """Return rows as a table of Arrow."""
    row_dicts: list[dict[str, Any]] = [msgspec.to_builtins(row) for row in rows]
    for row in row_dicts:
        row["metrics"] = list(row["metrics"].items())
        row["results"] = list(row["results"].items())
    return pa.Table.from_pylist(row_dicts, schema=ROW_SCHEMA)


def _collect_values(measurements: tuple[Measurement, ...]) -> dict[str, float]:
    values: dict[str, float] = {}
    for measurement in measurements:
        if measurement.value is not None:
            values[measurement.name] = float(measurement.value)
    return values


def _row_findings(findings: Sequence[Finding]) -> Iterator[RowFinding]:
    """Yield the findings, and after them those that are effects of others."""
    for finding in findings:
        yield _row_finding(finding)
    for cause in findings:
        for effect in cause.as_effects():
            yield _row_finding(effect)


def _row_finding(finding: Finding) -> RowFinding:
    saving = None
    if finding.saving is not None:
        saving = finding.saving / _NS_PER_MS
    return RowFinding(
        finding.rule, str(finding.severity), finding.message, finding.advice, saving, finding.within
    )


ALL = "all"
NONE = "none"
FOLDER = "tables"


def wanted_tables(words: str) -> tuple[str, ...]:
    """Return the tables of a comma-separated list, sorted; an unknown one is a UsageError."""
    choices = (ALL, NONE, *SCHEMAS)
    names: set[str] = set()
    for part in words.split(","):
        name = part.strip()
        if name:
            require(name, choices, "table", otherwise="Use all, none or names of tables.")
            names.add(name)
    return tuple(sorted(names - {NONE}))


def keep_tables(
    output: str, wanted_names: Sequence[str], row: BatchRow, tables: "Tables"
) -> tuple[str, ...]:
    """Write tables of a recording as `tables/NAME/KEY.parquet`; return their names.

    The first columns are `recording` and `month`, such as 2026-11, which is null if it is not
    known. A table that the recording lacks, or that cannot be read, is left out; the warnings of
    the recording say why.
    """
    if not output or not wanted_names:
        return ()
    kept_names: list[str] = []
    month = find_month(row.started)
    for name in tables:
        if name not in wanted_names and ALL not in wanted_names:
            continue
        try:
            table = tables.arrow(name)
        except TracekitError:
            continue
        table = table.add_column(0, "recording", _repeat(row.recording, table.num_rows))
        table = table.add_column(1, "month", _repeat(month, table.num_rows))
        path = Path(output) / FOLDER / name / f"{row.key}.parquet"
        with files.replacing(path) as file:
            pq.write_table(parts.mark_month(table, month), file, **_OF_TABLES)
        kept_names.append(name)
    return tuple(kept_names)


def find_month(started: str) -> str | None:
    """Return the month of a time in ISO 8601 on its own clock, such as 2026-11; None if unknown."""
    try:
        moment = datetime.fromisoformat(started)
    except ValueError:
        return None
    return moment.isoformat()[: len("2026-11")]


def _repeat(value: str | None, count: int) -> pa.DictionaryArray:
    """Return a column of equal texts, or of nulls."""
    places = pa.array(np.zeros(count, np.int32), mask=np.full(count, value is None))
    return pa.DictionaryArray.from_arrays(places, pa.array([value or ""]))


def forget_tables(output: Path, key: str, kept_names: Sequence[str] = ()) -> None:
    """Remove the tables that an earlier batch kept of a recording, except `kept_names`."""
    for file in (output / FOLDER).glob(f"*/{key}.parquet"):
        if file.parent.name not in kept_names:
            file.unlink(missing_ok=True)


PAGES = "pages"


def page_file(output: Path, key: str) -> Path:
    """Return the place of a recording's page in a batch."""
    return output / PAGES / f"{key}.html"


def keep_page(
    output: str,
    row: BatchRow,
    recording: Recording,
    result: Result,
    tables: "Tables",
    *,
    redacted: bool,
) -> None:
    """Write the page of a recording, unless its tables cannot be read."""
    with suppress(TracekitError):
        page = pipeline.draw_page(recording, result, tables, redacted=redacted)
        files.write_whole(page_file(Path(output), row.key), page)


def forget_page(output: Path, key: str) -> None:
    """Remove the page that an earlier batch made of a recording."""
    page_file(output, key).unlink(missing_ok=True)


RESULTS = "results"
_FIRST = ("recording", "key", "source", "stamp", "form", "state")
# A file with a single row has nothing to share or to skip: without both it is smallest.
_OF_FEW_ROWS: dict[str, Any] = {"use_dictionary": False, "write_statistics": False}
_OF_TABLES: dict[str, Any] = {"compression": "zstd", "write_page_checksum": True}


@dataclass
class KnownSource:
    """The stamp of a source in an earlier batch, and whether all of it failed."""

    stamp: str
    has_failed: bool


@dataclass(frozen=True)
class Results:
    """The folder `results` of a batch.

    The name of a file is the digest of its source's place: results that are written again replace
    the earlier ones, so that no source has two files.
    """

    folder: Path

    def write(self, rows: tuple[BatchRow, ...]) -> None:
        """Replace the rows of one source."""
        with files.replacing(self.folder / f"{rows[0].source}.parquet") as file:
            pq.write_table(as_table(rows), file, **_OF_FEW_ROWS)

    def find_damage(self) -> dict[str, str]:
        """Return the first loss by damage of each recording that has one, by its name."""
        damage: dict[str, str] = {}
        for row in self.rows("losses"):
            costs = row.costs
            if costs:
                damage[row.recording] = costs[0].text
        return damage

    def load_sources(self) -> dict[str, KnownSource]:
        """Return the sources of an earlier batch by their keys; damaged files are left out."""
        sources: dict[str, KnownSource] = {}
        with tables_losses.collecting():  # a batch repairs what it finds damaged
            rows = self.rows()
        for row in rows:
            source = sources.setdefault(row.source, KnownSource(row.stamp, True))
            source.has_failed &= row.has_failed
        return sources

    def rows(self, *columns: str) -> list[BatchRow]:
        """Return every row of the data set by its source, with its first columns and others."""
        names = list(dict.fromkeys((*_FIRST, *columns)))
        rows: list[dict[str, Any]] = []
        for table in parts.read_files(self.folder, lambda paths: _read_tables(paths, names)):
            rows += table.to_pylist(maps_as_pydicts="strict")
        rows.sort(key=itemgetter("source"))
        try:
            return msgspec.convert(rows, list[BatchRow])
        except msgspec.ValidationError as error:
            raise InputError(
                f"A row in {self.folder} cannot be read: {error}.",
                hint="Remove the folder; `tracekit batch` makes it again.",
            ) from error


def _read_tables(paths: Sequence[Path], columns: list[str]) -> list[pa.Table]:
    """Return some columns of each file that is not damaged; FileNotFoundError if one is gone."""
    tables: list[pa.Table] = []
    for path in paths:
        try:
            table = pq.ParquetFile(path).read(columns=columns, use_threads=False)
        except FileNotFoundError:
            raise
        except (pa.ArrowException, OSError, KeyError) as error:
            parts.report_damage(path, error)
        else:
            tables.append(table)
    return tables


def take_apart(output: Path, sources: Collection[str]) -> None:
    """Give the rows and the tables of sources files of their own, which can be replaced.

    Tables may have rows of a source whose own row was never written, or is damaged.
    """
    parts.take_apart(output / RESULTS, sources, _OF_FEW_ROWS)
    for folder in parts.list_folders(output / FOLDER):
        parts.take_apart(folder, sources, _OF_TABLES)


def join(output: Path) -> None:
    """Make parts of the small files of a batch."""
    for folder in _list_folders(output):
        parts.join(folder)


def recover(output: Path) -> None:
    """Finish or undo the work of a killed batch on its files; set damaged results aside."""
    for folder in _list_folders(output):
        parts.recover(folder)
    for file in parts.set_damaged_aside(output / RESULTS):
        text = f"{file} is damaged; its recordings are analysed again."
        tables_losses.report([tables_losses.Loss(tables_losses.Flaw.NOTED, text)])


def _list_folders(output: Path) -> list[Path]:
    return [output / RESULTS, *parts.list_folders(output / FOLDER)]
