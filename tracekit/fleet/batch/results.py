"""The data set of a batch: one row a recording, one Parquet file a source, tables beside."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from tracekit import pipeline
from tracekit.analysis import Finding, Measurement, Result
from tracekit.base import InputError, Recording, TracekitError, make_timestamp, replacing, require
from tracekit.tables import SCHEMAS, LossRow, Severity, find_recorded_run

_NS_PER_MS = 1e6


@dataclass(frozen=True)
class RowFinding:
    """What a rule found; savings are milliseconds, None where they cannot be estimated."""

    rule: str
    severity: str
    message: str
    advice: str
    saving_ms: float | None = None
    within: str = ""


_OURS = version("tracekit")  # the version that analyses


@dataclass(frozen=True)
class BatchRow:
    """One recording of a batch; docs/how-to/analyse-a-thousand-traces.md says what columns hold.

    `key` is the digest of where it lies, which the names of its files in the batch hold; `source`
    is the same without what tells recordings of one folder apart; `stamp` is the digest of what
    its files and the settings of the batch were.
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
    duration: float | None = None
    metrics: dict[str, float] = field(default_factory=dict[str, float])
    results: dict[str, float] = field(default_factory=dict[str, float])
    findings: tuple[RowFinding, ...] = ()
    warnings: tuple[str, ...] = ()
    losses: tuple[LossRow, ...] = ()
    tables: tuple[str, ...] = ()
    tracekit: str = _OURS

    @property
    def has_failed(self) -> bool:
        """Whether nothing is known of the recording but why."""
        return self.state != "ok"

    @property
    def costs(self) -> tuple[LossRow, ...]:
        """The losses by which damage cost rows or names."""
        return tuple(loss for loss in self.losses if loss.severity is Severity.ERROR)


_TYPES: dict[str, pa.DataType] = {
    **dict.fromkeys(("seconds", "duration", "saving_ms"), pa.float64()),
    **dict.fromkeys(("metrics", "results"), pa.map_(pa.string(), pa.float64())),
    **dict.fromkeys(("warnings", "tables"), pa.list_(pa.string())),
}


def _columns(kind: type) -> list[pa.Field]:
    """Return the columns of a class; those of no other type are texts."""
    return [pa.field(name, _TYPES.get(name, pa.string())) for name in kind.__annotations__]


_TYPES["losses"] = pa.list_(
    pa.struct(
        [
            pa.field(name, pa.int64() if name == "rows" else pa.string())
            for name in LossRow.__annotations__
        ]
    )
)
_TYPES["findings"] = pa.list_(pa.struct(_columns(RowFinding)))
ROW_SCHEMA = pa.schema(_columns(BatchRow))


def redact_row(row: BatchRow, say: Callable[[str], str]) -> BatchRow:
    """Return the row with what it says in words, and where it lies, as results have it.

    Names of rules, metrics, tables and states stay as they are.
    """
    findings = (
        replace(finding, message=say(finding.message), advice=say(finding.advice))
        for finding in row.findings
    )
    words = ("recording", "source", "error", "hint", "template", "instruments", "device", "target")
    texts: dict[str, Any] = {name: say(getattr(row, name)) for name in words}
    return replace(
        row,
        **texts,
        findings=tuple(findings),
        warnings=tuple(map(say, row.warnings)),
        losses=tuple(replace(loss, text=say(loss.text)) for loss in row.losses),
    )


def fill_row(row: BatchRow, recording: Recording, result: Result) -> BatchRow:
    """Return the row with what the result says of the recording."""
    provenance, machine = result.provenance, result.provenance.machine
    run = find_recorded_run(recording) if recording.toc_file.exists() else None
    version = run.instruments_version if run else ""
    targets = (f"{target.name} ({target.pid})".strip() for target in provenance.targets)
    metrics, busy = _collect_values(result.metrics), result.metric("gpu_busy")
    # Where there is no number at all, why the device's time is not known says why.
    silence = [f"No metric is available: {busy.reason}"] if busy and not metrics else []
    return replace(
        row,
        template=", ".join(provenance.templates),
        instruments=version or provenance.recorder_version.removeprefix("Instruments").strip(),
        device=device_of(machine),
        workload=provenance.workload,
        target=", ".join(targets),
        duration=provenance.duration,
        metrics=metrics,
        results=_collect_values(result.results),
        findings=tuple(_row_findings(result.findings)),
        warnings=(*provenance.warnings, *silence),
        losses=result.losses,
    )


def device_of(machine: Mapping[str, Any]) -> str:
    """Return the chip or model, and the system with its release."""
    model = machine.get("chip") or machine.get("model") or machine.get("processor")
    system = " ".join(str(machine[name]) for name in ("system", "release") if machine.get(name))
    return ", ".join(str(fact) for fact in (model, system) if fact)


def as_table(rows: tuple[BatchRow, ...]) -> pa.Table:
    """Return rows as a table of Arrow."""
    row_dicts: list[dict[str, Any]] = [msgspec.to_builtins(row) for row in rows]
    for row in row_dicts:
        row |= {name: list(row[name].items()) for name in ("metrics", "results")}
    return pa.Table.from_pylist(row_dicts, schema=ROW_SCHEMA)


