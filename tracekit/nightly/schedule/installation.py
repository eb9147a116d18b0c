"""The schedule of a plan's nights: how to install it, look at it, and remove it."""

import sys
from dataclasses import dataclass, replace
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Literal

from tracekit.base import ToolError, UsageError, system
from tracekit.machine import find_launchd_obstacle, look
from tracekit.nightly.folder import make_output
from tracekit.nightly.history.listing import NightSummary, last_course
from tracekit.nightly.history.night import moment_in
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.schedule import schedulers
from tracekit.nightly.schedule.job import (
    EARLY,
    Job,
    find_unserved_times,
    job_of,
    next_due,
    time_of_day,
)
from tracekit.nightly.schedule.launchd_rehearsal import rehearse_under_launchd
from tracekit.nightly.schedule.running import runs_in
from tracekit.nightly.schedule.schedulers import Installed, Launchd, Scheduler, Standing, Systemd
from tracekit.record import Progress, quiet, run

_SECONDS = 120.0
_CRON_LONGEST = 998  # the most bytes of a line that every cron takes
_USUAL = time(2, 30)
_PATIENCE = timedelta(minutes=15)  # after a due time, before its night counts as missed

Method = Literal["auto", "launchd", "systemd", "cron"]


@dataclass(frozen=True)
class Installation:
    """The things that were installed, or would be; `next` is the time of the next night, in UTC.

    The `files` make the scheduler, which is the `method`, run the job; for cron it is a `line`.
    """

    method: str
    job: Job
    files: dict[Path, bytes]
    line: str
    next: datetime
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scheduled:
    """The state of a plan's schedule.

    `standing` is the schedulers' state of each job of `installed`, in the same order. `next` is the
    next due time; `missed` are the due times since the last night at which none started. All times
    are in UTC.
    """

    installed: tuple[Installed, ...]
    standing: tuple[Standing, ...]
    next: datetime | None
    last: NightSummary | None
    running: bool
    missed: tuple[datetime, ...]
    remarks: tuple[str, ...] = ()


def choose_time(plan: NightPlan, text: str | None) -> time:
    """Return the time at which a plan's nights start: the given one, else as installed, or 02:30.

    Raise UsageError for a text that is not a time of day.
    """
    if text is not None:
        return time_of_day(text)
    for _, installed in _find_jobs(plan.file):
        return installed.at
    return _USUAL


def preview(plan: NightPlan, clock_time: time, method: Method = "auto") -> Installation:
    """Return the installation that `install` would make, and change nothing; raise as it does."""
    system.require_processes("A night")
    scheduler, warnings = _chosen(method)
    job = job_of(plan, clock_time)
    next_time = next_due(clock_time, datetime.now(UTC))
    if isinstance(scheduler, Launchd):
        _require_reach(plan, job)
    if scheduler is not None:
        files = schedulers.files_of(scheduler, job)
        return Installation(scheduler.name, job, files, "", next_time, warnings)
    line = schedulers.cron_line(job)
    advice = "put the line into your crontab with `crontab -e`."
    size = len(line.encode())
    if size > _CRON_LONGEST:
        limit = f"many crons take no line of {size} bytes, {_CRON_LONGEST} is the most"
        advice = f"{limit}. Ask again with fewer folders in PATH."
    advice = f"Nothing is installed yet: {advice}"
    return Installation("cron", job, {}, line, next_time, (*warnings, advice))


def install(
    plan: NightPlan, clock_time: time, method: Method = "auto", progress: Progress = quiet
) -> Installation:
    """Let a plan's nights start at `clock_time` of every day, in place of any earlier schedule.

    `auto` is launchd on macOS, systemd if it runs for this user, else a line for cron. launchd
    rehearses first. On failure the earlier schedule remains installed.
    """
    planned = preview(plan, clock_time, method)
    _require_quiet(planned.job.log.parent)
    make_output(planned.job.log.parent, exist_ok=True)
    _rehearse(planned.job)
    warnings = list(planned.warnings)
    for scheduler in _all():
        if isinstance(scheduler, Launchd) and planned.method == scheduler.name:
            progress("launchd rehearses: the doctor, and a capture of two seconds")
            warnings += rehearse_under_launchd(scheduler, planned.job)
    for scheduler in _all():
        if scheduler.name == planned.method:
            warnings += schedulers.add(scheduler, planned.job)
        else:
            for old in schedulers.find(scheduler, planned.job.plan):
                warnings += schedulers.remove(scheduler, old.label)
    return replace(planned, warnings=tuple(warnings))


def _require_reach(plan: NightPlan, job: Job) -> None:
    """Raise UsageError if launchd may not read the plan, its output or the interpreter."""
    for words, path in (
        ("The plan", plan.file),
        ("The output", job.log.parent),
        ("The interpreter", Path(job.argv[0])),
    ):
        obstacle = find_launchd_obstacle(path, Path.home())
        if obstacle:
            raise UsageError(
                f"{words} {path} cannot be used by launchd: {obstacle}.",
                hint="Move it into another folder of your home.",
            )


