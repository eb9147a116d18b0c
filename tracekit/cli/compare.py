"""`compare` and `bench ab`: runs, or work, against each other; with the change's certainty."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
import typer.core

from tracekit import app, comparison, nightly, record, workload
from tracekit.base import UsageError, Verdict, files, outputs, redaction, system, units
from tracekit.cli import completion, console, options
from tracekit.cli.options import argument, flag, option

if TYPE_CHECKING:
    from tracekit.record import Progress

Threshold = Annotated[float, option("SHARE", "Least change that matters.", min=0, max=10)]
MetricName = Annotated[
    list[str] | None,
    option(
        "NAME",
        "Metric that decides; may be given again.  [default: those of speed]",
        "--metric",
        autocompletion=completion.complete_metric,
    ),
]
ExitCode = Annotated[
    bool, flag("--exit-code", "End with 1 if it is worse, with 4 if it is unclear.")
]


Runs = Annotated[
    list[Path],
    argument("A B | A1 A2 … vs B1 B2 …", "Runs, bundles, zip files, exports, JSON of benches."),
]
CompareHtml = Annotated[Path | None, option("FILE", "Write a page with both timelines.")]
Force = Annotated[bool, flag("--force", "Compare different work, too.")]
Between = Annotated[
    float, option("SHARE", "How much equal runs differ beyond their own spread.", min=0, max=1)
]


def compare(
    runs: Runs,
    *,
    html: CompareHtml = None,
    json: options.Json = False,
    json_summary: options.JsonSummary = False,
    exit_code: ExitCode = False,
    force: Force = False,
    metric: MetricName = None,
    threshold: Threshold = 0.03,
    between: Between = 0.025,
    open_page: options.OpenPage = False,
) -> None:
    """Compare runs: worse, better, slightly so, equivalent or unclear.

    Each metric has the 95 % interval of its change, and a verdict that follows from it: worse or
    better beyond --threshold, slightly worse or better below it, equivalent within it, or unclear.
    Several runs of each side are more conclusive than one; record the two sides in turns. Runs of
    different work or recorders are refused; other differences are listed. Of two GPU frame
    captures, the changed facts of their dispatches are listed: sizes, memory, bindings, registers,
    instructions by kind and by source line. Two files of `tracekit
    bench run -o FILE.json` are compared subject by subject.

    Exit code 0: compared; with --exit-code 1: worse, 4: unclear. 2: they cannot be compared.
    """
    if open_page and html is None:
        raise UsageError("--open opens a page, and none is asked for.", hint="Add --html FILE.")
    first_side, second_side = comparison.parse_sides(runs)
    if all(map(app.runs.holds_capture, (*first_side, *second_side))):
        _refuse_options(html, json_summary, exit_code, metric, force)
        _show_captures(_compare_captures(first_side, second_side), json=json)
        return
    pages: list[Path] = []
    if html:
        pages = [html]
    all_files = [*first_side, *second_side]
    with outputs.writing(pages, all_files):
        metric_names = tuple(metric or ())
        limits = comparison.Limits(threshold, between, metric_names)
        with (
            console.progress("compare") as progress,
            app.runs.comparing(first_side, progress) as first_runs,
            app.runs.comparing(second_side, progress) as second_runs,
        ):
            compared_runs = comparison.runs.compare_paths(
                first_runs, second_runs, limits, force=force, progress=progress
            )
            if html is not None:
                _write(html, compared_runs.render_page())
    if json_summary:
        console.show_summary(app.summaries.summarize_comparison(compared_runs.comparison))
    else:
        _show(compared_runs.comparison, json=json)
    if html is not None and open_page:
        typer.launch(html.resolve().as_uri())
    if exit_code:
        end(compared_runs.comparison)


def _refuse_options(*choices: object) -> None:
    """Raise UsageError if a choice was made that has no meaning for GPU frame captures."""
    if any(choices):
        raise UsageError(
            "A comparison of GPU frame captures takes no option but --json.",
            hint="`tracekit kernel check` has an exit code.",
        )


def _compare_captures(
    first_side: Sequence[Path], second_side: Sequence[Path]
) -> "app.checking.ComparedCaptures":
    if len(first_side) != 1 or len(second_side) != 1:
        raise UsageError("GPU frame captures are compared one with one.", hint="Name two.")
    return app.checking.compare_captures(first_side[0], second_side[0])


def _show_captures(compared: "app.checking.ComparedCaptures", *, json: bool) -> None:
    if json:
        console.show_json(compared)
        return
    console.show_line(compared.verdict)
    rows: list[tuple[str, ...]] = []
    for difference in compared.dispatches:
        numbers = (
            f"{_name_number(difference.index_before)} → {_name_number(difference.index_after)}"
        )
        title = f"{numbers} {difference.function}"
        for change in difference.changes:
            values = (str(change.value_before), str(change.value_after))
            rows.append((title, change.name, *values))
        if difference.index_before is None or difference.index_after is None:
            rows.append((title, "on one side only", "", ""))
    console.table(("dispatch", "quantity", "before", "after"), rows)


def _name_number(number: int | None) -> str:
    return "none" if number is None else str(number)


class Sides(typer.core.TyperCommand):
    """Takes `A -- B`, and `-- PROGRAM A -- PROGRAM B`: click would drop the word between them."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the words; options may be on either side, except those of programs.

        A second -- means programs, not workloads: everything after the first one is theirs.
        """
        words = list(args)
        if "--" in words:
            place = words.index("--")
            if "--" in words[place + 1 :]:
                words.insert(place + 1, _PROGRAMS)
            else:
                words[place] = _BETWEEN
        return super().parse_args(ctx, words)


_BETWEEN = "vs"
_PROGRAMS = "programs:"


Variants = Annotated[
    list[str],
    argument(
        "A -- B",
        "Each is WORKLOAD[@REVISION] [NAME=VALUE …]; B may leave the workload out. Or "
        "-- PROGRAM ARGS -- PROGRAM ARGS.",
    ),
]
Within = Annotated[
    float | None,
    option(
        "SHARE",
        "Stop when the interval is within ±SHARE.  [default: 0.01, or half of --threshold]",
        min=0.0001,
        max=1,
    ),
]
TimeLimit = Annotated[str, option("TIME", "Begin no pair after that: 30s, 5m.", "--time-limit")]
Turn = Annotated[str, option("TIME", "One turn; a pair of both has four.")]
AnyState = Annotated[
    bool, flag("--any-state", "Count pairs also while the machine is busy or hot.")
]
Html = Annotated[Path | None, option("FILE", "Write a page.")]


def ab(
    variants: Variants,
    *,
    workloads: options.Workloads = None,
    read: options.Read = None,
    within: Within = None,
    time_limit: TimeLimit = "2m",
    turn: Turn = "300ms",
    any_state: AnyState = False,
    html: Html = None,
    json: options.Json = False,
    exit_code: ExitCode = False,
    bisect: options.Bisect = False,
    metric: MetricName = None,
    threshold: Threshold = 0.03,
    open_page: options.OpenPage = False,
) -> None:
    """Measure which of two variants is faster.

    Variants are workloads, values of their parameters, or revisions of the repository. Each pair
    runs both in fresh processes, in turns, after a warm-up. Pairs are added until the change is
    known precisely enough. Pairs during which the machine was busy, hot or throttled do not count.
    A change that may or may not exceed --threshold is measured in a second session. Results are
    kept only with --html or --json.

    Any two programs can be compared in the same way; each runs to its end every time. Put
    tracekit's options before the first --. The numbers that the programs print decide, or the time
    that they take if they print none.

    tracekit bench ab paged -- block_size=8

    tracekit bench ab paged@v1.4 -- paged

    tracekit bench ab -- ./main-old -m model.gguf -- ./main-new -m model.gguf

    Exit code 0: measured; with --exit-code 1: B is worse, 4: unclear. 4: no pair counts.
    """
    if open_page and html is None:
        raise UsageError("--open opens a page, and none is asked for.", hint="Add --html FILE.")
    within = within or min(0.01, max(threshold / 2, 0.0001))
    total_seconds = workload.plan.seconds(time_limit)
    turn_seconds = workload.plan.seconds(turn)
    effort = nightly.ab.PairEffort(within, total_seconds, turn_seconds)
    if any_state:
        effort = replace(effort, state=None)
    metrics = tuple(metric or ())
    limits = comparison.Limits(threshold, metrics=metrics)
    measure = _measuring(variants, read or [], workloads, effort, limits)
    pages: list[Path] = []
    if html:
        pages = [html]
    with outputs.writing(pages):
        console.announce(f"measures for at most {units.span(total_seconds)}", total_seconds)
        with console.progress("bench ab") as progress:
            compared = measure(progress)
        if html is not None:
            redact = redaction.own_redaction()
            page = comparison.page.render_comparison(compared, [], [], redact=redact)
            _write(html, page)
    _show(compared, json=json)
    if html is not None and open_page:
        typer.launch(html.resolve().as_uri())
    if exit_code or bisect:
        end(compared)


def _measuring(
    variants: list[str],
    read: list[str],
    workloads: Path | None,
    effort: "nightly.ab.PairEffort",
    limits: "comparison.Limits",
) -> "Callable[[Progress], comparison.Comparison]":
    """Return a function that measures both variants, which are checked at once."""
    if variants[0] == _PROGRAMS:
        system.refuse_input("bench ab runs each program several times")
        sides = nightly.programs.parse_programs(variants[1:])
        patterns = [record.patterns.parse_pattern(words) for words in read]
        return lambda progress: nightly.programs.measure_programs(
            *sides, patterns=patterns, effort=effort, limits=limits, progress=progress
        )
    if read:
        raise UsageError(
            "--read is for programs: a workload reports its own numbers.",
            hint="tracekit bench ab --read … -- ./main-old ARGS -- ./main-new ARGS",
        )
    if variants.count(_BETWEEN) != 1:
        raise UsageError("Give one variant on each side of a --.", hint="tracekit bench ab A -- B")
    place = variants.index(_BETWEEN)
    variant_before = variants[:place]
    side_before = nightly.ab.parse_side(variant_before)
    variant_after = variants[place + 1 :]
    side_after = nightly.ab.parse_side(variant_after, side_before.workload)
    return lambda progress: nightly.ab.measure_ab(
        side_before,
        side_after,
        workloads=workloads,
        effort=effort,
        limits=limits,
        progress=progress,
    )


def _show(compared: "comparison.Comparison", *, json: bool) -> None:
    if json:
        console.show_json(compared)
        return
    console.show_line(comparison.page.heading(compared))
    if compared.bound:
        console.show_line(compared.bound)
    compared_tables = comparison.page.tables(compared)
    for title, columns, rows in compared_tables:
        console.measurements(title, columns, rows)
    conditions = [f"{condition.side}: {condition.words}." for condition in compared.conditions]
    console.show_warnings(conditions)
    console.show_hint(comparison.page.how_sure(compared))


def _write(file: Path, page: str) -> None:
    files.write_whole(file, page.encode())
    console.show_written(file)


def end(compared: "comparison.Comparison") -> None:
    """Exit with the code of the verdict: 1 if it is worse, 4 if it is unclear."""
    comparison.runs.require_clear(compared)
    if compared.verdict is Verdict.WORSE:
        raise typer.Exit(1)
