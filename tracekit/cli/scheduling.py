"""`nightly install`, `status` and `uninstall`: nights that come by themselves."""

from datetime import datetime
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from tracekit.nightly.history.course import Course
    from tracekit.nightly.plan.plan import NightPlan
    from tracekit.nightly.schedule.schedule import Installation, Scheduled
    from tracekit.nightly.schedule.scheduler import Installed, Standing

PlanFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="CONFIG", help="The plan's file.  [default: the nearest]", show_default=False
    ),
]
At = Annotated[str, typer.Option(metavar="HH:MM", help="When, on this machine's clock.")]
Method = Annotated[
    Literal["auto", "launchd", "systemd", "cron"],
    typer.Option(help="Who starts nights; cron prints a line for your crontab."),
]
InstallDryRun = Annotated[bool, typer.Option("--dry-run", help="Print what would be installed.")]
StatusJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of words.")]

_REASON = 200  # characters


def install(
    config: PlanFile = None,
    *,
    at: At,
    method: Method = "auto",
    dry_run: InstallDryRun = False,
) -> None:
    """Let a plan's nights begin by themselves, every day.

    On macOS a LaunchAgent, on Linux a timer of your systemd; where there is neither, a line for
    cron is printed. It starts the Python that runs this command, without a shell, in an
    environment that holds only what is written down now: PATH, HOME, the language, DEVELOPER_DIR
    and TRACEKIT_*. Installing again takes the place of what was installed for the plan.
    """
    from tracekit.nightly import schedule
    from tracekit.nightly.plan.reading import read_plan

    plan, due = read_plan(config), schedule.time_of_day(at)
    if dry_run:
        _preview(schedule.preview(plan, due, method))
    else:
        _show_installed(schedule.install(plan, due, method))


def status(config: PlanFile = None, *, json: StatusJson = False) -> None:
    """Tell of the next night, the last one and missed ones.

    Whether a night that is due really begins is the scheduler's business: this says what it was
    given, what it says of itself, and what nights there are in the plan's output.
    """
    from msgspec import to_builtins

    from tracekit.cli import console
    from tracekit.nightly import schedule
    from tracekit.nightly.plan.reading import read_plan

    plan = read_plan(config, work=False)
    known = schedule.status(plan)
    if json:
        console.show_json(to_builtins(known, enc_hook=str))
    else:
        _show_status(plan, known)


def uninstall(config: PlanFile = None) -> None:
    """Let a plan's nights begin no more by themselves.

    The nights there are, their log and the history stay.
    """
    from tracekit.base.errors import TracekitError
    from tracekit.cli import console
    from tracekit.nightly import schedule
    from tracekit.nightly.plan.reading import read_plan

    try:
        file = read_plan(config, work=False).file
    except TracekitError:
        if config is None:
            raise
        file = config  # what starts it can be taken away even where the plan is gone or broken
    found, warnings = schedule.uninstall(file)
    for one in found:
        console.show_line(f"removed  {_place(one)}")
    if not found:
        console.show_line(f"No nights of {file} are installed.")
        console.show_hint("A line in a crontab is taken out by hand: crontab -e")
    console.show_warnings(warnings)


def _preview(one: "Installation") -> None:
    from tracekit.cli import console

    for file, content in one.files.items():
        console.show_line(f"# {file}")
        console.show_line(content.decode())
    if one.line:
        console.show_line(one.line)
    console.show_warnings(one.warnings)


def _show_installed(one: "Installation") -> None:
    from tracekit.cli import console

    for file in one.files:
        console.show_written(file)
    if one.line:
        console.show_line(one.line)
    else:
        console.show_line(f"next night   {_moment(one.next)}")
        console.show_line(f"log          {one.job.log}")
    console.show_warnings(one.warnings)


def _show_status(plan: "NightPlan", known: "Scheduled") -> None:
    from tracekit.cli import console

    lines = [("plan", f"{plan.name}, {plan.file}")]
    for one, standing in zip(known.installed, known.standing, strict=True):
        lines += [("installed", f"{one.at:%H:%M} every day, {_place(one)}")]
        lines += [("loaded", _loaded(standing))]
        if standing.last_exit is not None:
            lines.append(("last exit", f"exit code {standing.last_exit}"))
        if one.log is not None:
            lines.append(("log", str(one.log)))
    if not known.installed:
        lines.append(("installed", "no; `tracekit nightly install --at 02:30` does it"))
    if known.next is not None:
        lines.append(("next night", _moment(known.next)))
    if known.running:
        lines.append(("now", "a night runs"))
    lines.append(("last night", _last(known.last) if known.last else "none yet"))
    if known.missed:
        times = ", ".join(_moment(one) for one in known.missed[-7:])
        lines.append(("missed", f"{len(known.missed)} since then: {times}"))
    for name, words in lines:
        console.show_line(f"{name:<11}  {words}")


def _loaded(standing: "Standing") -> str:
    words = {True: "yes", False: "no", None: "not known"}[standing.loaded]
    return f"{words}; {standing.words}" if standing.words else words


def _last(night: "Course") -> str:
    words = night.outcome or ("not ended" if not night.ended else "not judged")
    if night.partial:
        words = f"{words}, partial"
    if night.reason:
        reason = shorten(night.reason, _REASON, placeholder=" …")
        words = reason if reason.lower().startswith(words) else f"{words}: {reason}"
    began = night.began
    return f"{_moment(began) if began else night.started}, {words}"


def _place(one: "Installed") -> str:
    return f"{one.method}, {one.file}" if one.file is not None else f"{one.method}, {one.label}"


def _moment(at: datetime) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M}"
