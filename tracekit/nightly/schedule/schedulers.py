"""The schedulers of the system that can start nights: launchd, the systemd of a user, cron.

launchd and systemd read files, so each is described as data: how its files are written and read,
and how its program is asked. What is used of them is documented in launchd.plist(5), launchctl(1),
systemd.timer(5) and systemd.service(5). Of `launchctl print` the manual says that its output is for
people; the exit code of the last night is not known where it cannot be read.
"""

import os
import plistlib
import re
import shlex
import shutil
import time as clock
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import time
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

from tracekit.base import ToolError, exit_words, write_whole
from tracekit.nightly.schedule.job import SINCE, Job, names_of
from tracekit.record import Completed, run

_SECONDS = 60.0
_STOP_SECONDS = 300  # a trace that is being saved takes that long


@dataclass(frozen=True)
class Installed:
    """A job that a scheduler, the `method`, was given, as its own files say.

    Its `file` says when. `since` is when it was installed, ISO 8601, empty where that is not known;
    nights print into the `log`.
    """

    method: str
    label: str
    file: Path
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
    return run(argv, _SECONDS)


def said(completed: Completed) -> str:
    """Return what a program said, on one line."""
    return " ".join(completed.text.split())


def refused(completed: Completed, what: str, hint: str) -> ToolError:
    """Say that a program refused, in its own words."""
    line, code = shlex.join(completed.argv), exit_words(completed.returncode)
    words = said(completed) or "It said nothing."
    return ToolError(f"{what}: `{line}` failed with {code}: {words}", hint=hint)


@dataclass(frozen=True)
class FileScheduler:
    """A scheduler that reads files of its `folder`, called by a job's label and a suffix.

    The first file says when the job is due, and `read` returns it, None where it is none of ours.
    `load` and `unload` ask the scheduler about the files of a label; `unload` and `remarks` return
    warnings, `lacks` why the scheduler cannot be used here. `hint` helps where it refuses.
    """

    name: str
    folder: Path
    suffixes: tuple[str, ...]
    lacks: Callable[[], str]
    contents: Callable[[Job], tuple[bytes, ...]]
    read: Callable[[Path], Installed | None]
    load: Callable[[str], Completed]
    unload: Callable[[str], tuple[str, ...]]
    look: Callable[[str], Standing]
    remarks: Callable[[], tuple[str, ...]]
    hint: str

    def files(self, job: Job) -> dict[Path, bytes]:
        """Return the files of a job, by their paths."""
        return dict(zip(self._paths(job.label), self.contents(job), strict=True))

    def install(self, job: Job) -> tuple[str, ...]:
        """Put a job in the place of what was installed; where it is refused, that comes back."""
        before: dict[str, dict[Path, bytes]] = {}
        for old in self.find(job.plan):
            there = (file for file in self._paths(old.label) if file.exists())
            before[old.label] = {file: file.read_bytes() for file in there}
            self.remove(old.label)
        answer = self._start(job.label, self.files(job))
        if answer.returncode != 0:
            self.remove(job.label)
            for label, files in before.items():
                self._start(label, files)
            raise refused(answer, f"{self.name} does not take the nights", self.hint)
        return self.remarks()

    def find(self, plan: Path) -> tuple[Installed, ...]:
        """Return the jobs of a plan's file."""
        files = sorted(self.folder.glob(f"{names_of(plan)}{self.suffixes[0]}"))
        return tuple(filter(None, map(self.read, files)))

    def remove(self, label: str) -> tuple[str, ...]:
        """Stop a job and remove its files; return warnings."""
        warnings = self.unload(label)
        for file in self._paths(label):
            file.unlink(missing_ok=True)
        return warnings

    def standing(self, installed: Installed) -> Standing:
        """Ask what it does with a job."""
        if lacking := self.lacks():
            return Standing(None, words=f"Whether it is loaded is not known: {lacking}.")
        return self.look(installed.label)

    def _paths(self, label: str) -> list[Path]:
        return [self.folder / f"{label}{suffix}" for suffix in self.suffixes]

    def _start(self, label: str, files: dict[Path, bytes]) -> Completed:
        for file, content in files.items():
            write_whole(file, content)
        return self.load(label)


