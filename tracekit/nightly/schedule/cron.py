"""A line for cron, to be put into a crontab by hand: nobody's crontab is edited."""

import re
import shlex
import shutil
from dataclasses import dataclass
from datetime import time
from pathlib import Path

from tracekit.nightly.schedule.job import SINCE, Job, digest_of
from tracekit.nightly.schedule.scheduler import Installed, Standing, ask


@dataclass(frozen=True)
class Cron:
    """The cron of a user; it is looked into, and never changed."""

    name: str = "cron"

    def lacks(self) -> str:
        """A line can always be printed."""
        return ""

    def files(self, job: Job) -> dict[Path, bytes]:
        """There are none."""
        del job
        return {}

    def install(self, job: Job) -> tuple[str, ...]:
        """Do nothing but say what to do; `line` is what is to be put into the crontab."""
        del job
        return ("Nothing is installed yet: put the line into your crontab with `crontab -e`.",)

    def find(self, plan: Path) -> tuple[Installed, ...]:
        """Return the lines of the user's crontab that run the plan of a file."""
        if shutil.which("crontab") is None:
            return ()
        found = (_read(one, digest_of(plan)) for one in ask("crontab", "-l").stdout.splitlines())
        return tuple(one for one in found if one is not None)

    def remove(self, one: Installed) -> tuple[str, ...]:
        """Do nothing but say what to do."""
        return (f"Remove the line that ends in {one.label} with `crontab -e`.",)

    def standing(self, one: Installed) -> Standing:
        """Say what is known: that the line is there."""
        del one
        return Standing(loaded=None, words="The crontab has it; whether cron runs is not known.")


def line(job: Job) -> str:
    """Return the line of a job; a `%` would end the command, so it has a backslash."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in job.environment.items()]
    command = (
        f"cd {shlex.quote(str(job.folder))} && /usr/bin/env -i {' '.join(variables)} "
        f"{shlex.join(job.argv)} >> {shlex.quote(str(job.log))} 2>&1 # {job.label}"
    )
    escaped = command.replace("%", "\\%")
    return f"{job.at.minute} {job.at.hour} * * * {escaped}"


def _read(text: str, digest: str) -> Installed | None:
    found = re.match(
        rf"\s*(\d+) (\d+) \* \* \* .* # (tracekit\.nightly\.[\w-]*\.{digest})\s*$", text
    )
    if found is None or int(found[1]) > 59 or int(found[2]) > 23:  # noqa: PLR2004  a clock
        return None
    since = re.search(rf"{SINCE}=(\S+)", text)
    at = time(int(found[2]), int(found[1]))
    return Installed("cron", found[3], None, at, since[1] if since else "")
