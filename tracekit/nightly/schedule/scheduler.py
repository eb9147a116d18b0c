"""What all schedulers of the system have in common; a line for cron."""

import re
import shlex
import shutil
from dataclasses import dataclass
from datetime import time
from pathlib import Path

from tracekit.base import ToolError, exit_words
from tracekit.nightly.schedule.job import SINCE, Job, digest_of
from tracekit.record import Completed, run

SECONDS = 60.0


@dataclass(frozen=True)
class Installed:
    """A job that a scheduler, the `method`, was given, as its own files say.

    Its `file` says when; the user's crontab has none that is ours. `since` is when it was
    installed, ISO 8601, empty where that is not known; nights print into the `log`.
    """

    method: str
    label: str
    file: Path | None
    at: time
    since: str = ""
    log: Path | None = None


@dataclass(frozen=True)
class Standing:
    """What a scheduler says of a job: whether it will start it, and how the last night exited.

    What could not be found out is None; `words` may say why.
    """

    loaded: bool | None
    last_exit: int | None = None
    words: str = ""


def ask(*argv: str) -> Completed:
    """Run one of a scheduler's programs; raise ToolError where it cannot be started."""
    return run(argv, SECONDS)


def said(completed: Completed) -> str:
    """Return what a program said, on one line."""
    return " ".join(completed.text.split())


def refused(completed: Completed, what: str, hint: str) -> ToolError:
    """Say that a program refused, in its own words."""
    line, code = shlex.join(completed.argv), exit_words(completed.returncode)
    words = said(completed) or "It said nothing."
    return ToolError(f"{what}: `{line}` failed with {code}: {words}", hint=hint)


@dataclass(frozen=True)
class Cron:
    """The cron of a user; it is looked into, and never changed."""

    name: str = "cron"

    def lacks(self) -> str:
        """A line can always be printed."""
        return ""

    def files(self, _job: Job) -> dict[Path, bytes]:
        """There are none."""
        return {}

    def install(self, _job: Job) -> tuple[str, ...]:
        """Do nothing but say what to do."""
        return ("Nothing is installed yet: put the line into your crontab with `crontab -e`.",)

    def find(self, plan: Path) -> tuple[Installed, ...]:
        """Return the lines of the user's crontab that run the plan of a file."""
        if shutil.which("crontab") is None:
            return ()
        found = (_read(line, digest_of(plan)) for line in ask("crontab", "-l").stdout.splitlines())
        return tuple(filter(None, found))

    def remove(self, installed: Installed) -> tuple[str, ...]:
        """Do nothing but say what to do."""
        return (f"Remove the line that ends in {installed.label} with `crontab -e`.",)

    def standing(self, _installed: Installed) -> Standing:
        """Say what is known: that the line is there."""
        return Standing(loaded=None, words="The crontab has it; whether cron runs is not known.")


def cron_line(job: Job) -> str:
    """Return the line of a job; a `%` would end the command, so it has a backslash."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in job.environment.items()]
    command = (
        f"cd {shlex.quote(str(job.folder))} && /usr/bin/env -i {' '.join(variables)} "
        f"{shlex.join(job.argv)} >> {shlex.quote(str(job.log))} 2>&1 # {job.label}"
    ).replace("%", "\\%")
    return f"{job.at.minute} {job.at.hour} * * * {command}"


def _read(text: str, digest: str) -> Installed | None:
    found = re.match(
        rf"\s*(\d+) (\d+) \* \* \* .* # (tracekit\.nightly\.[\w-]*\.{digest})\s*$", text
    )
    if found is None or int(found[1]) > 59 or int(found[2]) > 23:  # noqa: PLR2004  a clock
        return None
    since = re.search(rf"{SINCE}=(\S+)", text)
    at = time(int(found[2]), int(found[1]))
    return Installed("cron", found[3], None, at, since[1] if since else "")