_GONE_SECONDS = 30.0
_POLL = 0.2
_EXIT = re.compile(r"^\s*last exit code = (\d+)\b", re.MULTILINE)
_LOG_IN = (
    "Log in at the Mac's own desktop, as the user whose nights they are, and try again there; "
    "System Settings, Login Items, may forbid background items."
)


def launchd() -> FileScheduler:
    """Return launchd, for the user who is logged in at the desktop."""
    folder = Path.home() / "Library" / "LaunchAgents"
    return FileScheduler(
        name="launchd",
        folder=folder,
        suffixes=(".plist",),
        lacks=_no_launchctl,
        contents=lambda job: (plistlib.dumps(property_list(job)),),
        read=_read_agent,
        load=lambda label: ask("launchctl", "bootstrap", _domain(), str(folder / f"{label}.plist")),
        unload=_unload_agent,
        look=_agent,
        remarks=tuple,
        hint=_LOG_IN,
    )


def _domain() -> str:
    """Return what launchctl calls the user's session."""
    return f"gui/{os.getuid()}"


def _no_launchctl() -> str:
    return "" if shutil.which("launchctl") else "there is no launchctl, which macOS has"


def _agent(label: str) -> Standing:
    answer = ask("launchctl", "print", f"{_domain()}/{label}")
    if answer.returncode != 0:
        return Standing(loaded=False, words=f"launchctl says: {said(answer)}")
    found = _EXIT.search(answer.stdout)
    return Standing(loaded=True, last_exit=int(found[1]) if found else None)


def _unload_agent(label: str) -> tuple[str, ...]:
    """Unload an agent that is loaded, and wait until it is gone: launchctl does not."""
    target = f"{_domain()}/{label}"
    if ask("launchctl", "print", target).returncode != 0:
        return ()
    answer = ask("launchctl", "bootout", target)
    until = clock.monotonic() + _GONE_SECONDS
    while ask("launchctl", "print", target).returncode == 0:
        if clock.monotonic() >= until:
            raise refused(answer, f"launchd does not let go of {label}", _LOG_IN)
        clock.sleep(_POLL)
    return ()


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


def _read_agent(file: Path) -> Installed | None:
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


_SPARE_SECONDS = 3600  # for a night that does not see that its budget is spent
_CALENDAR = re.compile(r"^OnCalendar=\*-\*-\* (\d{2}):(\d{2}):00$", re.MULTILINE)
_SINCE = re.compile(rf'^Environment="{SINCE}=([^"\\]*)"$', re.MULTILINE)
_LOG = re.compile(r"^StandardOutput=append:(.*)$", re.MULTILINE)


def systemd() -> FileScheduler:
    """Return the systemd of a user."""
    return FileScheduler(
        name="systemd",
        folder=_units(),
        suffixes=(".timer", ".service"),
        lacks=_no_systemctl,
        contents=lambda job: (timer(job).encode(), service(job).encode()),
        read=_read_timer,
        load=_start_timer,
        unload=_stop_timer,
        look=_timer,
        remarks=_without_lingering,
        hint="Log in as the user whose nights they are; or use --method cron.",
    )


def _units() -> Path:
    """Return where the user's units lie."""
    configuration = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(configuration) / "systemd" / "user"


def _no_systemctl() -> str:
    if shutil.which("systemctl") is None:
        return "there is no systemctl"
    answer = _systemctl("show", "--property=Version")
    if answer.returncode == 0:
        return ""
    return f"systemd does not run for this user: {said(answer)}"


def _start_timer(label: str) -> Completed:
    answer = _systemctl("daemon-reload")
    return answer if answer.returncode else _systemctl("enable", "--now", f"{label}.timer")


def _stop_timer(label: str) -> tuple[str, ...]:
    """Stop the timer, and forget when it last ran.

    Else a timer of the same name would start at once, to make up for the past.
    """
    timer = f"{label}.timer"
    warnings: list[str] = []
    if shutil.which("systemctl") is None:
        warnings.append("There is no systemctl to stop the timer with; its files are removed.")
    else:
        answer = _systemctl("disable", "--now", timer)
        if answer.returncode != 0:
            warnings.append(f"systemctl says: {said(answer)}")
        _systemctl("clean", "--what=state", timer)
    (_units() / "timers.target.wants" / timer).unlink(missing_ok=True)
    return tuple(warnings)


