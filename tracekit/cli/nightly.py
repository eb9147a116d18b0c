"""`nightly`: measure, judge and keep a plan's captures; rehearse, schedule and show its nights."""

from datetime import datetime
from pathlib import Path
from textwrap import shorten
from typing import Annotated, Literal

import typer

from tracekit import nightly
from tracekit.base import TracekitError, UsageError, units
from tracekit.cli import answers, console, options
from tracekit.cli.gate import show_report
from tracekit.cli.options import argument, flag, option

PlanFile = Annotated[Path | None, argument("CONFIG", "The plan's file.  [default: the nearest]")]

_REASON = 200  # characters


At = Annotated[
    str | None,
    option(
        "HH:MM",
        "Time of day, on this machine's clock.  [default: as it is installed, else 02:30]",
    ),
]
Method = Annotated[
    Literal["auto", "launchd", "systemd", "cron"],
    typer.Option(help="Scheduler of the nights; cron prints a line for your crontab."),
]
InstallDryRun = Annotated[bool, flag("--dry-run", "Print the files; install nothing.")]


def install(
    config: PlanFile = None,
    *,
    at: At = None,
    method: Method = "auto",
    dry_run: InstallDryRun = False,
    json: options.Json = False,
) -> None:
    """Schedule a plan's nights, every day.

    Installs a LaunchAgent on macOS and a systemd user timer on Linux; on a machine with neither, it
    prints a line for cron. The schedule starts the Python that runs this command, without a shell,
    in an environment that contains only PATH, HOME, the language, DEVELOPER_DIR and TRACEKIT_* as
    they are now. Installing again replaces the plan's earlier schedule.

    launchd rehearses first: it runs the doctor and a capture of two seconds, once, in the plan's
    output. Nothing is installed if that fails, or if macOS denies launchd's jobs the folder of the
    plan, of its output or of the interpreter: Documents, Desktop, Downloads, other volumes.
    """
    plan = nightly.read_plan(config)
    time_of_day = nightly.installation.choose_time(plan, at)
    if dry_run:
        planned = nightly.installation.preview(plan, time_of_day, method)
    else:
        with console.progress("install") as progress:
            planned = nightly.installation.install(plan, time_of_day, method, progress)
    if json:
        document = answers.InstalledSchedule(
            files={str(file): content.decode() for file, content in planned.files.items()},
            line=planned.line,
            next=planned.next.isoformat(),
            log=str(planned.job.log),
            warnings=tuple(planned.warnings),
        )
        console.show_json(document)
        return
    for file, content in planned.files.items():
        if dry_run:
            console.show_line(f"# {file}")
            console.show_line(content.decode())
        else:
            console.show_written(file)
    if planned.line:
        console.show_line(planned.line)
    elif not dry_run:
        console.show_line(f"next night   {_moment(planned.next)}")
        console.show_line(f"log          {planned.job.log}")
    console.show_warnings(planned.warnings)


def status(config: PlanFile = None, *, json: options.Json = False) -> None:
    """Show the next night, the last one and missed ones.

    Shows the installed schedule, its state in the scheduler, and the nights in the plan's output
    folder.
    """
    from msgspec import to_builtins

    plan = nightly.read_plan(config, work=False)
    schedule_status = nightly.installation.status(plan)
    if json:
        console.show_json(to_builtins(schedule_status, enc_hook=str))
    else:
        _show_status(plan, schedule_status)


def uninstall(config: PlanFile = None, *, json: options.Json = False) -> None:
    """Remove the schedule of a plan's nights.

    Nights, their log and the history stay.
    """
    try:
        file = nightly.read_plan(config, work=False).file
    except TracekitError:
        if config is None:
            raise
        file = config  # the schedule can be removed even if the plan is gone or broken
    jobs, warnings = nightly.installation.uninstall(file)
    if json:
        removed_jobs = tuple(answers.RemovedJob(job.method, str(job.file)) for job in jobs)
        console.show_json(answers.RemovedSchedule(removed_jobs, tuple(warnings)))
        return
    for job in jobs:
        console.show_line(f"removed  {job.method}, {job.file}")
    if not jobs:
        console.show_line(f"No nights of {file} are installed.")
        console.show_hint("A line in a crontab is taken out by hand: crontab -e")
    console.show_warnings(warnings)


