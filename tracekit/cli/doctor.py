"""`doctor` and `list templates`: the recordings that this machine can make, and their templates."""

import shlex
from pathlib import Path
from typing import Annotated, Literal

import typer

from tracekit import record, workload
from tracekit.app import summaries
from tracekit.base import (
    InconclusiveError,
    InterruptedRunError,
    UsageError,
    choices,
    outputs,
    system,
    units,
)
from tracekit.base import files as base_files
from tracekit.cli import answers, console, options, results
from tracekit.cli.options import argument, flag, option

Words = Annotated[
    list[str] | None,
    argument(
        "[ID|FILE]…|-- PROGRAM ARGS",
        "Questions to ask, reports to learn from, a run to compare, or a program with a symptom.",
    ),
]
Probe = Annotated[
    bool,
    flag("--probe", "Make a test recording of two seconds in each way, and keep the outcome."),
]
Questions = Annotated[
    bool, flag("--questions", "Ask xctrace the open questions, or those of the IDs.")
]
Report = Annotated[
    Path | None, option("FILE", "Ask, and write all answers to a file to send.", "--report")
]
Learn = Annotated[
    bool, flag("--learn", "Add the answers of reports to the beliefs that tracekit acts on.")
]

Compare = Annotated[
    bool, flag("--compare", "Compare the tables of a run or a .trace with exports of xctrace.")
]
Symptom = Annotated[
    choices.SymptomChoice | None,
    typer.Option(help="Check the program after -- for the causes of a symptom, in order."),
]
TimeLimit = Annotated[
    str | None,
    option("TIME", "Longest time of each run of the program: 10s, 2m.  [default: 10s]"),
]
Folder = Annotated[
    Path | None,
    option(
        "DIR", "New folder for the output of the program.  [default: in bench/symptoms]", "--output"
    ),
]


def doctor(
    words: Words = None,
    *,
    probe: Probe = False,
    questions: Questions = False,
    report: Report = None,
    learn: Learn = False,
    compare: Compare = False,
    symptom: Symptom = None,
    time_limit: TimeLimit = None,
    output: Folder = None,
    json: options.Json = False,
    json_summary: options.JsonSummary = False,
) -> None:
    """Check whether this machine can record.

    Exit code 0: this machine can record; 3: something failed, and the fix is printed; 4: something
    that recording needs could not be determined.

    --questions makes small experiments with xctrace, most of at most a minute, and compares the
    answers with the beliefs of tracekit. It records a sleeping program, and leaves nothing. Exit
    code 0: all as believed; 1: something differs; 4: something was not answered. --report FILE
    writes the answers as JSON, without names of people, machines and folders. --learn FILE …
    merges reports into the beliefs, and shows contradictions and changes: tracekit acts on an
    answer with the Xcode that gave it, unless machines contradict each other.

    --compare RUN exports each table of a bundle that was never compared, and compares it with the
    direct reading, cell by cell. That takes minutes; an interrupted comparison goes on at its
    place. Exit code 0: all are equal; 1: one differs; 4: one could not be compared.

    --symptom NAME -- PROGRAM ARGS runs a program that is slow, takes much memory, crashes or gives
    wrong numbers: by itself, on a Mac with Metal's validation layers, and in a short capture. Each
    check shows its facts, and the finding and the next command follow. Exit code 0: nothing was
    found; 1: something was; 3: a check failed; 4: one could not judge.
    """
    names = words or []
    asks = questions or report is not None
    _require_one([probe, asks, learn, compare, symptom is not None])
    if symptom is not None:
        if json_summary:
            raise UsageError("A checklist has no summary.", hint="--json prints all of it.")
        _examine_symptom(symptom, names, time_limit, output, json=json)
        return
    _require_no_program_options(time_limit, output)
    if learn:
        _learn(names, json=json)
        return
    if asks:
        _ask(names, report, json=json)
        return
    if compare:
        _compare(names, json=json)
        return
    if names:
        raise UsageError(
            f"{names[0]!r} is neither asked nor learned from.", hint="Add --questions or --learn."
        )
    _diagnose(probe=probe, json=json, json_summary=json_summary)


def _require_one(choices_made: list[bool]) -> None:
    """Raise UsageError if more than one thing is to be done."""
    if choices_made.count(True) > 1:
        raise UsageError(
            "Do one thing at a time: --probe, --questions with --report, --learn, --compare or "
            "--symptom."
        )