def _rehearse(job: Job) -> None:
    """Start tracekit in the environment of a night; raise ToolError if that fails."""
    variables = [f"{name}={value}" for name, value in job.environment.items()]
    command = ("/usr/bin/env", "-i", *variables, *job.argv[:4], "--version")
    done = run(command, _SECONDS)
    if done.returncode != 0:
        raise ToolError(
            f"tracekit does not start in the bare environment of a night:\n{done.stderr.strip()}",
            hint=f"Install tracekit into the environment of {job.argv[0]}.",
        )


def uninstall(file: Path) -> tuple[tuple[Installed, ...], tuple[str, ...]]:
    """Remove the jobs of a plan's file, which may be gone; return the jobs, and warnings."""
    scheduled_jobs = _find_jobs(file)
    for _, job in scheduled_jobs:
        if job.log is not None:
            _require_quiet(job.log.parent)
    warnings: list[str] = []
    for scheduler, job in scheduled_jobs:
        warnings += schedulers.remove(scheduler, job.label)
    return tuple(job for _, job in scheduled_jobs), tuple(warnings)


def status(plan: NightPlan, current_time: datetime | None = None) -> Scheduled:
    """Return the state of a plan's schedule, and of its nights."""
    current_time = current_time or datetime.now(UTC)
    scheduled_jobs = _find_jobs(plan.file)
    installed = tuple(job for _, job in scheduled_jobs)
    last_night = last_course(plan.output, plan.name)
    running = runs_in(plan.output)
    next_time = None
    missed: list[datetime] = []
    if installed:
        job = installed[0]
        next_time = next_due(job.at, current_time)
        last_started = last_night.start_time if last_night else None
        since = moment_in(job.since)
        latest_due = current_time - _PATIENCE
        missed = find_unserved_times(job.at, last_started, latest_due, since)
        if running:
            missed = missed[:-1]
    standing = [schedulers.standing(scheduler, job) for scheduler, job in scheduled_jobs]
    return Scheduled(
        installed=installed,
        standing=tuple(standing),
        next=next_time,
        last=last_night,
        running=running,
        missed=tuple(missed),
        remarks=_find_remarks(installed),
    )


def _find_remarks(installed: tuple[Installed, ...]) -> tuple[str, ...]:
    """Return remarks on the machine of nights that launchd starts."""
    is_launchd = any(job.method == Launchd.name for job in installed)
    if is_launchd and look().readings.get("low_power"):
        return ("Low power mode is on: a night measures a machine that is held back.",)
    return ()


def find_missed_times(
    plan: NightPlan, last_started: datetime | None, current_time: datetime
) -> list[datetime]:
    """Return the due times that passed without a night, if one starts at `current_time`; in UTC.

    The due time right before `current_time` is the one that this night is for, however late it is.
    Nothing was due before a schedule was installed, or without one.
    """
    for _, installed in _find_jobs(plan.file):
        since = moment_in(installed.since)
        latest_due = current_time + EARLY
        return find_unserved_times(installed.at, last_started, latest_due, since)[:-1]
    return []


def _all() -> tuple[Scheduler, ...]:
    if not system.has_processes():
        return ()
    return (Launchd(), Systemd())


def _find_jobs(file: Path) -> list[tuple[Scheduler, Installed]]:
    """Return the jobs of a plan's file, each with its scheduler."""
    plan = file.absolute()
    scheduled_jobs: list[tuple[Scheduler, Installed]] = []
    for scheduler in _all():
        scheduled_jobs += [(scheduler, job) for job in schedulers.find(scheduler, plan)]
    return scheduled_jobs


def _chosen(method: Method) -> tuple[Scheduler | None, tuple[str, ...]]:
    """Return the scheduler, None for cron, and a warning if it is not the system's own."""
    name = method
    if method == "auto":
        name = "launchd" if sys.platform == "darwin" else "systemd"
    schedulers_by_name = {scheduler.name: scheduler for scheduler in _all()}
    scheduler = schedulers_by_name.get(name)
    if scheduler is None:
        return None, ()
    obstacle = scheduler.lacks()
    if not obstacle:
        return scheduler, ()
    warning = f"{name} cannot be used here: {obstacle}."
    if method != "auto":
        raise ToolError(warning, hint="--method cron prints a line for a crontab.")
    return None, (warning,)


def _require_quiet(output: Path) -> None:
    """Raise ToolError while a night runs, because a scheduler would stop it."""
    if runs_in(output):
        raise ToolError(
            f"A night runs now, in {output}; its scheduler would stop it.",
            hint="Wait for its end. `tracekit nightly status` tells.",
        )