def _show_status(
    plan: "nightly.NightPlan", schedule_status: "nightly.installation.Scheduled"
) -> None:
    installed_lines = _installed_lines(schedule_status)
    plan_text = f"{plan.name}, {plan.file}"
    lines = [("plan", plan_text), *installed_lines]
    if schedule_status.next is not None:
        lines.append(("next night", _moment(schedule_status.next)))
    if schedule_status.running:
        lines.append(("now", "a night runs"))
    last_night = "none yet"
    if schedule_status.last:
        last_night = _describe_night(schedule_status.last)
    lines.append(("last night", last_night))
    if schedule_status.missed:
        missed_nights = schedule_status.missed[-7:]
        recent_times = [_moment(night) for night in missed_nights]
        times = ", ".join(recent_times)
        missed_count = len(schedule_status.missed)
        lines.append(("missed", f"{missed_count} since then: {times}"))
    for name, words in lines:
        console.show_line(f"{name:<11}  {words}")
    console.show_warnings(schedule_status.remarks)


def _installed_lines(schedule_status: "nightly.installation.Scheduled") -> list[tuple[str, str]]:
    """Return the names and words of each installed job, or that there is none."""
    lines: list[tuple[str, str]] = []
    job_states = zip(schedule_status.installed, schedule_status.standing, strict=True)
    for job, standing in job_states:
        job_text = f"{job.at:%H:%M} every day, {job.method}, {job.file}"
        lines.append(("installed", job_text))
        loaded_words = {True: "yes", False: "no", None: "not known"}
        loaded = loaded_words[standing.loaded]
        if standing.words:
            loaded = f"{loaded}; {standing.words}"
        lines.append(("loaded", loaded))
        if standing.last_exit is not None:
            lines.append(("last exit", f"exit code {standing.last_exit}"))
        if job.log is not None:
            lines.append(("log", str(job.log)))
    if not schedule_status.installed:
        lines.append(("installed", "no; `tracekit nightly install --at 02:30` does it"))
    return lines


def _describe_night(night: "nightly.listing.NightSummary") -> str:
    words: str = night.outcome or "not judged"
    if not night.outcome and not night.ended:
        words = "not ended"
    if night.partial:
        words = f"{words}, partial"
    if night.reason:
        reason = shorten(night.reason, _REASON, placeholder=" …")
        words = f"{words}: {reason}"
    started = night.started
    if night.start_time:
        started = _moment(night.start_time)
    return f"{started}, {words}"


def _moment(moment: datetime) -> str:
    return f"{moment.astimezone():%Y-%m-%d %H:%M}"


Config = Annotated[
    Path | None,
    argument(
        "CONFIG",
        "The plan's file.  [default: the nearest tracekit.toml, or pyproject.toml that has "
        "one, from here upwards]",
    ),
]
DryRun = Annotated[
    bool, flag("--dry-run", "Print the planned work and its duration; change nothing.")
]
NewConfig = Annotated[
    Path | None, argument("[FILE]", "New plan to write.  [default: tracekit.toml]")
]
NoHistory = Annotated[bool, flag("--no-history", "Keep the night out of the history.")]


def run(
    config: Config = None,
    *,
    dry_run: DryRun = False,
    capture: options.Captures = None,
    bisect: options.Bisect = False,
    no_history: NoHistory = False,
    json: options.Json = False,
    open_page: options.OpenPage = False,
) -> None:
    """Measure a plan's captures against their references.

    Parity and checks come first. Then candidate and reference are measured in turns, pair by pair,
    while the machine's state is checked, and traced. A regression is a change for the worse whose
    interval lies beyond the plan's threshold, or that lies beyond it and is found again in a second
    session.

    A night is measured even if its history cannot be used: it stays in its folder, and the next
    night or `tracekit nightly history sync` adds it.

    Exit code 0: nothing is worse; 1: a regression; 2: the plan or the command line is wrong; 3:
    something failed, such as parity, or the history could not keep the night; 4: inconclusive or
    nothing judged, with the reason; 130: stopped.
    """
    del bisect  # the exit code is mapped once the command has ended, whatever ends it

    plan = nightly.read_plan(config)
    if dry_run:
        _show_dry_run(plan, capture or [], json=json)
        return
    names = None
    if capture:
        chosen = plan.select_captures(capture).captures
        names = [chosen_capture.name for chosen_capture in chosen] or None
    failed = None
    estimate = nightly.dry_run.estimate(plan if names is None else plan.select_captures(names))
    words = f"measures for about {units.span(estimate.seconds)}"
    console.announce(f"{words}, and for at most {units.span(plan.budget)}", estimate.seconds)
    try:
        with console.progress("nightly") as progress:
            night = nightly.run.run_night(
                plan, captures=names, keep=not no_history, progress=progress
            )
    except nightly.memory.NotKeptError as error:
        failed = error
        night = error.night
    _show(plan, night, failed, json=json, open_page=open_page)