def _require_no_program_options(time_limit: str | None, output: Path | None) -> None:
    """Raise UsageError for options of a program if there is no symptom."""
    if time_limit is not None or output is not None:
        raise UsageError(
            "--time-limit and --output are for a program with a symptom.", hint=_SYMPTOM_LINE
        )


def _diagnose(*, probe: bool, json: bool, json_summary: bool) -> None:
    """Examine the machine, after a probe if asked for, and show the diagnosis."""
    folder = base_files.notes_folder()
    machine = record.DoctorSurroundings()
    fresh = None
    try:
        if probe:
            with console.progress("probe") as progress:
                fresh = record.probe_machine(machine, progress)
        with console.progress("examine") as progress:
            diagnosis = record.examine(machine, folder, progress, fresh)
    except KeyboardInterrupt as stop:
        raise InterruptedRunError("Interrupted; nothing is kept.") from stop
    if json_summary:
        console.show_summary(summaries.summarize_diagnosis(diagnosis))
    else:
        results.show_diagnosis(diagnosis, json=json)
    raise typer.Exit(diagnosis.exit_code)


_SYMPTOM_LINE = "tracekit doctor --symptom slow-decode -- PROGRAM ARGS"
_DEFAULT_LIMIT = 10.0  # seconds


def _examine_symptom(
    symptom: choices.SymptomChoice,
    argv: list[str],
    time_limit: str | None,
    output: Path | None,
    *,
    json: bool,
) -> None:
    """Make the checks of a symptom, show each one when it is answered, and the conclusion."""
    from tracekit.app import checklist

    if not argv:
        raise UsageError("No program is named.", hint=_SYMPTOM_LINE)
    system.refuse_input("doctor runs the program two or three times")
    limit = _DEFAULT_LIMIT
    if time_limit is not None:
        limit = workload.plan.seconds(time_limit)
    folder = checklist.prepare_folder(argv[0], output)
    console.announce(f"runs the program two or three times, each for {units.span(limit)} at most")
    show_check = None
    if not json:
        show_check = results.show_symptom_check
    answered = checklist.examine_symptom(
        symptom, argv, limit, folder, show_stage=console.progress, show_check=show_check
    )
    if json:
        console.show_json(answered)
    else:
        results.show_conclusion(answered)
    if answered.interrupted:
        raise InterruptedRunError(
            "The checklist was interrupted; the answers so far are kept.",
            hint=f"They are in {answered.folder}.",
        )
    raise typer.Exit(answered.exit_code)


def _ask(names: list[str], file: Path | None, *, json: bool) -> None:
    """Ask questions, show the answers, and write the report if a file is given."""
    files: list[Path] = []
    if file is not None:
        files = [file]
    with outputs.writing(files):
        try:
            with console.progress("ask") as progress:
                surroundings = record.DoctorSurroundings()
                folder = base_files.notes_folder()
                answered = record.asking.ask(names, surroundings, folder, progress)
        except KeyboardInterrupt as stop:
            raise InterruptedRunError("Interrupted; nothing is kept.") from stop
        if file is not None:
            record.asking.write_report(answered, file)
    if json:
        console.show_json(answered)
    else:
        rows: list[tuple[str, str, str]] = []
        for question in answered.questions:
            rows += [(answer.verdict, answer.belief, answer.words) for answer in question.answers]
        console.table(("verdict", "belief", "answer"), rows)
        _show_exports(answered)
    if file is not None:
        console.show_hint(f"Read {file} before you send it: it should name nobody.")
    verdicts = set(map(str, answered.verdicts))
    if "differs" in verdicts:
        raise typer.Exit(1)
    if "not answered" in verdicts:
        raise typer.Exit(InconclusiveError.exit_code)


def _show_exports(report: "record.asking.DoctorReport") -> None:
    """Show the seconds of each export that was measured, the longest first."""
    if not report.exports:
        return
    rows: list[tuple[str, str, str, str]] = []
    for export in sorted(report.exports, key=lambda export: -export.seconds):
        row_count = "unknown" if export.rows is None else f"{export.rows:,}"
        size = "not exported" if export.size is None else units.size(export.size)
        rows.append((export.schema, f"{export.seconds:.1f} s", row_count, size))
    console.table(("export", "time", "rows", "size"), rows)


