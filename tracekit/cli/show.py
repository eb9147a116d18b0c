"""Commands that show: tables, workloads, rules; `open` a run in the program for it."""

import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated

import tracekit
from tracekit import analysis, app, record, workload
from tracekit import tables as traces
from tracekit.base import InconclusiveError, Recording, TracekitError, UsageError, outputs, require
from tracekit.cli import answers, completion, console, options
from tracekit.cli.options import argument, flag, option

if TYPE_CHECKING:
    import pandas as pd

_WIDEST = 600  # characters of a list of columns


Run = Annotated[
    Path, argument("INPUT", "Run, bundle, frame capture, zip file, exports or a folder of them.")
]
TablesName = Annotated[
    str | None, argument("[NAME]", "Table to show.", autocompletion=completion.complete_table)
]
Output = Annotated[Path | None, option("FILE", "Write the table: .parquet, .csv or .feather.")]
Rows = Annotated[int, option("N", "Rows to show.", min=1)]


def tables(
    run: Run,
    name: TablesName = None,
    *,
    output: Output = None,
    rows: Rows = 20,
    table: options.TablePlace = None,
    run_number: options.RunNumber = None,
    include: options.Include = None,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """List, show or write the tables of a run.

    The table `losses` lists everything in the others that was not read or not believed; showing it
    reads them all. If damage cost rows or names of the shown tables, the exit code is 3.

    A bundle is read in place, on any system; this makes no run and caches nothing. A zip file and
    exports are read as well. If a recording has several runs, the last one is read, or the one that
    --run names. Of a GPU frame capture, --include adds the tables of its private parts:
    `capture_sources`, `capture_contents`.
    """
    choice = traces.Choice(run_number)
    if name is None:
        choice = traces.Choice(run_number, table)
    written_files: list[Path] = []
    if output:
        written_files = [output]
    with outputs.writing(written_files, [run], force=force):
        if traces.is_bundle(run):
            run_tables = traces.tables_of_bundle(run, choice, options.parts_of(include))
            _show_tables(run_tables, name, table, output, rows, json=json)
            return
        if include is not None:
            raise UsageError(
                "--include has no meaning for a run: it has the parts of its import.",
                hint="`tracekit import X.gputrace --include …` makes another run.",
            )
        with app.runs.reading_one(run) as recording:
            run_tables = tracekit.pipeline.tables_of(recording, choice)
            _show_tables(run_tables, name, table, output, rows, json=json)
            if name is None and set(run_tables) <= {traces.losses.LOSSES}:
                raise _none_in(run, recording)


def _show_tables(
    run_tables: "traces.Tables",
    name: str | None,
    table: int | None,
    output: Path | None,
    rows: int,
    *,
    json: bool,
) -> None:
    if name is not None:
        _show_table(run_tables, run_tables.chosen(name, table=table), output, rows, json=json)
    elif output is None:
        _list_tables(run_tables, json=json)
    else:
        names = ", ".join(run_tables)
        hint = f"Name it: {names}."
        raise UsageError("--output writes one table.", hint=hint)
    console.show_remarks(run_tables.warnings)


def _show_table(
    run_tables: "traces.Tables",
    frame: "pd.DataFrame",
    output: Path | None,
    rows: int,
    *,
    json: bool,
) -> None:
    if output is not None:
        traces.convert.write_table(frame, output)
        console.show_files([output], run_tables.warnings, json=json)
    elif json:
        _show_rows(frame, rows, run_tables.warnings)
    else:
        console.show_frame(frame, rows)


def _show_rows(frame: "pd.DataFrame", rows: int, warnings: Sequence[str]) -> None:
    """Print the first rows of a table as JSON."""
    from msgspec import Raw

    first_rows = frame.head(rows).to_json(orient="records", date_format="iso")
    types = {str(name): str(kind) for name, kind in frame.dtypes.items()}
    document = answers.TableRows(types, Raw(first_rows.encode()), len(frame), tuple(warnings))
    console.show_json(document)


def _list_tables(run_tables: "traces.Tables", *, json: bool) -> None:
    entries = list(_entries(run_tables))
    if json:
        document = answers.TableList(tuple(entries), tuple(run_tables.warnings))
        console.show_json(document)
        return
    rows: list[tuple[str, str, str]] = []
    for entry in entries:
        count = "" if entry.rows is None else f"{entry.rows:,}"
        columns = shorten(", ".join(entry.columns), _WIDEST, placeholder=" …")
        rows.append((entry.name, count, columns or f"not available: {entry.reason}"))
    console.table(("table", "rows", "columns"), rows)


def _none_in(run: Path, recording: Recording) -> InconclusiveError:
    """Return the error for an input without tables, with the unfinished stages of its run."""
    states: list[str] = []
    unfinished_stages = recording.provenance().unfinished_stages
    for name, stage in unfinished_stages.items():
        state = f"The stage {name} is {stage.state}. {stage.message}"
        states.append(state)
    state_text = " ".join(states)
    hint = state_text.strip()
    return InconclusiveError(f"{run} has no tables.", hint=hint)


def _entries(run_tables: "traces.Tables") -> Iterator[answers.ListedTable]:
    """Yield each table with its rows and columns; of a repeated schema one for each repeat."""
    for name in run_tables:
        repeats = run_tables.list_choices(name)
        if not repeats:
            yield _measure_table(run_tables, name, name, traces.Choice())
        for repeat in repeats:
            yield _measure_table(run_tables, name, f"{name} ({repeat})", repeat.choice)


def _measure_table(
    run_tables: "traces.Tables", name: str, title: str, choice: "traces.Choice"
) -> answers.ListedTable:
    """Return the number of rows of a table and its columns, or the reason why it is missing."""
    try:
        rows, columns = run_tables.outline(name, table=choice.table, run=choice.run)
    except TracekitError as error:
        return answers.ListedTable(title, None, (), str(error))
    return answers.ListedTable(title, rows, columns)


def workloads(*, workloads: options.Workloads = None, json: options.Json = False) -> None:
    """List the workloads that can be recorded."""
    all_workloads = workload.all_workloads(workloads)
    entries = [(entry.name, entry.summary) for entry in all_workloads]
    program = (workload.plan.ANY_PROGRAM, "Run any program: put it after --, with its arguments.")
    all_entries = sorted([*entries, program])
    if json:
        entries_of_workloads = tuple(answers.ListedWorkload(*entry) for entry in all_entries)
        console.show_json(answers.WorkloadList(entries_of_workloads))
        return
    console.table(("workload", "description"), all_entries)


Name = Annotated[
    str | None,
    argument("[RULE]", "Rule to explain.", autocompletion=completion.complete_rule),
]


def rules(name: Name = None, *, json: options.Json = False) -> None:
    """List the rules, or explain one."""
    chosen_rules = list(analysis.RULES.values())
    if name is not None:
        require(name, analysis.RULES, "rule", otherwise="`tracekit list rules` lists them.")
        chosen_rules = [analysis.RULES[name]]
    if json:
        rule_entries: list[answers.ExplainedRule] = []
        for rule in chosen_rules:
            sections = dict(rule.sections) if name else {}
            rule_entries.append(answers.ExplainedRule(rule.name, rule.title, sections))
        console.show_json(answers.RuleList(tuple(rule_entries)))
    elif name is None:
        console.table(("rule", "finds"), [(rule.name, rule.title) for rule in chosen_rules])
    else:
        rule = chosen_rules[0]
        console.show_text((rule.name, "bold"), f"  {rule.title}")
        for head, text in rule.sections.items():
            console.show_text("\n", (head, "bold"), f"\n  {text}")


Page = Annotated[bool, flag("--page", "The page, in the browser.")]
Trace = Annotated[bool, flag("--trace", "The bundle, in Instruments.")]
Gputrace = Annotated[bool, flag("--gputrace", "The GPU frame capture, in Xcode.")]
OnlyPrint = Annotated[bool, flag("--print", "Print the command line instead of running it.")]


def open_(
    run: Run,
    *,
    page: Page = False,
    trace: Trace = False,
    gputrace: Gputrace = False,
    only_print: OnlyPrint = False,
    json: options.Json = False,
) -> None:
    """Open the page, bundle or GPU frame capture of a run, or of any recording.

    A page that is missing is made first, as by `tracekit report`. Without an option this opens the
    page, or the GPU frame capture of a run that has only that. A bundle is opened in the
    Instruments of the Xcode that recorded it, if that is still installed. --json prints the command
    line, as --print does.
    """
    kinds: list[record.opening.What] = []
    if page:
        kinds.append("page")
    if trace:
        kinds.append("trace")
    if gputrace:
        kinds.append("gputrace")
    if len(kinds) > 1:
        raise UsageError("Open one thing at a time: --page, --trace or --gputrace.")
    kind = None
    if kinds:
        kind = kinds[0]
    with console.progress("open") as progress:
        recording = app.runs.keep_run([run])
        if kind in {None, "page"} and not _has_page(recording):
            app.runs.write_page(recording, progress)
    opening = record.opening.opening(recording, kind)
    if json:
        document = answers.OpenedFile(
            opening.kind, str(opening.path), opening.argv, opening.warnings
        )
        console.show_json(document)
        return
    console.show_warnings(opening.warnings)
    if only_print:
        console.show_line(shlex.join(opening.argv))
    else:
        record.opening.perform(opening)


def _has_page(recording: Recording) -> bool:
    """Tell whether a run has its page, or is a GPU frame capture, which needs none."""
    return recording.report_file.exists() or recording.gputrace.exists()