def init(config: NewConfig = None, *, json: options.Json = False) -> None:
    """Write a plan to begin with: its captures and their references."""
    starter = nightly.document.write_starter(config) if config else nightly.document.write_starter()
    console.show_files([starter], json=json)
    console.show_hint("Change what it measures, then look: tracekit nightly run --dry-run")
    console.show_hint(
        "Will it see a slowdown on this machine? In three minutes: tracekit nightly rehearse"
    )


def _show(
    plan: "nightly.NightPlan",
    night: "nightly.Night",
    failed: "nightly.memory.NotKeptError | None" = None,
    *,
    json: bool,
    open_page: bool,
) -> None:
    """Show a night and exit with its code; a regression comes before a later failure."""
    night_folder = plan.output / night.id
    folder = nightly.NightFolder(night_folder)
    stored = night.kept and (failed is None or failed.stored)
    if json:
        console.show_json(_document(night, failed, stored=stored))
    else:
        report = nightly.of_night(night, plan)
        show_report(report)
        for note in nightly.run.notes(night):
            console.show_hint(note)
        console.show_warnings(report.warnings)
        console.show_written(folder.document)
        if stored and failed is None and folder.page.exists():
            console.show_hint(f"All nights on one page: {folder.page}")
    if open_page and folder.page.exists():
        typer.launch(folder.page.resolve().as_uri())
    if failed is not None and night.outcome is nightly.Outcome.REGRESSION:
        console.show_error(failed.message, failed.hint, failed.exit_code)
    elif failed is not None:
        raise failed
    outcome = night.outcome or nightly.Outcome.FAILED
    raise typer.Exit(outcome.exit_code)


def _document(
    night: "nightly.Night", failed: "nightly.memory.NotKeptError | None", *, stored: bool
) -> dict[str, object]:
    """Return a night for JSON, with `history`: whether it is stored there, else the reason."""
    from msgspec import to_builtins

    reason = ""
    if failed is not None:
        reason = failed.cause
    elif not night.kept:
        reason = "--no-history keeps it out."
    history = {"stored": stored, "reason": reason}
    night_document = to_builtins(night)
    return {**night_document, "history": history}


def rehearse(
    config: Config = None, *, capture: options.Captures = None, json: options.Json = False
) -> None:
    """Measure the noise here, and whether the plan would see a slowdown.

    It takes about three minutes, and ends with the lines to add to the plan. Nothing is kept.
    """
    plan = nightly.read_plan(config)
    if capture:
        plan = plan.select_captures(capture)
    with console.progress("rehearsal") as progress:
        rehearsals = nightly.rehearsal.rehearse_plan(plan, progress=progress)
    if json:
        console.show_json(answers.Entries(rehearsals))
        return
    for rehearsal in rehearsals:
        for line in nightly.rehearsal.rehearsal_lines(rehearsal):
            console.show_line(line)
    lines = nightly.rehearsal.offered_lines(rehearsals)
    if lines:
        console.show_hint(f"Let {plan.file.name} say:")
        for line in lines:
            console.show_line(f"    {line}")


def _show_dry_run(plan: "nightly.NightPlan", names: list[str], *, json: bool) -> None:
    if names:
        plan = plan.select_captures(names)
    preview = nightly.dry_run.preview_night(plan)
    if json:
        console.show_json(preview)
    else:
        least_span = units.span(preview.estimate.seconds)
        most_span = units.span(preview.estimate.most)
        lasts = f"{least_span} … {most_span}"
        budget_span = units.span(plan.budget)
        title = f"{plan.name}: {lasts} of {budget_span}"
        rows = nightly.dry_run.rows(plan, preview.estimate)
        console.measurements(title, nightly.dry_run.COLUMNS, rows)
        sentences = (*preview.estimate.assumptions, *preview.remarks)
        for sentence in sentences:
            console.show_hint(sentence)
    if preview.obstacles:
        raise UsageError("\n".join(preview.obstacles), hint="The night would fail there.")
