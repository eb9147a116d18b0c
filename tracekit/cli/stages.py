"""`capture` and its stages: record, export, analyze, report; and `import`."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

import tracekit
from tracekit import analysis, app
from tracekit import record as record_room
from tracekit import tables as traces
from tracekit.base import Recording, UsageError, files, outputs, require, units
from tracekit.cli import completion, console, options, results
from tracekit.cli.options import argument, flag, option
from tracekit.workload import Plan
from tracekit.workload import plan as workload_plan

# By choice of --export: the tables to export, and those of them to write as XML.
_EXPORTS: "dict[str | None, tuple[str, record_room.direct_reading.Xml]]" = {
    None: ("needed", "unchecked"),
    "needed": ("needed", "asked"),
    "all": ("all", "asked"),
    "none": ("needed", "none"),
}


def capture(
    plan: Plan,
    *,
    open_page: options.OpenPage = False,
    json: options.Json = False,
    no_redact: options.NoRedact = False,
    gputrace: options.GpuTrace = False,
    export: options.ExportedTables = None,
) -> None:
    """Record a workload and write a page about it.

    Choose one of --workload NAME, a program after --, and --attach PID. The parameters of a
    workload are options too: `tracekit capture --workload NAME --help` lists them.

    On a Mac, tables are read from the bundle itself. The first time that this build of Xcode
    records a kind of table, it is exported too, and both are compared; `tracekit doctor` shows the
    outcome. --export writes more tables as XML: those that rules need, all, or none.

    --gputrace makes a GPU frame capture instead of a recording: after the warm-up, Metal captures 3
    steps, or the number that --repeats gives, into capture.gputrace, for Xcode. With --attach,
    Apple's gpucapture captures so many command buffers of a process that was started with
    MTL_CAPTURE_ENABLED=1. Nothing is timed and no page is written.
    """
    if gputrace:
        given_options = {"--export": export is not None, "--no-redact": no_redact}
        more = [option for option, is_given in given_options.items() if is_given]
        _capture_gpu(plan, more, open_it=open_page, json=json)
        return
    tables, xml = _EXPORTS[export]
    _announce_recording(plan, "; reading its tables and writing the page take a few seconds more")
    recording, result = tracekit.pipeline.capture(
        plan, console.progress, tables=tables, xml=xml, redacted=not no_redact
    )
    results.show_result(result, recording, json=json)
    if open_page:
        typer.launch(recording.report_file.resolve().as_uri())
    tracekit.pipeline.require_rows(result)


def _announce_recording(plan: Plan, addition: str = "") -> None:
    """Say how long a recording takes by its plan, unless an earlier one tells it better.

    Raise UsageError for a plan that cannot be recorded.
    """
    tracekit.pipeline.check(plan)
    span = units.span(plan.time_limit)
    words = f"records for about {span} once it has warmed up"
    if plan.steps:  # on the host it goes on until it has them
        words = f"records for at least {span} once it has warmed up"
    if plan.repeats is not None or plan.workload is None:
        words = f"records for at most {span}"
    console.announce(f"{words}{addition}", plan.time_limit)


def _capture_gpu(plan: Plan, more: list[str], *, open_it: bool, json: bool) -> None:
    with console.progress("capture") as progress:
        recording = record_room.capture_gpu(plan, progress, more=more)
        app.checking.keep_limits(recording)
    if json:
        console.show_json(recording.provenance())
    else:
        console.show_line(recording.gputrace)
        place = files.quote_path(recording.gputrace)
        console.show_hint(f"Open it in Xcode: open {place}")
        console.show_hint(f"List its tables: tracekit tables {place}")
        console.show_remarks(recording.provenance().warnings)
        _show_check(recording)
    if open_it:
        record_room.opening.perform(record_room.opening.opening(recording, "gputrace"))


def _show_check(recording: "Recording") -> None:
    """Show whether the dispatches are those that the workload launched, if it is known."""
    expectation_sets = app.checking.read_own_expectations(recording.folder)
    if not expectation_sets or not recording.exports.exists():
        return
    checked = app.checking.check_capture(recording.folder, expectation_sets)
    console.show_remarks([checked.verdict])
    place = files.quote_path(recording.folder)
    console.show_hint(f"Show the check: tracekit kernel check {place}")


def record(plan: Plan, *, json: options.Json = False) -> None:
    """Record a workload, a program or a process."""
    _announce_recording(plan)
    with console.progress("record") as progress:
        recording = tracekit.pipeline.record(plan, progress)
    console.show_folders([recording], "export", recording.provenance().warnings, json=json)
    tracekit.pipeline.require_target_rows(recording)


ExportSource = Annotated[Path, argument("RUN|X.trace", "Folder of a run, or a bundle.")]
Output = Annotated[
    Path | None,
    argument(
        "[OUTDIR]", "New folder for a bundle's tables; a run has its own.  [default: X-exports]"
    ),
]
Tables = Annotated[
    str | None,
    option("all|needed|NAME,…", "Tables to export.  [default: needed; of a bundle all]"),
]


def export(
    source: ExportSource,
    output: Output = None,
    *,
    tables: Tables = None,
    run_number: options.RunNumber = None,
    json: options.Json = False,
) -> None:
    """Write the tables of a recording as XML.

    `needed` means the tables that metrics, rules and the page use. `all` means everything that was
    recorded, which can be gigabytes. A NAME is a table of tracekit or a schema of xctrace;
    `needed,NAME` adds it to the others. The host recorder always writes all of its tables.

    A bundle is read directly, on any system: tracekit writes toc.xml and a file for each table as
    xctrace would, so that any program for its XML can read them. A table with a column whose
    storage format is not known is named and left out; if a table is damaged, the exit code is 3. If
    there are several runs, the last one is written, or the one that --run names.
    """
    traces.require_unpacked(source)
    if traces.captures.is_capture(source):
        raise UsageError(
            f"{source} is a GPU frame capture, which has no exports as XML.",
            hint=f"`tracekit tables {source}` lists its tables, `tracekit convert` writes them.",
        )
    if traces.is_bundle(source):
        _export_bundle(source, output, tables or "all", run_number, json=json)
        return
    if output is not None or run_number is not None:
        raise UsageError(
            f"{source} is not a .trace bundle: a run is exported into its own folder.",
            hint="Leave OUTDIR and --run out.",
        )
    recording = Recording(source)
    with console.progress("export") as progress:
        wanted_tables = tables or "needed"
        tracekit.pipeline.export(recording, progress, tables=wanted_tables)
    console.show_folders([recording], "analyze", recording.provenance().warnings, json=json)
    tracekit.pipeline.require_target_rows(recording)


def _export_bundle(
    bundle: Path, output: Path | None, tables: str, run: int | None, *, json: bool
) -> None:
    if output is None:
        output = Path(f"{bundle.stem}-exports")
    outputs.require_apart([output], [bundle])
    with console.progress("export") as progress:
        choose_schemas = tracekit.pipeline.wanted_tables(tables)
        bundle_files = traces.Bundle(bundle)
        done = traces.write_exports(bundle_files, output, choose_schemas, progress, run)
    console.show_files([output], done.warnings, json=json)


Rule = Annotated[
    str | None,
    option(
        "NAME",
        "Print the outcome of this rule alone.",
        autocompletion=completion.complete_rule,
    ),
]


def analyze(
    inputs: options.Inputs,
    *,
    target: options.Target = None,
    run_number: options.RunNumber = None,
    rule: Rule = None,
    evidence: options.EvidenceNumber = None,
    output: options.KeptOutput = None,
    json: options.Json = False,
    json_summary: options.JsonSummary = False,
    no_redact: options.NoRedact = False,
) -> None:
    """Measure and judge the tables of a run, or of any recording.

    Writes result.json to the run's folder, unless it is there and nothing that it was made of has
    changed. A recording that is not a run yet becomes one: that of X.trace, of X.zip or of exports
    called X is X-run, next to it, and is found again.

    --target decides anew which process is judged. A trace with several runs has its last one
    judged; --run selects another one, which later commands then use, too.

    --rule prints the outcome of one rule, and --evidence the windows of one finding, by the `id` of
    --json-summary; result.json has everything in both cases.
    """
    if rule is not None:
        require(rule, analysis.RULES, "rule", otherwise="`tracekit list rules` lists them.")
    choices = app.runs.InputChoices(target, run_number)
    with console.progress("analyze") as progress:
        recordings = app.runs.keep_runs(inputs, output, choices, progress)
        _require_single(recordings, json=json or json_summary)
        results = [
            tracekit.pipeline.analyze(recording, progress, redacted=not no_redact)
            for recording in recordings
        ]
    view = _ResultView(rule, evidence, json=json, json_summary=json_summary)
    for recording, result in zip(recordings, results, strict=True):
        view.print_result(recording, result)
    if evidence is None and rule is None:
        for result in results:
            tracekit.pipeline.require_rows(result)


@dataclass(frozen=True)
class _ResultView:
    """The part of a result that a user wants to see: all of it, a rule, or evidence; and how."""

    rule: str | None
    evidence: int | None
    json: bool
    json_summary: bool

    def print_result(self, recording: Recording, result: "analysis.Result") -> None:
        """Print this part of the result of a run."""
        if self.evidence is not None:
            evidence = app.summaries.evidence_of(result, self.evidence)
            results.show_evidence(evidence, json=self.json)
            return
        if self.rule is not None:
            result = app.summaries.select_rule(result, self.rule)
        if self.json_summary:
            console.show_summary(app.summaries.summarize_result(result, recording.folder.name))
        elif self.rule is not None and not self.json:
            results.show_rule(result, self.rule)
        else:
            results.show_result(result, recording, json=self.json)
        is_text = not self.json and not self.json_summary and self.rule is None
        if is_text and not recording.report_file.exists():
            console.show_next("report", recording)


def _require_single(recordings: Sequence[Recording], *, json: bool) -> None:
    """Raise UsageError if one document is to describe several recordings."""
    if json and len(recordings) > 1:
        raise UsageError(
            f"--json prints one result, and there are {len(recordings)} recordings.",
            hint="Name one of them.",
        )


ReportOutput = Annotated[
    Path | None,
    option("DIR|PAGE.html", "New folder for the run of an input, or page.  [default: INPUT-run]"),
]
Summary = Annotated[bool, flag("--summary", "Print the lines about the result; write nothing.")]


def report(
    inputs: options.Inputs,
    *,
    summary: Summary = False,
    evidence: options.EvidenceNumber = None,
    target: options.Target = None,
    run_number: options.RunNumber = None,
    output: ReportOutput = None,
    json: options.Json = False,
    open_page: options.OpenPage = False,
    no_redact: options.NoRedact = False,
) -> None:
    """Write the page about a run, or about any recording.

    Everything that the page needs and is missing is made first. A recording that is not a run yet
    becomes one: that of X.trace, of X.zip or of exports called X is X-run, next to it, and is
    found again. Prints the path of the page and, in at most eight lines, the verdict, the target
    and the reason for this choice, numbers, the first three findings, and the checks that could not
    be made.

    --output PAGE.html writes the page there, and no run of another recording is kept.

    --summary prints these lines alone, and --evidence the windows of a finding. Both read the
    result, and write nothing.
    """
    choices = app.runs.InputChoices(target, run_number)
    redacted = not no_redact
    if summary or evidence is not None:
        _show_results(inputs, choices, evidence, json=json)
        return
    pages: list[Path] = []
    if output is not None and output.suffix == ".html" and not output.is_dir():
        app.runs.only_source(inputs)
        with (
            outputs.writing([output], inputs),
            console.progress("report") as progress,
            app.runs.reading(inputs, choices, progress) as recordings,
        ):
            for recording in recordings:
                app.runs.write_page(recording, progress, redacted=redacted, place=output)
                _show_page(recording, output, json=json)
                pages.append(output)
    else:
        with console.progress("report") as progress:
            recordings = app.runs.keep_runs(inputs, output, choices, progress)
            for recording in recordings:
                page = app.runs.write_page(recording, progress, redacted=redacted)
                pages.append(page)
        for recording in recordings:
            _show_page(recording, recording.report_file, json=json)
    if json:
        console.show_files(pages, json=True)
    if open_page:
        for page in pages:
            typer.launch(page.resolve().as_uri())


def _show_page(recording: Recording, page: Path, *, json: bool) -> None:
    """Print the path of a page, and the lines about its result; nothing as JSON."""
    if json:
        return
    result = tracekit.pipeline.load_result(recording)
    console.show_line(page)
    console.show_named_lines(app.summary.summarize(result).lines)
    console.show_remarks(result.provenance.warnings)


def _show_results(
    inputs: list[Path], choices: "app.runs.InputChoices", evidence: int | None, *, json: bool
) -> None:
    """Print summaries of results, or the windows of a finding, and keep nothing."""
    with (
        console.progress("report") as progress,
        app.runs.reading(inputs, choices, progress) as recordings,
    ):
        _require_single(recordings, json=json)
        for recording in recordings:
            if recording.folder not in inputs:
                app.runs.complete(recording, progress)
            result = tracekit.pipeline.load_result(recording)
            name = recording.folder.name
            if evidence is not None:
                results.show_evidence(app.summaries.evidence_of(result, evidence), json=json)
            elif json:
                console.show_summary(app.summaries.summarize_result(result, name))
            else:
                console.show_named_lines(app.summary.summarize(result).lines)


Source = Annotated[Path, argument("RUN|X.trace", "Run or bundle that was never saved.")]
Template = Annotated[
    str | None,
    option("NAME|FILE", "Template to import with.  [default: the run's]", "--template"),
]
TimeLimit = Annotated[
    str | None,
    option("TIME", "Longest import, such as 20m.  [default: by size]", "--time-limit"),
]


def recover(
    source: Source,
    *,
    output: options.Output = None,
    template: Template = None,
    time_limit: TimeLimit = None,
    json: options.Json = False,
) -> None:
    """Make a run of a recording whose recorder was killed.

    The bundle of a recorder that was killed cannot be opened, but it may hold raw data:
    `xctrace import` makes a new bundle of them, so this needs a Mac with Xcode. The old bundle is
    only read. The new run is marked "recovered, incomplete" on its page, in comparisons and by the
    gate: its end and all events that were not written yet are missing.
    """
    with console.progress("recover") as progress:
        seconds = None
        if time_limit:
            seconds = workload_plan.seconds(time_limit)
        recording = tracekit.pipeline.recover(
            source,
            output,
            progress,
            template=template,
            seconds=seconds,
        )
    console.show_folders([recording], "analyze", recording.provenance().warnings, json=json)


Paths = Annotated[list[Path], argument("PATH…", "Bundles, exports, counters, folders.")]


def import_(
    paths: Paths,
    *,
    output: options.Output = None,
    target: options.Target = None,
    run_number: options.RunNumber = None,
    include: options.Include = None,
    json: options.Json = False,
) -> None:
    """Make a run from a bundle, a GPU frame capture or exports.

    Exports may come with or without their TOC; in a folder with several TOCs, each becomes a run. A
    .trace bundle needs neither an export nor a Mac: its tables are read in place, and the run's
    folder has a link to it. A .trace.zip or .gputrace.zip is unpacked into the run's folder. A
    bundle of unknown layout is refused, or exported if xctrace is available.

    The tables of a .gputrace are read in place as well. Its sources and the contents of its buffers
    are private: they become tables only with --include.

    Counters are Xcode's exports of a GPU frame capture: the CSV of all counters, the texts of tabs,
    or both. Only tabs have execution costs.

    If a trace has several runs, the last one is imported, or the one that --run names.
    """
    with console.progress("import") as progress:
        recordings = tracekit.pipeline.import_(
            paths, output, target, progress, run_number, include=options.parts_of(include)
        )
    warnings: list[str] = []
    for recording in recordings:
        warnings += recording.provenance().warnings
    console.show_folders(recordings, "analyze", warnings, json=json)
