"""`batch`: many recordings, analysed in parallel."""

from pathlib import Path
from typing import Annotated

import typer

from tracekit import fleet, workload
from tracekit.base import InputError, UsageError
from tracekit.cli import answers, console, options
from tracekit.cli.options import argument, flag, option

Sources = Annotated[
    list[str], argument("SOURCE…", "Recordings, folders, patterns in quotes, URLs.")
]
Output = Annotated[Path, option("DIR", "Folder for results; an earlier one to continue.")]
Scheduler = Annotated[str, option("ADDRESS", "Dask cluster, tcp://HOST:8786, to work on.")]
Workers = Annotated[
    int | None, option("N", "Processes to start.  [default: as many as fit]", min=1)
]
Tables = Annotated[str, option("NAME,…|all|none", "Tables to keep with the results.")]
Pages = Annotated[bool, flag("--pages", "Write a page for each recording as well.")]
RetryFailed = Annotated[bool, flag("--retry-failed", "Try recordings again that failed before.")]
TimeLimit = Annotated[str, option("TIME", "Longest time that one recording may take.")]


def batch(
    sources: Sources,
    *,
    output: Output,
    scheduler: Scheduler = "",
    workers: Workers = None,
    target: options.Target = None,
    run_number: options.RunNumber = None,
    tables: Tables = "none",
    pages: Pages = False,
    retry_failed: RetryFailed = False,
    time_limit: TimeLimit = "1h",
    no_redact: options.NoRedact = False,
    open_page: options.OpenPage = False,
    json: options.Json = False,
) -> None:
    """Analyze many recordings at once.

    A SOURCE is a run's folder, a .trace, a .trace.zip, exports, a folder that is searched for all
    of these, a pattern such as 'traces/**/*.trace', or a URL of an object store or archive that
    fsspec knows, such as s3://bucket/traces or zip://**/*.trace::all.zip. Sources are never
    modified. --target applies to recordings that are not imported yet; a run keeps its own. If a
    trace has several runs, the last one is analyzed, or the one that --run names.

    DIR/results is a Parquet data set with one row for each recording, and DIR/index.html is a page
    about them. It links to the page of each recording that has one: a run's own, or one that
    --pages wrote to DIR/pages. `tracekit open` makes a missing one. A recording that cannot be
    analyzed becomes a row that gives the reason. The exit code is then 3, and also if damage cost
    rows or names of a recording. Run the same command again to continue: unchanged recordings are
    not analyzed twice. --tables also writes whole tables to DIR/tables/NAME, for queries over all
    of them; the default is none, because they can be larger than the recordings.
    """
    if scheduler and workers is not None:
        raise UsageError(
            "--workers starts processes here, and --scheduler works on a cluster.",
            hint="Give one of them.",
        )
    wanted_tables = fleet.wanted_tables(tables)
    choices = fleet.Choices(target, wanted_tables, not no_redact, run_number, pages)
    max_seconds = workload.plan.seconds(time_limit)
    all_sources = tuple(sources)
    plan = fleet.BatchPlan(
        all_sources, output, scheduler, workers, choices, retry_failed, max_seconds
    )
    with console.progress("batch") as progress:
        tally, page = fleet.run_batch(plan, progress)
    if json:
        console.show_json(_document(tally, page))
    else:
        _show(tally, page)
    if open_page:
        typer.launch(page.resolve().as_uri())
    if tally.all_failed:
        hint = f"{page} says why; --retry-failed tries them again."
        raise InputError(
            f"{tally.all_failed:,} of {tally.total:,} sources could not be analysed.",
            hint=hint,
        )


def _document(tally: "fleet.Tally", page: Path) -> answers.BatchTally:
    failures = tuple(answers.BatchFailure(*failure) for failure in tally.failures)
    return answers.BatchTally(
        page=str(page),
        total=tally.total,
        done=tally.done,
        done_before=tally.done_before,
        failed=tally.failed,
        failed_before=tally.failed_before,
        recordings=tally.recordings,
        failures=failures,
    )


def _show(tally: "fleet.Tally", page: Path) -> None:
    console.show_line(page)
    parts = [f"{tally.done:,} analysed"]
    if tally.recordings > tally.done:
        parts.append(f"{tally.recordings:,} recordings in them")
    if tally.done_before:
        parts.append(f"{tally.done_before:,} done before")
    if tally.failed:
        parts.append(f"{tally.failed:,} failed")
    if tally.failed_before:
        parts.append(f"{tally.failed_before:,} failed before")
    tally_text = ", ".join(parts)
    console.show_hint(f"{tally.total:,} sources: {tally_text}.")
    for name, error, hint in tally.failures:
        warning = error
        if not error.startswith(name):
            warning = f"{name}: {error}"
        console.show_warnings([warning])
        if hint:
            console.show_hint(f"  {hint}")