def _timer(label: str) -> Standing:
    timer = _properties(f"{label}.timer", "ActiveState")
    ran = _properties(f"{label}.service", "ExecMainStatus,ExecMainExitTimestamp")
    code = ran.get("ExecMainStatus", "") if ran.get("ExecMainExitTimestamp") else ""
    return Standing(
        loaded=timer.get("ActiveState") == "active",
        last_exit=int(code) if code.isdigit() else None,
    )


def service(job: Job) -> str:
    """Return the service of a job.

    KillMode is process: tracekit's guardian stops and saves what a night that was killed had
    started, and must not be killed with it.
    """
    variables = "".join(
        f"Environment={_quoted(f'{name}={value}')}\n" for name, value in job.environment.items()
    )
    command = " ".join(_quoted(one).replace("$", "$$") for one in job.argv)
    return f"""\
[Unit]
Description=tracekit nightly {_percent(job.label)}

[Service]
Type=oneshot
ExecStart={command}
WorkingDirectory={_percent(str(job.folder))}/
{variables}\
StandardOutput=append:{_percent(str(job.log))}
StandardError=append:{_percent(str(job.log))}
KillMode=process
TimeoutStartSec={round(job.budget) + _SPARE_SECONDS}
TimeoutStopSec={_STOP_SECONDS}
"""


def timer(job: Job) -> str:
    """Return the timer of a job; Persistent makes up for a night that the machine slept through."""
    return f"""\
[Unit]
Description=When tracekit nightly runs {_percent(job.label)}

[Timer]
OnCalendar=*-*-* {job.at:%H:%M}:00
AccuracySec=1s
Persistent=true

[Install]
WantedBy=timers.target
"""


def _quoted(text: str) -> str:
    """Quote a word as systemd.syntax(7) says; what `%` would stand for is not meant."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_percent(escaped)}"'


def _percent(text: str) -> str:
    return text.replace("%", "%%")


def _systemctl(*words: str) -> Completed:
    return ask("systemctl", "--user", "--no-pager", *words)


def _properties(unit: str, names: str) -> Mapping[str, str]:
    lines = _systemctl("show", unit, f"--property={names}").stdout.splitlines()
    return dict(line.split("=", 1) for line in lines if "=" in line)


def _without_lingering() -> tuple[str, ...]:
    """Say so where the user's timers stop when the user logs out."""
    with suppress(ToolError):
        answer = ask("loginctl", "show-user", str(os.getuid()), "--property=Linger")
        if answer.stdout.strip() == "Linger=yes":
            return ()
    return ("A user's timers run only while logged in, unless `loginctl enable-linger` was run.",)


def _read_timer(file: Path) -> Installed | None:
    """Read a timer of ours; None where the file is none."""
    with suppress(OSError, UnicodeDecodeError):
        due = _CALENDAR.search(file.read_text(encoding="utf-8"))
        beside = file.with_suffix(".service")
        words = beside.read_text(encoding="utf-8") if beside.exists() else ""
        since, log = _SINCE.search(words), _LOG.search(words)
        if due is not None:
            return Installed(
                method="systemd",
                label=file.stem,
                file=file,
                at=time(int(due[1]), int(due[2])),
                since=since[1] if since else "",
                log=Path(log[1].replace("%%", "%")) if log else None,
            )
    return None


def cron_line(job: Job) -> str:
    """Return the line of a job; a `%` would end the command, so it has a backslash."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in job.environment.items()]
    command = (
        f"cd {shlex.quote(str(job.folder))} && /usr/bin/env -i {' '.join(variables)} "
        f"{shlex.join(job.argv)} >> {shlex.quote(str(job.log))} 2>&1 # {job.label}"
    ).replace("%", "\\%")
    return f"{job.at.minute} {job.at.hour} * * * {command}"