def _learn(names: list[str], *, json: bool) -> None:
    """Merge reports into the beliefs; show the refused answers and the contradictions."""
    report_files = list(map(Path, names))
    lesson = record.asking.learn(report_files)
    if json:
        console.show_json(lesson)
        return
    console.show_line(f"{lesson.added} answers are new.")
    console.show_warnings(lesson.refused)
    for change in lesson.changes:
        console.show_line(f"changed: {change}")
    for contradiction in lesson.contradictions:
        console.show_line(f"contradiction: {contradiction}")


def _compare(names: list[str], *, json: bool) -> None:
    """Compare the tables of one bundle with exports; show each new one and the verdict."""
    if len(names) != 1:
        raise UsageError("Name one run or .trace.", hint="tracekit doctor --compare RUN")
    try:
        with console.progress("compare") as progress:
            comparison = record.bundle_comparison.compare_bundle(Path(names[0]), progress)
    except KeyboardInterrupt as stop:
        raise InterruptedRunError("Interrupted; the compared tables are kept.") from stop
    if json:
        console.show_json(comparison)
        raise typer.Exit(comparison.exit_code)
    rows: list[tuple[str, str, str, str]] = []
    for table in comparison.tables:
        remark = table.reason or table.difference
        rows.append((table.verdict, table.schema, f"{table.rows:,}", remark))
    console.table(("verdict", "table", "rows", "remark"), rows)
    console.show_line(comparison.sentence)
    raise typer.Exit(comparison.exit_code)


app = typer.Typer(rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def templates(context: typer.Context, *, json: options.Json = False) -> None:
    """List templates; make one with counters on.

    The sections are those of `xctrace list templates`. No Xcode has a template for GPU counters:
    add an instrument that records them, or use a template file with a counter set.
    """
    if context.invoked_subcommand is not None:
        return

    recorder = record.recorders.xctrace_here()
    home = Path.home()
    overview = record.templates.overview(recorder, home)
    if json:
        console.show_json(overview)
        return
    rows: list[tuple[str, str]] = []
    for heading, names in overview.sections.items():
        rows += [(heading, name) for name in names]
    console.table(("section", "template"), rows)
    for remark in overview.remarks:
        console.show_hint(remark)


Output = Annotated[Path, argument("OUTPUT.tracetemplate", "New file to make.")]
Source = Annotated[str, option("NAME|FILE", "Template to copy.", "--from")]
CounterProfile = Annotated[
    int | None, option("N", "Number of the counter set.", min=0, max=2**31 - 1)
]
ShaderTimeline = Annotated[
    Literal["on", "off"] | None, typer.Option(help="Whether to sample shaders.")
]
DoWrite = Annotated[bool, flag("--write", "Write the file instead of listing the changes.")]


@app.command("make")
def make(
    output: Output,
    *,
    source: Source = choices.METAL_SYSTEM_TRACE,
    counter_profile: CounterProfile = None,
    shader_timeline: ShaderTimeline = None,
    do_write: DoWrite = False,
    json: options.Json = False,
) -> None:
    """Copy a template with counters switched on.

    Without --write this is a dry run that lists every change. The source is never changed, and no
    file is overwritten. The number of a counter set depends on the chip, and Apple does not
    document it: only a recording shows whether yours works. To choose one by hand, for any chip:
    Recording Options > GPU > Counter Set in Instruments, then File > Save As Template.
    """
    timeline = None
    if shader_timeline is not None:
        timeline = shader_timeline == "on"
    source_file = _source_file(source)
    changes, content = record.templates.draft(source_file, output, counter_profile, timeline)
    written_file = ""
    if do_write:
        written_file = str(record.templates.write(output, content))
    if json:
        entries = [
            answers.TemplateChange(change.place, repr(change.old_value), repr(change.new_value))
            for change in changes
        ]
        console.show_json(answers.TemplateDraft(tuple(entries), written_file))
        return
    if do_write:
        console.show_line(written_file)
        template = shlex.quote(str(output))
        console.show_hint(f"Record with it: tracekit capture --template {template}")
        return
    rows = [(change.place, repr(change.old_value), repr(change.new_value)) for change in changes]
    console.table(("place", "is", "will be"), rows)
    console.show_hint("Nothing was written; --write makes the file.")


def _source_file(source: str) -> Path:
    """Return the template file to copy: a path, or a name in the folders of templates."""
    if "/" in source or source.endswith(record.templates.SUFFIX):
        return Path(source).expanduser()
    tool = record.find_xctrace()
    tool_path = ""
    if tool:
        tool_path = tool.path
    files = record.templates.template_files(Path.home(), tool_path)
    return record.templates.template_file(source, files)
