"""What a scheduler is to start: a command line, its environment, and when."""

import os
import re
import sys
from dataclasses import dataclass
from datetime import time
from hashlib import blake2b
from pathlib import Path

from tracekit.base.errors import UsageError
from tracekit.base.recording import now
from tracekit.nightly.plan.plan import NightPlan
from tracekit.nightly.schedule.bare_environment import bare_environment, programs_of
from tracekit.nightly.schedule.log_file import LOG

AT, SINCE = "TRACEKIT_NIGHTLY_AT", "TRACEKIT_NIGHTLY_SINCE"
_LONGEST_NAME = 40
_PREFIX = "tracekit.nightly"


@dataclass(frozen=True)
class Job:
    """A night at a time of the day.

    Attributes:
        label: What the scheduler calls it; of a plan's file there is one.
        plan: The plan's file.
        at: When, on the local clock.
        argv: The command line; each program by its whole path.
        environment: All that it sees.
        folder: Where it runs.
        log: What takes what it prints.
        budget: Seconds after which it ends by itself.
    """

    label: str
    plan: Path
    at: time
    argv: tuple[str, ...]
    environment: dict[str, str]
    folder: Path
    log: Path
    budget: float


def job_of(plan: NightPlan, at: time) -> Job:
    """Return the job that runs a plan's nights, as this environment allows.

    Raises:
        UsageError: A path holds a letter that configuration files of schedulers cannot.
    """
    file, output = plan.file.absolute(), plan.output.absolute()
    argv = (os.path.abspath(sys.executable), "-P", "-m", "tracekit", "nightly", str(file))  # noqa: PTH100  a link to it is the environment
    environment = {
        **bare_environment(programs_of(plan)),
        AT: f"{at:%H:%M}",
        SINCE: now(),
    }
    for text in (*argv, str(output), *environment.values()):
        if re.search(r"[\x00-\x1f\x7f]", text):
            raise UsageError(
                f"{text!r} holds a control character, which no scheduler takes.",
                hint="Rename the folder, or unset the variable.",
            )
    label = f"{_PREFIX}.{_slug(plan.name)}.{digest_of(file)}"
    return Job(label, file, at, argv, environment, file.parent, output / LOG, plan.budget)


def digest_of(file: Path) -> str:
    """Return what tells the plan of one file from those of others."""
    return blake2b(str(file.resolve()).encode(), digest_size=4).hexdigest()


def names_of(file: Path) -> str:
    """Return a pattern for the labels of a plan's file, whatever its plan was called."""
    return f"{_PREFIX}.*.{digest_of(file)}"


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9]+", "-", name)[:_LONGEST_NAME].strip("-") or "plan"
