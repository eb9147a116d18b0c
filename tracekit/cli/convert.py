"""`convert`: an export or a bundle as flat tables, a run in formats of other programs."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

import tracekit
from tracekit import analysis, app, interop, tables
from tracekit.base import Recording, TracekitError, UsageError, outputs
from tracekit.cli import console, options
from tracekit.cli.options import argument, option

if TYPE_CHECKING:
    from tracekit.record import Progress

_TABLES = ("parquet", "csv", "feather")


def convert_bundle(
    bundle: Path,
    output: Path | None,
    to: str | None,
    schema: str | None,
    choice: "tables.Choice",
    *,
    json: bool,
    force: bool,
) -> None:
    """Write the tables of a bundle, or the named one."""
    wants_all = to in _TABLES and schema is None and choice.table is None
    wants_one = to is None and schema is not None
    if output is None or not (wants_all or wants_one):
        format_names = "|".join(_TABLES)
        hint = f"`tracekit import {bundle}` makes a run of it, which has more formats."
        raise UsageError(
            f"{bundle} is a bundle: name OUT, and one table with --schema or the format of all of "
            f"them with --to {format_names}.",
            hint=hint,
        )
    if schema is None:
        outputs.require_apart([output], [bundle])
        with console.progress("convert") as progress:
            tables.convert.convert_bundle(
                bundle, output, f".{to}", progress, choice.run, force=force
            )
        console.show_files([output], json=json)
        return
    written_files = tables.convert.files_of(output)
    with (
        outputs.writing(written_files, [bundle], force=force),
        console.progress("convert"),
    ):
        bundle_choice = tables.Choice(choice.run)
        raw = tables.Tables(bundle, only=bundle_choice)
        table = raw.find_table(schema, choice)
        converted = tables.convert.convert_table(
            table.ref, output, schema, table.choice, toc=raw.toc
        )
    _show(converted.files, raw.of_runs, json=json)


FormatName = Literal["perfetto", "chrome", "speedscope", "steps", "parquet", "csv", "feather"]


Source = Annotated[
    Path, argument("INPUT", "Run, bundle, zip file, exports or a folder of exports.")
]
Output = Annotated[
    Path | None,
    argument("[OUT]", "File to write, or folder for a bundle: .parquet, .csv or .feather."),
]
To = Annotated[
    FormatName | None, typer.Option(help="Format of a whole run, or of a bundle's tables.")
]
Schema = Annotated[str | None, option("NAME", "Table to convert, if there are several.")]


def convert(
    source: Source,
    output: Output = None,
    *,
    to: To = None,
    schema: Schema = None,
    table: options.TablePlace = None,
    run_number: options.RunNumber = None,
    no_redact: options.NoRedact = False,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """Convert an export, bundle or run.

    An export becomes a flat table with the same rows, and a column for each mnemonic, in order. If
    there are stacks, the column NAME.stack has their numbers, and OUT.frames.parquet and
    OUT.stacks.parquet describe them. If an export is damaged, the rows before the damage are
    written, and the exit code is 3. If tracekit knows the types of all columns, a table of any
    length is converted in a few hundred MB of memory.

    A bundle becomes a folder of all its tables with --to parquet, csv or feather, or one table with
    --schema, of the last run unless --run names another. Several runs become folders `run1`,
    `run2`, unless --run names one. Damaged tables are named and left out, and the exit code is 3.

    A run is written in the format of --to: perfetto and chrome contain its intervals on tracks,
    with arrows from command buffers over encoders to the GPU, its counters, and the findings;
    speedscope contains the stacks of threads; steps is a CSV with the costs of each step; parquet
    and csv contain every table. The default place is the run's folder convert. Zip files,
    exports and, to the first four formats, bundles are converted in the same way; without OUT,
    their run is kept next to them, as by `tracekit report`.

    Inputs are never modified, and files that tracekit did not write are replaced only with --force.
    """
    choice = tables.Choice(run_number, table)
    if tables.is_bundle(source) and (to is None or to in _TABLES):
        convert_bundle(source, output, to, schema, choice, json=json, force=force)
    elif source.is_file() and to is None and source.suffix.lower() != tables.PACKED:
        _convert_export(source, output, schema, choice, json=json, force=force)
    else:
        is_run = Recording(source).provenance_file.exists()
        if to is None or schema is not None or table is not None or (is_run and run_number):
            app.runs.only_source([source])  # a place without a recording is refused first
            format_texts = [f"{name}: {form.meaning}" for name, form in interop.FORMATS.items()]
            formats = "; ".join(format_texts)
            hint = f"--to {formats}. `tracekit tables {source}` writes one table."
            kind = "a run" if is_run else "not a single export"
            raise UsageError(
                f"{source} is {kind} and is converted as a whole: choose a format with --to.",
                hint=hint,
            )
        how = _RunConversion(to, no_redact=no_redact, json=json, force=force)
        _convert_run(source, output, run_number, how)


def _convert_export(
    export: Path,
    output: Path | None,
    schema: str | None,
    choice: "tables.Choice",
    *,
    json: bool,
    force: bool,
) -> None:
    if output is None:
        raise UsageError(
            f"{export} is an export: name the .parquet, .csv or .feather to write.",
            hint="--to converts the recording that it is of.",
        )
    with (
        outputs.writing(tables.convert.files_of(output), [export], force=force),
        console.progress("convert"),
    ):
        converted = tables.convert.convert_table(export, output, schema, choice)
    _show(converted.files, json=json)


def _show(files: Sequence[Path], more: Sequence[str] = (), *, json: bool) -> None:
    console.show_files(files, more, json=json)
    if len(files) > 1 and not json:
        console.show_hint("The stacks are in the other files; NAME.stack is their number.")


@dataclass(frozen=True)
class _RunConversion:
    """The format of a whole run, and the options that go with it."""

    to: str
    no_redact: bool
    json: bool
    force: bool


def _convert_run(
    source: Path, output: Path | None, run_number: int | None, how: "_RunConversion"
) -> None:
    """Convert a run, or any recording: without an output, in the run that is kept of it."""
    choices = app.runs.InputChoices(run=run_number)
    with console.progress("convert") as progress:
        if output is None:
            recording = app.runs.keep_run([source], None, choices)
            _write_run(recording, source, None, how, progress)
            return
        outputs.require_apart([output], [source])
        with app.runs.reading_one(source, choices, progress) as recording:
            _write_run(recording, source, output, how, progress)


def _write_run(
    recording: Recording,
    source: Path,
    output: Path | None,
    how: "_RunConversion",
    progress: "Progress",
) -> None:
    if recording.folder != source:
        app.runs.complete(recording, progress)
    run_tables = tracekit.pipeline.tables_of(recording)
    redact = str
    if not how.no_redact:
        redact = tracekit.pipeline.redaction_of(recording)
    findings: tuple[analysis.Finding, ...] = ()
    form = interop.FORMATS.get(how.to)
    if form is not None and form.write is not None:
        with suppress(TracekitError):
            findings = tracekit.pipeline.load_result(recording).findings
    files = interop.convert_run(
        recording, run_tables, how.to, output, redact, findings=findings, force=how.force
    )
    console.show_files(files, run_tables.of_runs, json=how.json)
