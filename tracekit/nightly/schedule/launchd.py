"""A LaunchAgent: launchd of macOS starts the nights.

What is used of it is documented in launchd.plist(5) and launchctl(1). Of `launchctl print` the
manual says that its output is for people; the exit code of the last night is read from it where
it can be, and is not known where it cannot.
"""

import os
import plistlib
import re
import shutil
import time as clock
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import time
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

from tracekit.base import write_whole
from tracekit.nightly.schedule.job import SINCE, Job, names_of
from tracekit.nightly.schedule.scheduler import Installed, Standing, ask, refused, said

_STOP_SECONDS = 300  # a trace that is being saved takes that long
_GONE_SECONDS = 30.0
_POLL = 0.2
_EXIT = re.compile(r"^\s*last exit code = (\d+)\b", re.MULTILINE)
_HINT = (
    "Log in at the Mac's own desktop, as the user whose nights they are, and try again there; "
    "System Settings, Login Items, may forbid background items."
)


@dataclass(frozen=True)
class Launchd:
    """launchd, for the user who is logged in at the desktop.

    Attributes:
        folder: Where agents lie.
        domain: What launchctl calls the user's session.
    """

    folder: Path = field(default_factory=lambda: Path.home() / "Library" / "LaunchAgents")
    domain: str = field(default_factory=lambda: f"gui/{os.getuid()}")
    name: str = "launchd"

    def lacks(self) -> str:
        """Say why it cannot be used here."""
        return "" if shutil.which("launchctl") else "there is no launchctl, which macOS has"

    def files(self, job: Job) -> dict[Path, bytes]:
        """Return the property list."""
        return {self.folder / f"{job.label}.plist": plistlib.dumps(property_list(job))}

    def install(self, job: Job) -> tuple[str, ...]:
        """Write the property list and load it."""
        ((file, content),) = self.files(job).items()
        before = file.read_bytes() if file.exists() else None
        for old in self.find(job.plan):
            self._unload(old.label)
        write_whole(file, content)
        load = ("launchctl", "bootstrap", self.domain, str(file))
        answer = ask(*load)
        if answer.returncode != 0:
            if before is None:
                file.unlink(missing_ok=True)
            else:
                write_whole(file, before)
                ask(*load)
            raise refused(answer, "launchd does not take the nights", _HINT)
        for old in self.find(job.plan):
            if old.file is not None and old.file != file:
                old.file.unlink(missing_ok=True)
        return ()

    def find(self, plan: Path) -> tuple[Installed, ...]:
        """Return the agents of a plan's file."""
        found = (_read(path) for path in sorted(self.folder.glob(f"{names_of(plan)}.plist")))
        return tuple(filter(None, found))

    def remove(self, installed: Installed) -> tuple[str, ...]:
        """Unload the agent and remove its file."""
        self._unload(installed.label)
        if installed.file is not None:
            installed.file.unlink(missing_ok=True)
        return ()

    def standing(self, installed: Installed) -> Standing:
        """Ask launchctl."""
        if lacking := self.lacks():
            return Standing(None, words=f"Whether it is loaded is not known: {lacking}.")
        answer = ask("launchctl", "print", f"{self.domain}/{installed.label}")
        if answer.returncode != 0:
            return Standing(loaded=False, words=f"launchctl says: {said(answer)}")
        found = _EXIT.search(answer.stdout)
        return Standing(loaded=True, last_exit=int(found[1]) if found else None)

    def _unload(self, label: str) -> None:
        """Unload an agent that is loaded, and wait until it is gone: launchctl does not."""
        target = f"{self.domain}/{label}"
        if ask("launchctl", "print", target).returncode != 0:
            return
        answer = ask("launchctl", "bootout", target)
        until = clock.monotonic() + _GONE_SECONDS
        while ask("launchctl", "print", target).returncode == 0:
            if clock.monotonic() >= until:
                raise refused(answer, f"launchd does not let go of {label}", _HINT)
            clock.sleep(_POLL)


def property_list(job: Job) -> dict[str, Any]:
    """Return the job for launchd, by the keys of launchd.plist(5).

    ProcessType is Interactive because all others have launchd throttle processor and disk: the
    manual says so of Background, and of Standard, which is the default; Adaptive becomes the
    one or the other. A night that is throttled measures launchd.
    """
    return {
        "Label": job.label,
        "ProgramArguments": list(job.argv),
        "WorkingDirectory": str(job.folder),
        "EnvironmentVariables": dict(job.environment),
        "StandardOutPath": str(job.log),
        "StandardErrorPath": str(job.log),
        "StartCalendarInterval": {"Hour": job.at.hour, "Minute": job.at.minute},
        "ProcessType": "Interactive",
        "ExitTimeOut": _STOP_SECONDS,
        "RunAtLoad": False,
    }


def _read(file: Path) -> Installed | None:
    """Read an agent of ours; None where the file is none."""
    with suppress(OSError, ValueError, LookupError, TypeError, ExpatError, AttributeError):
        found = plistlib.loads(file.read_bytes())
        due = found["StartCalendarInterval"]
        return Installed(
            method="launchd",
            label=str(found["Label"]),
            file=file,
            at=time(due["Hour"], due["Minute"]),
            since=str(found["EnvironmentVariables"].get(SINCE, "")),
            log=Path(found["StandardOutPath"]),
        )
    return None
