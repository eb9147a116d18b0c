"""`kernel check`: the dispatches of a GPU frame capture against the expectations of a user."""

from pathlib import Path
from typing import Annotated

import typer

from tracekit import analysis, app, nightly
from tracekit.base import outputs
from tracekit.cli import console, options
from tracekit.cli.options import argument, option

_SHOWN = 12
"""The dispatches whose answers are printed; --json prints all."""

Capture = Annotated[Path, argument("X.gputrace", "GPU frame capture, or a run of one.")]
Expect = Annotated[
    list[str] | None,
    option(
        "EXPECTATION",
        "Such as threadgroup==256, spills==0 or function~paged; again for more.",
        "--expect",
    ),
]
Config = Annotated[
    Path | None, option("FILE", "TOML with [[dispatch]] tables of expectations.", "--config")
]
Junit = Annotated[Path | None, option("FILE", "Write JUnit XML.")]
Sarif = Annotated[Path | None, option("FILE", "Write SARIF 2.1.0.")]
Markdown = Annotated[Path | None, option("FILE", "Write Markdown.")]


def check(
    capture: Capture,
    *,
    expect: Expect = None,
    config: Config = None,
    junit: Junit = None,
    sarif: Sarif = None,
    markdown: Markdown = None,
    json: options.Json = False,
) -> None:
    """Check the dispatches of a GPU frame capture, on any machine.

    Each dispatch must have threadgroups of a multiple of 32 threads, at most 1,024, at most 32 KiB
    of threadgroup memory, no spills, and all used arguments bound, aligned and long enough.
    --expect adds expectations; those of `function`, `label` or `dispatch` choose the
    dispatches that the others are about. docs/how-to/check-a-dispatch.md lists the quantities. A
    run of `tracekit capture --gputrace` has expectations of its own, if none are given.

    Exit code 0: as expected; 1: not as expected; 4: an expected fact was not recorded.
    """
    expectations = app.checking.read_expectations(expect or ())
    expectation_sets = [expectations] if expectations else []
    if config:
        expectation_sets += app.checking.read_expectation_file(config)
    if not expectation_sets:
        expectation_sets = app.checking.read_own_expectations(capture)
    choices = {"junit": junit, "sarif": sarif, "markdown": markdown}
    report_files = {name: file for name, file in choices.items() if file}
    read_files = [capture]
    if config:
        read_files.append(config)
    with outputs.writing(list(report_files.values()), read_files):
        with console.progress("check"):
            checked = app.checking.check_capture(capture, expectation_sets)
        errors = nightly.notify.write_reports(app.checking.report_of(checked), report_files)
    if json:
        console.show_json(checked)
    else:
        _show(checked)
    if checked.outcome is nightly.Outcome.REGRESSION:
        console.show_warnings([error.message for error in errors])
        raise typer.Exit(checked.outcome.exit_code)
    if errors:
        raise errors[0]
    app.checking.require_recorded(checked)


def _show(checked: "app.checking.CaptureCheck") -> None:
    console.show_line(checked.verdict)
    ordered = sorted(checked.dispatches, key=_is_as_expected)
    for dispatch in ordered[:_SHOWN]:
        answers = dispatch.answers if dispatch.expected else dispatch.general
        rows: list[tuple[str, ...]] = []
        for answer in answers:
            rows.append((str(answer.state), answer.topic, answer.value, answer.note))  # noqa: PERF401
        console.show_line("")
        console.show_line(dispatch.title)
        console.table(("answer", "question", "recorded", "note"), rows)
    more = len(ordered) - _SHOWN
    if more > 0:
        console.show_hint(f"{more:,} more dispatches are in --json.")


def _is_as_expected(dispatch: "app.checking.CheckedDispatch") -> bool:
    for answer in dispatch.answers:
        if answer.state is analysis.dispatches.AnswerState.DEVIATING:
            return False
    return True