def _collect_values(measured: tuple[Measurement, ...]) -> dict[str, float]:
    return {
        measurement.name: float(measurement.value)
        for measurement in measured
        if measurement.value is not None
    }


def _row_findings(findings: Sequence[Finding]) -> Iterator[RowFinding]:
    """Yield the findings, and behind them those that are effects of others."""
    for finding in (*findings, *(effect for cause in findings for effect in cause.as_effects())):
        yield _row_finding(finding)


def _row_finding(finding: Finding) -> RowFinding:
    saving = None if finding.saving is None else finding.saving / _NS_PER_MS
    return RowFinding(
        finding.rule, str(finding.severity), finding.message, finding.advice, saving, finding.within
    )


ALL, NONE = "all", "none"
FOLDER = "tables"


def wanted_tables(words: str) -> tuple[str, ...]:
    """Return the tables that a list with commas names, which must be there; none for `none`."""
    names = [name.strip() for name in words.split(",") if name.strip()]
    for name in names:
        there = (ALL, NONE, *SCHEMAS)
        require(name, there, "table", otherwise="Use all, none or names of tables.")
    return tuple(sorted(set(names) - {NONE}))


def keep_tables(
    output: str, wanted_names: Sequence[str], row: BatchRow, recording: Recording
) -> tuple[str, ...]:
    """Write tables of a recording as `tables/NAME/KEY.parquet`; return the names of those there.

    A column `recording` comes first. A table that the recording lacks, or that cannot be read,
    is left out; the warnings of the recording say why.
    """
    if not output or not wanted_names:
        return ()
    tables = pipeline.tables_of(recording)
    kept_names: list[str] = []
    for name in tables:
        if name not in wanted_names and ALL not in wanted_names:
            continue
        try:
            frame = tables[name]
        except TracekitError:
            continue
        table = pa.Table.from_pandas(frame, preserve_index=False)
        names = pa.array([row.recording] * table.num_rows, pa.string()).dictionary_encode()
        with replacing(Path(output) / FOLDER / name / f"{row.key}.parquet") as file:
            pq.write_table(
                table.add_column(0, "recording", names),
                file,
                compression="zstd",
                write_page_checksum=True,
            )
        kept_names.append(name)
    return tuple(kept_names)


def forget_tables(output: Path, key: str, kept_names: Sequence[str] = ()) -> None:
    """Remove the tables of a recording that are not among those that were kept now."""
    for file in (output / FOLDER).glob(f"*/{key}.parquet"):
        if file.parent.name not in kept_names:
            file.unlink(missing_ok=True)


RESULTS = "results"
_FIRST = ("recording", "key", "source", "stamp", "form", "state")
# A row in a file of its own has nothing to share or to skip: this is smallest, and soonest done.
_OF_FEW_ROWS: dict[str, Any] = {"use_dictionary": False, "write_statistics": False}


@dataclass(frozen=True)
class Results:
    """The folder `results` of a batch.

    A file is called by the digest of where its source lies: whoever writes the results of a
    source again, for whatever reason, replaces them, so that none is ever there twice.
    """

    folder: Path

    def write(self, rows: tuple[BatchRow, ...]) -> None:
        """Put the rows of one source in place of those that it had."""
        with replacing(self.folder / f"{rows[0].source}.parquet") as file:
            pq.write_table(as_table(rows), file, **_OF_FEW_ROWS)

    def find_damage(self) -> dict[str, str]:
        """Return what damage cost recordings, the first loss of each, by their names."""
        return {row.recording: row.costs[0].text for row in self.rows("losses") if row.costs}

    def load_stamps(self) -> dict[str, tuple[str, bool]]:
        """Return what an earlier batch found of each source, by its key; damaged files are none.

        It is the stamp that the source had, and whether it failed.
        """
        stamps: dict[str, tuple[str, bool]] = {}
        for table in self._tables(["source", "stamp", "state"]):
            states = table["state"].to_pylist()
            if states:
                stamp = table["stamp"][0].as_py()
                stamps[table["source"][0].as_py()] = stamp, "ok" not in states
        return stamps

    def rows(self, *columns: str) -> list[BatchRow]:
        """Return every row of the data set, with its first columns and those that are named."""
        tables = self._tables(list(dict.fromkeys((*_FIRST, *columns))))
        rows = [row for table in tables for row in table.to_pylist(maps_as_pydicts="strict")]
        try:
            return msgspec.convert(rows, list[BatchRow])
        except msgspec.ValidationError as error:
            raise InputError(
                f"A row in {self.folder} cannot be read: {error}.",
                hint="Remove the folder; `tracekit batch` makes it again.",
            ) from error

    def _tables(self, columns: list[str]) -> Iterator[pa.Table]:
        for path in sorted(self.folder.glob("*.parquet")):
            with suppress(pa.ArrowInvalid, OSError, KeyError):
                yield pq.ParquetFile(path).read(columns=columns, use_threads=False)
