"""`nightly gate`: whether a night, or runs, are worse, as an exit code and to other tools."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated

import typer

from tracekit import app, comparison, nightly
from tracekit.base import TracekitError, UsageError, files, outputs, units
from tracekit.cli import completion, console, options
from tracekit.cli.options import argument, flag, option

_MEANT = (
    "--config, --history and --max-age apply to nights; --metric, --threshold, --force and --html "
    "apply to runs, because a night was judged by its plan."
)


What = Annotated[
    list[Path] | None,
    argument(
        "NIGHT | A B | A1 A2 … vs B1 B2 …",
        "A night: its id, the beginning of it, or its folder; or runs.  [default: latest]",
    ),
]
Config = Annotated[
    Path | None, option("FILE", "The plan of the night.  [default: the nearest one]")
]
History = Annotated[str, option("URL|FILE", "Search for the night in this history.")]
MaxAge = Annotated[str, option("AGE", "A night that began longer ago is inconclusive: 36h, 2d.")]
Junit = Annotated[Path | None, option("FILE", "Write JUnit XML.")]
Sarif = Annotated[Path | None, option("FILE", "Write SARIF 2.1.0.")]
Openmetrics = Annotated[
    Path | None, option("FILE", "Write metrics for a textfile collector.", "--openmetrics")
]
Markdown = Annotated[Path | None, option("FILE|-", "Write Markdown, or print it.")]
Comment = Annotated[
    Path | None, option("FILE|-", "Write Markdown of at most 12 lines, or print it.")
]
Html = Annotated[Path | None, option("FILE", "Of runs: write the page that compares them.")]
Summary = Annotated[
    bool | None,
    flag(
        "--summary/--no-summary",
        "Add the report to $GITHUB_STEP_SUMMARY.  [default: if it is set]",
    ),
]
Annotations = Annotated[
    bool | None,
    flag(
        "--annotations/--no-annotations",
        "Print annotations of GitHub.  [default: in GitHub Actions]",
    ),
]
OnRegression = Annotated[
    str, option("COMMAND", "Run this command, without a shell, on a regression.")
]
Metric = Annotated[
    list[str] | None,
    option(
        "NAME",
        "Of runs: metric that decides; again for more.",
        "--metric",
        autocompletion=completion.complete_metric,
    ),
]
Threshold = Annotated[
    float | None, option("SHARE", "Of runs: least change that matters.", min=0, max=10)
]
Force = Annotated[bool, flag("--force", "Of runs: compare different work, too.")]


def gate(
    what: What = None,
    *,
    config: Config = None,
    history: History = "",
    max_age: MaxAge = "",
    junit: Junit = None,
    sarif: Sarif = None,
    openmetrics: Openmetrics = None,
    markdown: Markdown = None,
    comment: Comment = None,
    html: Html = None,
    summary: Summary = None,
    annotations: Annotations = None,
    on_regression: OnRegression = "",
    json: options.Json = False,
    json_summary: options.JsonSummary = False,
    bisect: options.Bisect = False,
    metric: Metric = None,
    threshold: Threshold = None,
    force: Force = False,
) -> None:
    """Report by exit code whether a night, or runs, became worse.

    A night keeps the verdict that the thresholds of its plan gave it. Two runs, or several of each
    side, are compared as by `tracekit compare`. Missing data never count as ok.

    Exit code 0: not worse. 1: a regression. 2: wrong usage. 3: the night failed. 4: inconclusive.
    """
    del bisect  # the exit code is mapped once the command has ended, whatever ends it
    choices = {
        "junit": junit,
        "sarif": sarif,
        "openmetrics": openmetrics,
        "markdown": markdown,
        "comment": comment,
    }
    printed = _find_printed(choices, has_document=json or json_summary)
    report_files = {name: file for name, file in choices.items() if file and name != printed}
    command = ()
    if on_regression:
        command = nightly.notify.command_of(on_regression)
    page = _find_summary_page(summary)
    is_annotated = _is_annotated(annotations)
    destinations = _Destinations(
        files=report_files,
        command=command,
        page=page,
        annotated=is_annotated,
        json=json,
        summary=json_summary,
        printed=printed,
    )
    words = what or []
    read_files = list(words)
    if config:
        read_files.append(config)
    written_files = list(report_files.values())
    if html:
        written_files.append(html)
    with outputs.writing(written_files, read_files):
        if len(words) > 1:
            _require_none(config=config, history=history, max_age=max_age)
            report = _of_runs(words, metric, threshold, html, force=force)
            remedy = comparison.runs.REMEDY
        else:
            _require_none(metric=metric, threshold=threshold, force=force, html=html)
            report = _of_night(words, config, history, max_age)
            remedy = ""
        _deliver(report, destinations, remedy)


@dataclass(frozen=True)
class _Destinations:
    """Everything that a report goes to; `files` are those of other tools, by their format.

    `printed` is the format that is printed in place of the tables, "" for none.
    """

    files: dict[str, Path]
    command: tuple[str, ...]
    page: Path | None
    annotated: bool
    json: bool
    summary: bool
    printed: str


def _find_printed(choices: dict[str, Path | None], *, has_document: bool) -> str:
    """Return the format that is printed; "" if all go to files.

    Raises:
        UsageError: Two documents would be printed.
    """
    printed = [name for name, file in choices.items() if file == console.STDOUT]
    if not printed:
        return ""
    if has_document:
        raise UsageError(f"--json and --{printed[0]} - print two documents.", hint="Name a file.")
    if len(printed) > 1:
        raise UsageError(
            f"--{printed[0]} - and --{printed[1]} - print two documents.", hint="Name a file."
        )
    return printed[0]


def _find_summary_page(summary: bool | None) -> Path | None:
    """Return the job summary of GitHub that the report is added to, if any.

    Raises:
        UsageError: A summary is asked for, and the environment names none.
    """
    file = os.environ.get("GITHUB_STEP_SUMMARY", "")
    if summary and not file:
        raise UsageError("$GITHUB_STEP_SUMMARY is not set.", hint="It is in GitHub Actions.")
    if not file or summary is False:
        return None
    return Path(file)


def _is_annotated(annotations: bool | None) -> bool:
    if annotations is None:
        return os.environ.get("GITHUB_ACTIONS") == "true"
    return annotations


def _deliver(report: "nightly.GateReport", destinations: _Destinations, remedy: str) -> None:
    """Write and print a report, run the command of a regression, and end the process."""
    errors = nightly.notify.write_reports(report, destinations.files)
    _show(report, destinations)
    warnings = list(report.warnings)
    if destinations.page:
        summary_warning = nightly.notify.append_summary(report, destinations.page)
        warnings.append(summary_warning)
    if destinations.annotated:
        # A reader of the document on stdout does not expect lines of GitHub's.
        has_document = destinations.json or destinations.summary or destinations.printed != ""
        for line in nightly.text.annotations(report):
            typer.echo(line, err=has_document)
    if destinations.command and report.outcome is nightly.Outcome.REGRESSION:
        notice_warning = nightly.notify.tell(destinations.command, report)
        warnings.append(notice_warning)
    console.show_warnings(list(filter(None, warnings)))
    end(report, errors, remedy)


def _show(report: "nightly.GateReport", destinations: _Destinations) -> None:
    if destinations.summary:
        console.show_summary(app.summaries.summarize_report(report))
    elif destinations.json:
        console.show_json(report)
    elif destinations.printed:
        text = nightly.notify.WRITERS[destinations.printed](report).decode()
        console.show_line(text.rstrip("\n"))
    else:
        show_report(report)


def _require_none(**options: object) -> None:
    for name, value in options.items():
        if value is not None and value is not False and value != "":
            option_name = name.replace("_", "-")
            option = f"--{option_name}"
            raise UsageError(f"{option} does not apply here.", hint=_MEANT)


def _of_night(
    words: Sequence[Path], plan: Path | None, history: str, max_age: str
) -> "nightly.GateReport":
    longest = None
    if max_age:
        longest = units.age(max_age).total_seconds()
    if not words:
        return nightly.gating.gate_night(plan=plan, history=history, longest=longest)
    return nightly.gating.gate_night(str(words[0]), plan, history, longest=longest)


def _of_runs(
    words: Sequence[Path],
    metrics: Sequence[str] | None,
    threshold: float | None,
    html: Path | None,
    *,
    force: bool,
) -> "nightly.GateReport":
    """Compare recordings of any kind, write the page if one is asked for, and return the report."""
    first_side, second_side = comparison.parse_sides(words)
    metric_names = tuple(metrics or ())
    limits = replace(comparison.Limits(), metrics=metric_names)
    if threshold is not None:
        limits = replace(limits, threshold=threshold)
    with (
        console.progress("gate") as progress,
        app.runs.comparing(first_side, progress) as first_runs,
        app.runs.comparing(second_side, progress) as second_runs,
    ):
        compared = comparison.runs.compare_paths(
            first_runs, second_runs, limits, force=force, progress=progress
        )
        if html is not None:
            files.write_whole(html, compared.render_page().encode())
            console.show_written(html)
    return nightly.gating.gate_runs(compared, second_side[0])


def show_report(report: "nightly.GateReport") -> None:
    """Print the outcome of a night, or of runs, its reasons, and the numbers."""
    console.show_line(nightly.text.verdict(report))
    verdict_rows = nightly.text.verdict_rows(report)
    console.table(("outcome", "what", "why"), verdict_rows)
    for search in nightly.text.searches(report):
        console.show_line(f"To find the commit: {search}")
    console.show_line("")
    for title, columns, rows in nightly.text.tables(report):
        console.measurements(title, columns, rows)


def end(report: "nightly.GateReport", errors: "Sequence[TracekitError]", remedy: str = "") -> None:
    """Exit with the code of the outcome; a report that was not written is an error, too.

    `remedy` is the hint of an inconclusive report, by default that of a night.
    """
    if report.outcome is nightly.Outcome.REGRESSION:
        console.show_warnings([error.message for error in errors])
        raise typer.Exit(report.outcome.exit_code)
    if errors:
        raise errors[0]
    nightly.gating.require_decided(report, remedy)
