"""`nightly history`: nights listed, drawn, exported, synced and pinned."""

from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from tracekit import nightly
from tracekit.base import (
    InputError,
    UsageError,
    files,
    make_timestamp,
    outputs,
    redaction,
    units,
)
from tracekit.cli import answers, completion, console, options
from tracekit.cli.opened_history import Config, History, Reason, history_url, open_history
from tracekit.cli.options import argument, flag, option


def time_of(text: str, current_time: datetime | None = None) -> datetime:
    """Return the time that a text means: an age such as "30d", or a date or time in UTC."""
    with suppress(UsageError):
        now = current_time or datetime.now(UTC)
        return now - units.age(text)
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        raise UsageError(
            f"Invalid time {text!r}.", hint="Write 30d, 12w, 2026-03-01 or 2026-03-01T02:30+00:00."
        ) from None
    if moment.tzinfo:
        return moment
    return moment.replace(tzinfo=UTC)


Format = Literal["csv", "json", "parquet"]


app = typer.Typer(rich_markup_mode=None)

What = Annotated[str, argument("NIGHT|DIR", "A night, by its id or folder; or a run's folder.")]


Plan = Annotated[str | None, option("NAME", "Only this plan.")]
Machine = Annotated[str | None, option("NAME", "Only this machine.")]
Capture = Annotated[str | None, option("NAME", "Only series of this capture.")]
Metric = Annotated[
    str | None,
    option(
        "NAME|all",
        "Show this metric in each night.",
        autocompletion=completion.complete_metric,
    ),
]
Since = Annotated[str | None, option("TIME", "Nights since then: 30d, 12w, 2026-03-01.")]
Until = Annotated[str | None, option("TIME", "Nights before then.")]
Ended = Annotated[
    Literal["ok", "regression", "failed", "inconclusive", "unjudged"] | None,
    typer.Option("--outcome", help="Only nights with this outcome."),
]
Limit = Annotated[int, option("N", "List the last N nights.", min=1)]
Output = Annotated[Path | None, option("FILE|-", "Write medians of each night into a file.")]
Kind = Annotated[Format, typer.Option("--format", help="Format of --output.")]
Samples = Annotated[bool, flag("--samples", "Write every value of every turn instead of medians.")]
Html = Annotated[Path | None, option("FILE", "Write the trend page.")]


@app.callback(invoke_without_command=True)
def history(
    context: typer.Context,
    *,
    config: Config = None,
    history: History = "",
    plan: Plan = None,
    machine: Machine = None,
    capture: Capture = None,
    metric: Metric = None,
    since: Since = None,
    until: Until = None,
    ended: Ended = None,
    limit: Limit = 30,
    output: Output = None,
    kind: Kind = "csv",
    samples: Samples = False,
    html: Html = None,
    json: options.Json = False,
    force: options.Force = False,
) -> None:
    """List nights, and metrics over nights.

    Prints a line for each night: its outcome and its most important change. With --metric, prints
    the value of the metric and that of the reference in each night. --output and --html use all
    selected nights, not only the last --limit.
    """
    if context.invoked_subcommand is not None:
        return

    first_time = _optional_time(since)
    last_time = _optional_time(until)
    selection: dict[str, Any] = {
        "plan": plan,
        "machine": machine,
        "since": first_time,
        "until": last_time,
    }
    series_filter = {"capture": capture, "metric": metric}
    if metric == "all":
        series_filter["metric"] = None
    _require_clear_output(output, samples=samples, json=json)
    url = history_url(history, config)
    read_files = _drop_missing(config, nightly.place.file_of(url))
    named_files = _drop_missing(output, html)
    written_files = [file for file in named_files if file != console.STDOUT]
    with (
        outputs.writing(written_files, read_files, force=force),
        nightly.Store.connect(url, make=False) as store,
    ):
        if output is not None:
            night_filter = selection | series_filter
            _export(store, night_filter, output, kind, samples=samples)
        if html is not None:
            _draw(store, url, selection, series_filter, html)
        if json and written_files:
            console.show_files(written_files, json=json)
        if output is not None or html is not None:
            return
        if metric is not None:
            _show_series(store, selection | series_filter, limit, json=json)
        else:
            _show_nights(store, selection, ended, limit, json=json)


def _require_clear_output(output: Path | None, *, samples: bool, json: bool) -> None:
    if json and output == console.STDOUT:
        raise UsageError("--json and --output - print two documents.", hint="Name a file.")
    if samples and output is None:
        raise UsageError("--samples needs --output.", hint="Add --output FILE --format csv")


def _optional_time(text: str | None) -> datetime | None:
    if not text:
        return None
    return time_of(text)


def _drop_missing(*paths: Path | None) -> list[Path]:
    return [file for file in paths if file]


@app.command("sync")
def sync(
    *,
    config: Config = None,
    history: History = "",
    json: options.Json = False,
) -> None:
    """Add nights that lie in the plan's folder alone.

    A night stays in its folder if the history could not be used when it ended, or if its process
    was killed. Each is added once, the oldest first, and nights that were due and did not run are
    noted. The next night does the same.

    Exit code 0: the history has every night that has ended. 3: a night could not be added.
    """
    from tracekit.machine import environment

    plan = nightly.read_plan(config, work=False)
    machine_name = plan.machine or environment.own_name()
    done = nightly.memory.sync(plan, machine_name, history)
    if json:
        _show_sync_json(done)
    else:
        _show_sync(done)
    if done.fatal_error is not None:
        raise done.fatal_error
    if done.failed:
        failed_count = len(done.failed)
        failed_text = _count_nights(failed_count)
        raise InputError(
            f"{failed_text} could not be added.",
            hint="Each is in its folder still; take a folder away whose night cannot be read.",
        )


