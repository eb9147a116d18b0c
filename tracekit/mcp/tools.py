"""The tools of the server: each takes arguments of its own and returns an answer as JSON values.

A tool's function is called with the session and its arguments. Its docstring is the description
that an agent reads, and the fields of its arguments are the schema, so both are short.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Any, cast

import msgspec
from msgspec import Meta

from tracekit import app, comparison, fleet, pipeline, record, tables, workload
from tracekit.base import InputError, TracekitError, UsageError, files, require
from tracekit.mcp.folders import ListedRecording
from tracekit.mcp.session import Session

_SECONDS = 30.0  # the longest time of one query
_MOST_BYTES = 1_000_000  # of the rows of a query, before they are shortened
_WINDOWS = 20
_REMARKS = 2
_REMARK = 160  # characters
_LONGEST_CAPTURE = 60


class NoArguments(msgspec.Struct, forbid_unknown_fields=True):
    """A tool without arguments."""


_Name = Annotated[str, Meta(description="Name from `list`.", max_length=1000)]
_Id = Annotated[int, Meta(description="Id of the finding in `summary`.", ge=1)]


class RecordingArguments(msgspec.Struct, forbid_unknown_fields=True):
    """A tool about a recording."""

    recording: _Name


class FindingArguments(msgspec.Struct, forbid_unknown_fields=True):
    """A tool about a finding."""

    recording: _Name
    id: _Id


class EvidenceArguments(msgspec.Struct, forbid_unknown_fields=True):
    """A part of the windows of a finding."""

    recording: _Name
    id: _Id
    offset: Annotated[int, Meta(description="First window, from 0.", ge=0)] = 0


class TableArguments(msgspec.Struct, forbid_unknown_fields=True):
    """The tables of a recording, or one of them."""

    recording: _Name
    table: Annotated[str, Meta(description="Explain the columns of this one.")] = ""


class QueryArguments(msgspec.Struct, forbid_unknown_fields=True):
    """A question in SQL."""

    sql: Annotated[str, Meta(description="One SELECT in DuckDB's SQL.", max_length=20_000)]
    recordings: Annotated[list[_Name], Meta(min_length=1, max_length=20)]
    rows: Annotated[int, Meta(description="Most rows.", ge=1, le=200)] = 50


class ComparisonArguments(msgspec.Struct, forbid_unknown_fields=True):
    """Two recordings of the same work."""

    reference: _Name
    candidate: _Name


class CaptureArguments(msgspec.Struct, forbid_unknown_fields=True):
    """A workload to record."""

    workload: str
    parameters: dict[str, int | float | str | bool] = {}
    seconds: Annotated[float, Meta(gt=0, le=_LONGEST_CAPTURE)] = 10.0


Answer = dict[str, Any]


def list_recordings(session: Session, arguments: NoArguments) -> Answer:
    """List the recordings that can be read, by name. Start here."""
    del arguments
    entries = list(map(_name_recording, session.folders.list_recordings()))
    return {"recordings": entries, "folders": [name for name, _ in session.folders.roots]}


def _name_recording(entry: ListedRecording) -> Answer:
    return {"recording": entry.name, "kind": entry.kind}


def summarize(session: Session, arguments: RecordingArguments) -> Answer:
    """Sum up one recording.

    Verdict, key numbers, findings by id with causes (ns), checks that were not judged and the
    command to record for them. A missing number is not zero.
    """
    _, result = session.open_analyzed(arguments.recording)
    return _builtins(app.summaries.summarize_result(result, arguments.recording))


def explain_finding(session: Session, arguments: FindingArguments) -> Answer:
    """Explain one finding: message, advice, facts with units, possible saving in ns."""
    _, result = session.open_analyzed(arguments.recording)
    app.summaries.evidence_of(result, arguments.id)
    finding = result.findings[arguments.id - 1]
    document = _builtins(finding)
    document["evidence"] = len(finding.evidence)
    return {"id": arguments.id, **document}


def show_evidence(session: Session, arguments: EvidenceArguments) -> Answer:
    """List the windows of time that show a finding, 20 at a time: table, start, end (ns), note."""
    _, result = session.open_analyzed(arguments.recording)
    document = app.summaries.evidence_of(result, arguments.id)
    windows = document.evidence[arguments.offset : arguments.offset + _WINDOWS]
    return {
        "rule": document.rule,
        "total": len(document.evidence),
        "evidence": [_builtins(window) for window in windows],
    }


def describe_tables(session: Session, arguments: TableArguments) -> Answer:
    """List the tables of a recording with their rows, or explain the columns of one table.

    `query` also knows runs, metrics, findings, evidence, checks and gaps.
    """
    recording = session.open_run(arguments.recording)
    run_tables = pipeline.tables_of(recording)
    if arguments.table:
        return _describe_table(run_tables, arguments.table)
    entries: list[Answer] = []
    for name in run_tables:
        try:
            entries.append({"table": name, "rows": len(run_tables[name])})
        except TracekitError as error:
            entries.append({"table": name, "rows": None, "reason": error.message})
    return {"tables": entries}


def _describe_table(run_tables: "tables.Tables", name: str) -> Answer:
    require(name, list(run_tables), "table", otherwise="Leave `table` out to list all.")
    frame = run_tables[name]
    schema = tables.SCHEMAS[name]
    meanings: dict[str, str] = {}
    for column in schema.columns:
        meanings[column.name] = column.meaning
    columns: list[Answer] = []
    for name_of_column, kind in frame.dtypes.items():
        meaning = meanings.get(str(name_of_column), "")
        columns.append({"column": name_of_column, "type": str(kind), "meaning": meaning})
    return {"table": name, "rows": len(frame), "meaning": schema.meaning, "columns": columns}


def query(session: Session, arguments: QueryArguments) -> Answer:
    """Answer a question in SQL over recordings; it only reads.

    Tables: those of `tables`, and runs, metrics, findings, evidence, checks, gaps. Times are ns.
    Each begins with the columns run and run_path. Examples: "select * from gaps order by duration
    desc limit 1"; "select kernel, sum(duration) ns from gpu_intervals where target group by 1 order
    by 2 desc"; "select distinct remedy from checks" (the next recording).
    """
    folders = [session.open_run(name).folder for name in arguments.recordings]
    content = _Bounded()
    with fleet.ask_runs(arguments.sql, folders, time_limit=_SECONDS) as (answer, omissions):
        answer.write(content, "json", arguments.rows + 1)
        types = answer.types
    rows: list[Answer] = msgspec.json.decode(content.getvalue())
    document: Answer = {"types": types, "rows": rows[: arguments.rows]}
    if len(rows) > arguments.rows:
        document["more"] = "There are more rows."
    if omissions:
        document["omissions"] = _shorten(omissions)
    return document


class _Bounded(BytesIO):
    """Bytes in memory, up to a limit."""

    def write(self, content: Any, /) -> int:
        """Add bytes; raise InputError if there are too many."""
        if self.tell() + len(content) > _MOST_BYTES:
            raise InputError(
                "The answer is larger than 1 MB.", hint="Select fewer columns, or aggregate."
            )
        return super().write(content)


def compare(session: Session, arguments: ComparisonArguments) -> Answer:
    """Compare two recordings of the same work: verdict, and changes with 95 % intervals.

    One run of each side is rarely conclusive: "unclear" is an answer.
    """
    first_run, _ = session.open_analyzed(arguments.reference)
    second_run, _ = session.open_analyzed(arguments.candidate)
    compared = comparison.runs.compare_paths(
        [first_run.folder], [second_run.folder], comparison.Limits(), force=False
    )
    return _builtins(app.summaries.summarize_comparison(compared.comparison))


def examine(session: Session, arguments: NoArguments) -> Answer:
    """Tell whether this machine can record, and how to repair it if not."""
    del session, arguments
    diagnosis = record.examine(record.DoctorSurroundings(), files.notes_folder())
    return _builtins(app.summaries.summarize_diagnosis(diagnosis))


def capture(session: Session, arguments: CaptureArguments) -> Answer:
    """Record a shipped workload into the first folder, and analyze it.

    It takes the machine for its time: ask the person first.
    """
    names = [entry.name for entry in workload.all_workloads(None)]
    require(arguments.workload, names, "workload", otherwise=f"There are: {', '.join(names)}.")
    known_parameters = workload.find(arguments.workload, None).parameters
    for parameter in arguments.parameters:
        require(parameter, known_parameters, f"parameter of {arguments.workload}")
    _, root = session.folders.roots[0]
    output = _free_folder(root, arguments.workload)
    run = app.functions.capture(
        arguments.workload,
        time_limit=arguments.seconds,
        output=output,
        **cast("dict[str, Any]", arguments.parameters),
    )
    name = f"{session.folders.roots[0][0]}/{run.recording.folder.name}"
    return _builtins(app.summaries.summarize_result(run.result, name))


def _free_folder(root: Path, name: str) -> Path:
    number = 1
    while (root / f"{name}-{number}").exists():
        number += 1
    return root / f"{name}-{number}"


def _builtins(document: object) -> Answer:
    return msgspec.to_builtins(document)


def _cut_remark(sentence: str) -> str:
    return shorten(sentence, _REMARK, placeholder=" …")


def _shorten(sentences: Sequence[str]) -> list[str]:
    """Return the first sentences about losses, each cut, and how many more there are."""
    remarks = list(map(_cut_remark, sentences[:_REMARKS]))
    if len(sentences) > _REMARKS:
        remarks.append(f"{len(sentences) - _REMARKS} more; the table `losses` has all.")
    return remarks


@dataclass(frozen=True)
class Tool:
    """A tool: its name, its function, the type of its arguments, and whether it only reads."""

    name: str
    function: Callable[[Session, Any], Answer]
    arguments: type[msgspec.Struct]
    is_reading: bool = True

    @property
    def description(self) -> str:
        """The words that an agent reads, on one line."""
        return " ".join((self.function.__doc__ or "").split())

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of the arguments, an object without references."""
        _, components = msgspec.json.schema_components([self.arguments])
        schema = dict(components[self.arguments.__name__])
        for word in ("title", "description"):
            schema.pop(word, None)
        return schema

    def call(self, session: Session, arguments: Mapping[str, Any]) -> Answer:
        """Check the arguments and return the answer.

        Raises:
            UsageError: An argument is missing, unknown, or of another type.
            TracekitError: The tool failed.
        """
        try:
            checked = msgspec.convert(dict(arguments), self.arguments)
        except msgspec.ValidationError as error:
            raise UsageError(f"The arguments of {self.name} are wrong: {error}.") from error
        with tables.losses.collecting() as ledger:
            answer = self.function(session, checked)
        texts = tables.losses.sentences(ledger.losses)
        if texts:
            answer["losses"] = _shorten(texts)
        return answer


_READING = (
    Tool("list", list_recordings, NoArguments),
    Tool("summary", summarize, RecordingArguments),
    Tool("finding", explain_finding, FindingArguments),
    Tool("evidence", show_evidence, EvidenceArguments),
    Tool("tables", describe_tables, TableArguments),
    Tool("query", query, QueryArguments),
    Tool("compare", compare, ComparisonArguments),
    Tool("doctor", examine, NoArguments),
)
_CAPTURE = Tool("capture", capture, CaptureArguments, is_reading=False)


def list_tools(*, may_capture: bool = False) -> tuple[Tool, ...]:
    """Return the eight tools that only read, and `capture` if it is allowed."""
    return (*_READING, _CAPTURE) if may_capture else _READING
