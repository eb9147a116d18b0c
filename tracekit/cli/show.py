"""Commands that show: tables, workloads, rules; `open` a run where it can be looked at."""

import shlex
from collections.abc import Iterator
from pathlib import Path
from textwrap import shorten
from typing import Annotated

import tracekit
from tracekit import analysis, record, workload
from tracekit import tables as traces
from tracekit.base import InconclusiveError, Recording, TracekitError, UsageError, require, writing
from tracekit.cli import console, options
from tracekit.cli.options import argument, flag, option

_WIDEST = 600  # characters of a list of columns


def tables(
    run: Annotated[Path, argument("RUN|X.trace", "Folder of a run, or a bundle.")],
    name: Annotated[str | None, argument("[NAME]", "Table to show.")] = None,
    *,
    output: Annotated[
        Path | None, option("FILE", "Write the table: .parquet, .csv or .feather.")
    ] = None,
    rows: Annotated[int, option("N", "Rows to show.", min=1)] = 20,
    table: options.TablePlace = None,
    run_number: options.RunNumber = None,
    force: options.Force = False,
) -> None:
    """List, show or write the tables of a run.

    The table `losses` says what was not read of all others, or not believed; they are read for it.
    If damage cost rows or names of what is shown, the exit code is 3.

    A bundle is read in place, on any system; this makes no run and caches nothing. If it has
    several runs, the last one is read, or the one that --run names.
    """
    traces.require_unpacked(run)
    choice = traces.Choice(run_number, table if name is None else None)
    with writing([] if output is None else [output], [run], force=force):
        if traces.is_bundle(run):
            there = traces.tables_of_bundle(run, choice)
        else:
            there = tracekit.pipeline.tables_of(Recording(run), choice)
        if name is None and output is not None:
            raise UsageError("--output writes one table.", hint=f"Name it: {', '.join(there)}.")
        if name is None:
            console.table(("table", "rows", "columns"), list(_entries(there)))
        else:
            frame = there.chosen(name, table=table)
            if output is None:
                console.show_frame(frame, rows)
            else:
                traces.write_table(frame, output)
                console.show_line(output)
        console.show_warnings(there.warnings)
        if name is None and set(there) <= {traces.LOSSES}:
            raise _none_in(run)


def _none_in(run: Path) -> InconclusiveError:
    """Say that a run or a bundle has no tables, and which of a run's stages did not end."""
    recording = Recording(run)
    stages = recording.provenance().unfinished_stages if recording.provenance_file.exists() else {}
    states = [
        f"The stage {name} is {stage.state}. {stage.message}" for name, stage in stages.items()
    ]
    return InconclusiveError(f"{run} has no tables.", hint=" ".join(states).strip())


def _entries(there: "traces.Tables") -> Iterator[tuple[str, str, str]]:
    """Yield each table with its rows and columns; of a repeated schema one for each repeat."""
    for name in there:
        for repeat in there.list_choices(name) or (None,):
            label = name if repeat is None else f"{name} ({repeat})"
            place = traces.Choice() if repeat is None else repeat.choice
            try:
                frame = there.chosen(name, table=place.table, run=place.run)
            except TracekitError as error:
                yield label, "", f"not available: {error}"
            else:
                columns = shorten(", ".join(frame.columns), _WIDEST, placeholder=" …")
                yield label, f"{len(frame):,}", columns


def workloads(*, workloads: options.Workloads = None) -> None:
    """List the workloads that can be recorded."""
    entries = [(entry.name, entry.summary) for entry in workload.all_workloads(workloads)]
    program = (workload.ANY_PROGRAM, "Run any program: put it after --, with its arguments.")
    console.table(("workload", "what it does"), sorted([*entries, program]))


def rules(name: Annotated[str | None, argument("[RULE]", "Rule to explain.")] = None) -> None:
    """List the rules, or explain one."""
    if name is None:
        console.table(
            ("rule", "finds"), [(rule.name, rule.title) for rule in analysis.RULES.values()]
        )
        return
    require(name, analysis.RULES, "rule", otherwise="`tracekit rules` lists them.")
    rule = analysis.RULES[name]
    console.show_text((rule.name, "bold"), f"  {rule.title}")
    for head, text in rule.sections.items():
        console.show_text("\n", (head, "bold"), f"\n  {text}")


def open_(
    run: options.RunFolder,
    *,
    page: Annotated[bool, flag("--page", "The page, in the browser.")] = False,
    trace: Annotated[bool, flag("--trace", "The bundle, in Instruments.")] = False,
    gputrace: Annotated[bool, flag("--gputrace", "The GPU frame capture, in Xcode.")] = False,
    only_print: Annotated[
        bool, flag("--print", "Print the command line instead of running it.")
    ] = False,
) -> None:
    """Open a run's page, bundle or GPU frame capture.

    Without an option this opens the page, or the GPU frame capture of a run that has only that. A
    bundle is opened in the Instruments of the Xcode that recorded it, if that is still installed.
    """
    if page + trace + gputrace > 1:
        raise UsageError("Open one thing at a time: --page, --trace or --gputrace.")
    kind: record.What | None = (
        "page" if page else "trace" if trace else "gputrace" if gputrace else None
    )
    opening = record.opening(Recording(run), kind)
    console.show_warnings(opening.warnings)
    if only_print:
        console.show_line(shlex.join(opening.argv))
    else:
        record.perform(opening)
