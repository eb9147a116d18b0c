"""What all schedulers of the system have in common, and how their programs are asked."""

import shlex
from dataclasses import dataclass
from datetime import time
from pathlib import Path
from typing import Protocol

from tracekit.base.errors import ToolError
from tracekit.nightly.schedule.job import Job
from tracekit.record.xctrace.command import Completed, ending, run

SECONDS = 60.0


@dataclass(frozen=True)
class Installed:
    """A job that a scheduler was given, as its own files say.

    Attributes:
        method: launchd, systemd or cron.
        label: What the scheduler calls it.
        file: The file that says when; the user's crontab has none that is ours.
        at: When nights are due.
        since: When it was installed, ISO 8601; empty where it is not known.
        log: What takes what nights print; None where it is not known.
    """

    method: str
    label: str
    file: Path | None
    at: time
    since: str = ""
    log: Path | None = None


@dataclass(frozen=True)
class Standing:
    """What a scheduler says of a job now.

    Attributes:
        loaded: Whether it will start it; None where that could not be found out.
        last_exit: The exit code of the last night that it started; None where it is not known.
        words: What else is to be said, such as why something is not known.
    """

    loaded: bool | None
    last_exit: int | None = None
    words: str = ""


class Scheduler(Protocol):
    """A scheduler of the system."""

    @property
    def name(self) -> str:
        """What users call it."""
        ...

    def lacks(self) -> str:
        """Say why it cannot be used here; empty where it can."""
        ...

    def files(self, job: Job) -> dict[Path, bytes]:
        """Return the files that make it run the job."""
        ...

    def install(self, job: Job) -> tuple[str, ...]:
        """Let it run the job from now on, in the place of what it had; return warnings.

        Raises:
            ToolError: It refuses, in its own words; then nothing is left installed anew.
            RecordingError: A file cannot be written.
        """
        ...

    def find(self, plan: Path) -> tuple[Installed, ...]:
        """Return what is installed for the plan of a file."""
        ...

    def remove(self, one: Installed) -> tuple[str, ...]:
        """Take a job away, and all of its files; return warnings."""
        ...

    def standing(self, one: Installed) -> Standing:
        """Ask what becomes of a job."""
        ...


def ask(*argv: str) -> Completed:
    """Run one of a scheduler's programs; raise ToolError where it cannot be started."""
    return run(argv, SECONDS)


def refused(completed: Completed, what: str, hint: str) -> ToolError:
    """Say that a program refused, in its own words."""
    said = " ".join(completed.text.split()) or "It said nothing."
    line = shlex.join(completed.argv)
    return ToolError(
        f"{what}: `{line}` failed with {ending(completed.returncode)}: {said}", hint=hint
    )