def _count_nights(number: int) -> str:
    if number == 1:
        return "1 night"
    return f"{number} nights"


def _show_sync_json(done: "nightly.memory.Synced") -> None:
    end_message = ""
    if done.fatal_error:
        end_message = done.fatal_error.message
    document = answers.SyncedNights(
        added=tuple(done.added),
        missed=tuple(done.missed),
        wait=tuple(answers.WaitingNight(entry.night, entry.why) for entry in done.wait),
        failed=tuple(answers.WaitingNight(entry.night, entry.why) for entry in done.failed),
        ended=end_message,
    )
    console.show_json(document)


def _show_sync(done: "nightly.memory.Synced") -> None:
    for name in done.added:
        console.show_line(f"added   {name}")
    for missed_time in done.missed:
        console.show_line(f"missed  {units.stamp(missed_time)}")
    if not (done.added or done.failed or done.fatal_error):
        console.show_line("The history has every night of the plan that has ended.")
    waiting = [f"The night {entry.night} waits: {entry.why}." for entry in done.wait]
    failed = [f"The night {entry.night} could not be added: {entry.why}" for entry in done.failed]
    console.show_warnings(waiting)
    console.show_warnings(failed)


@app.command("pin")
def pin(
    what: What,
    *,
    reason: Reason,
    config: Config = None,
    history: History = "",
    json: options.Json = False,
) -> None:
    """Protect a night or a run from prune."""
    with open_history(history, config, what, make=True) as store:
        _show_note(store.pin(what, reason), json=json)


@app.command("unpin")
def unpin(
    what: What,
    *,
    reason: Reason = "",
    config: Config = None,
    history: History = "",
    json: options.Json = False,
) -> None:
    """Let prune remove a night or a run again."""
    with open_history(history, config, what) as store:
        _show_note(store.pin(what, reason, pinned=False), json=json)


def _show_note(message: str, *, json: bool) -> None:
    if json:
        console.show_json(answers.Note(message))
    else:
        console.show_line(message)


def _export(
    store: "nightly.Store", selection: dict[str, Any], file: Path, kind: Format, *, samples: bool
) -> None:
    series = store.require_series(**selection)
    redact = redaction.own_redaction()
    with console.open_output(file) as opened:
        if samples:
            samples_of_series = store.samples(**selection)
            nightly.listing.write_values(opened, samples_of_series, kind, redact)
        else:
            nightly.listing.write_points(opened, series, kind, redact)
    if file != console.STDOUT:
        console.show_written(file)


def _show_nights(
    store: "nightly.Store",
    selection: dict[str, Any],
    outcome_name: str | None,
    limit: int,
    *,
    json: bool,
) -> None:
    outcome = None
    if outcome_name:
        outcome = nightly.Outcome(outcome_name)
    nights = store.nights(**selection, outcome=outcome, limit=limit)
    lines = [nightly.listing.line(night) for night in nights]
    # If the limit cuts nights off, those that were missed before them are cut off, too.
    line_count = len(lines)
    if line_count == limit:
        selection = selection | {"since": lines[0].started}
    missed_nights = []
    if not outcome_name:
        missed_nights = store.missed_nights(**selection)
    if json:
        console.show_json(answers.ListedNights(tuple(lines), tuple(missed_nights)))
        return
    pins = store.list_pins()
    columns, rows = nightly.listing.table_of(lines, missed_nights, pins)
    nights_text = _count_nights(len(lines))
    console.measurements(nights_text, columns, rows)


def _show_series(
    store: "nightly.Store", selection: dict[str, Any], limit: int, *, json: bool
) -> None:
    all_series: list[nightly.Series] = []
    for series in store.require_series(**selection):
        last_points = series.points[-limit:]
        all_series.append(replace(series, points=last_points))
    if json:
        console.show_json(answers.Entries(tuple(all_series)))
        return
    blank: list[str] = []
    for series in all_series:
        if selection["metric"] or any(point.pairs for point in series.points):
            series_parts = nightly.listing.series_table(series)
            console.measurements(*series_parts)
        else:
            blank.append(f"{series.capture} {series.metric}")
    if blank:
        console.show_hint(f"No night has a value of: {', '.join(blank)}.")


def _draw(
    store: "nightly.Store",
    url: str,
    selection: dict[str, Any],
    series_filter: dict[str, Any],
    page: Path,
) -> None:
    file = nightly.place.file_of(url)
    history_folder = None
    if file:
        history_folder = file.parent
    drawn_series = store.require_series(**selection, **series_filter)
    current_time = make_timestamp()
    html = nightly.draw_trend(
        store,
        drawn_series,
        page,
        history_folder=history_folder,
        now=current_time,
        **selection,
    )
    content = html.encode()
    files.write_whole(page, content)
    console.show_written(page)
