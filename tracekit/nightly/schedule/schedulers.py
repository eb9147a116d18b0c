"""The schedulers of the system that can start nights: launchd, the systemd of a user, cron.

The features in use are documented in launchd.plist(5), launchctl(1), systemd.timer(5) and
systemd.service(5). The manual says that the output of `launchctl print` is for people; the exit
code of the last night is not known if that output cannot be read.
"""

import os
import plistlib
import re
import shlex
import shutil
import time as clock
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any
from xml.parsers.expat import ExpatError

from tracekit.base import ToolError, TracekitError, files, processes
from tracekit.nightly.schedule.job import Job, names_of
from tracekit.record import Completed, run

_SECONDS = 60.0
_STOP_SECONDS = 300  # saving a trace takes that long


@dataclass(frozen=True)
class Installed:
    """A job that a scheduler, the `method`, runs, as its files say, `since` they were written.

    Nights print into the `log`.
    """

    method: str
    label: str
    file: Path
    at: time
    since: str
    log: Path | None = None


@dataclass(frozen=True)
class Standing:
    """The state of a job in its scheduler: whether it is loaded, and how the last night exited.

    A value that could not be found out is None; `words` may say why.
    """

    loaded: bool | None
    last_exit: int | None = None
    words: str = ""


def ask(*argv: str) -> Completed:
    """Run one of a scheduler's programs; raise ToolError if it cannot be started."""
    return run(argv, _SECONDS)


def flatten_output(completed: Completed) -> str:
    """Return the output of a program, on one line."""
    return " ".join(completed.text.split())


def make_refusal(completed: Completed, problem: str, hint: str) -> ToolError:
    """Return an error with the words of a program that refused."""
    line = shlex.join(completed.argv)
    code = processes.exit_words(completed.returncode)
    words = flatten_output(completed) or "It said nothing."
    return ToolError(f"{problem}: `{line}` failed with {code}: {words}", hint=hint)


_NOBODY = "Nobody is logged in at the desktop: launchd starts no night until somebody is."
_GONE_SECONDS = 30.0
_POLL = 0.2
_EXIT = re.compile(r"^\s*last exit code = (\d+)\b", re.MULTILINE)


class Launchd:
    """launchd, for the user who is logged in at the desktop."""

    name = "launchd"
    suffixes = (".plist",)
    hint = (
        "Log in at the Mac's own desktop, as the user whose nights they are, and try again there; "
        "System Settings, Login Items, may forbid background items."
    )

    def __init__(self) -> None:
        self.folder = Path.home() / "Library" / "LaunchAgents"
        self._domain = f"gui/{os.getuid()}"  # launchctl's name of the user's session

    def target_of(self, label: str) -> str:
        """Return launchctl's name of a job."""
        return f"{self._domain}/{label}"

    def lacks(self) -> str:
        """Return why it cannot be used here; empty if it can."""
        if shutil.which("launchctl"):
            return ""
        return "there is no launchctl, which macOS has"

    def contents(self, job: Job) -> tuple[bytes, ...]:
        """Return the content of the files of a job, by `suffixes`."""
        return (plistlib.dumps(property_list(job)),)

    def read(self, file: Path) -> Installed | None:
        """Read a job of ours; None if the file is not one."""
        with suppress(OSError, ValueError, LookupError, TypeError, ExpatError, AttributeError):
            properties = plistlib.loads(file.read_bytes())
            calendar_entry = properties["StartCalendarInterval"]
            at = time(calendar_entry["Hour"], calendar_entry["Minute"])
            log = Path(properties["StandardOutPath"])
            return Installed(
                method=self.name,
                label=str(properties["Label"]),
                file=file,
                at=at,
                since=_read_file_time(file),
                log=log,
            )
        return None

    def load(self, label: str) -> Completed:
        """Load a job whose files are written."""
        file = self.folder / f"{label}.plist"
        return ask("launchctl", "bootstrap", self._domain, str(file))

    def unload(self, label: str) -> tuple[str, ...]:
        """Unload a job that is loaded, and wait until it is gone: launchctl does not."""
        target = self.target_of(label)
        if ask("launchctl", "print", target).returncode != 0:
            return ()
        answer = ask("launchctl", "bootout", target)
        until = clock.monotonic() + _GONE_SECONDS
        while ask("launchctl", "print", target).returncode == 0:
            if clock.monotonic() >= until:
                raise make_refusal(answer, f"launchd does not let go of {label}", self.hint)
            clock.sleep(_POLL)
        return ()

    def look(self, label: str) -> Standing:
        """Ask for the state of a job."""
        answer = ask("launchctl", "print", self.target_of(label))
        if answer.returncode != 0 and ask("launchctl", "print", self._domain).returncode != 0:
            return Standing(None, words=_NOBODY)
        if answer.returncode != 0:
            return Standing(loaded=False, words=f"launchctl says: {flatten_output(answer)}")
        match = _EXIT.search(answer.stdout)
        last_exit = None
        if match:
            last_exit = int(match[1])
        return Standing(loaded=True, last_exit=last_exit)

    def remarks(self) -> tuple[str, ...]:
        """Return remarks for the user who installs nights."""
        return ()


def property_list(job: Job) -> dict[str, Any]:
    """Return the job for launchd, by the keys of launchd.plist(5).

    ProcessType is Interactive because launchd throttles processor and disk of all other types: the
    manual says so of Background, and of Standard, the default; Adaptive becomes one of these. A
    throttled night measures launchd.
    """
    start_time = {"Hour": job.clock_time.hour, "Minute": job.clock_time.minute}
    return {
        "Label": job.label,
        "ProgramArguments": list(job.argv),
        "WorkingDirectory": str(job.folder),
        "EnvironmentVariables": dict(job.environment),
        "StandardOutPath": str(job.log),
        "StandardErrorPath": str(job.log),
        "StartCalendarInterval": start_time,
        "ProcessType": "Interactive",
        "ExitTimeOut": _STOP_SECONDS,
        "RunAtLoad": False,
    }


_SPARE_SECONDS = 3600  # for a night that does not notice that its budget is spent
_CALENDAR = re.compile(r"^OnCalendar=\*-\*-\* (\d{2}):(\d{2}):00$", re.MULTILINE)
_LOG = re.compile(r"^StandardOutput=append:(.*)$", re.MULTILINE)


class Systemd:
    """The systemd of a user."""

    name = "systemd"
    suffixes = (".timer", ".service")
    hint = "Log in as the user whose nights they are; or use --method cron."

    def __init__(self) -> None:
        configuration = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
        self.folder = Path(configuration) / "systemd" / "user"

    def lacks(self) -> str:
        """Return why it cannot be used here; empty if it can."""
        if shutil.which("systemctl") is None:
            return "there is no systemctl"
        answer = _systemctl("show", "--property=Version")
        if answer.returncode == 0:
            return ""
        return f"systemd does not run for this user: {flatten_output(answer)}"

    def contents(self, job: Job) -> tuple[bytes, ...]:
        """Return the content of the files of a job, by `suffixes`."""
        return timer(job).encode(), service(job).encode()

    def read(self, file: Path) -> Installed | None:
        """Read a job of ours; None if the file is not one."""
        with suppress(OSError, UnicodeDecodeError):
            calendar_match = _CALENDAR.search(file.read_text(encoding="utf-8"))
            log = _read_log(file.with_suffix(".service"))
            if calendar_match is not None:
                clock_time = time(int(calendar_match[1]), int(calendar_match[2]))
                return Installed(
                    method=self.name,
                    label=file.stem,
                    file=file,
                    at=clock_time,
                    since=_read_file_time(file),
                    log=log,
                )
        return None

    def load(self, label: str) -> Completed:
        """Load a job whose files are written."""
        answer = _systemctl("daemon-reload")
        if answer.returncode != 0:
            return answer
        return _systemctl("enable", "--now", f"{label}.timer")

    def unload(self, label: str) -> tuple[str, ...]:
        """Stop the timer, and forget when it last ran, so that the next one makes up for nothing.

        Return warnings.
        """
        timer = f"{label}.timer"
        warnings: list[str] = []
        if shutil.which("systemctl") is None:
            warnings.append("There is no systemctl to stop the timer with; its files are removed.")
        else:
            answer = _systemctl("disable", "--now", timer)
            if answer.returncode != 0:
                warnings.append(f"systemctl says: {flatten_output(answer)}")
            _systemctl("clean", "--what=state", timer)
        (self.folder / "timers.target.wants" / timer).unlink(missing_ok=True)
        return tuple(warnings)

    def look(self, label: str) -> Standing:
        """Ask for the state of a job."""
        timer = _properties(f"{label}.timer", "ActiveState")
        service = _properties(f"{label}.service", "ExecMainStatus,ExecMainExitTimestamp")
        last_exit = None
        if service.get("ExecMainExitTimestamp"):
            code = service.get("ExecMainStatus", "")
            last_exit = None
            if code.isdigit():
                last_exit = int(code)
        return Standing(loaded=timer.get("ActiveState") == "active", last_exit=last_exit)

    def remarks(self) -> tuple[str, ...]:
        """Return a remark if the user's timers stop when the user logs out."""
        with suppress(ToolError):
            answer = ask("loginctl", "show-user", str(os.getuid()), "--property=Linger")
            if answer.stdout.strip() == "Linger=yes":
                return ()
        return (
            "A user's timers run only while logged in, unless `loginctl enable-linger` was run.",
        )


def _read_log(service_file: Path) -> Path | None:
    """Return the log that the service of a job names; None if it names none."""
    if not service_file.exists():
        return None
    match = _LOG.search(service_file.read_text(encoding="utf-8"))
    if match is None:
        return None
    return Path(match[1].replace("%%", "%"))


def service(job: Job) -> str:
    """Return the service of a job.

    KillMode is process: tracekit's guardian stops and saves the processes of a night that was
    killed, and must not be killed with it.
    """
    variables = ""
    for name, value in job.environment.items():
        word = _quote_word(f"{name}={value}")
        variables += f"Environment={word}\n"
    quoted_words = [_quote_word(word).replace("$", "$$") for word in job.argv]
    command = " ".join(quoted_words)
    folder = _percent(str(job.folder))
    log = _percent(str(job.log))
    return f"""\
[Unit]
Description=tracekit nightly {_percent(job.label)}

[Service]
Type=oneshot
ExecStart={command}
WorkingDirectory={folder}/
{variables}\
StandardOutput=append:{log}
StandardError=append:{log}
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
OnCalendar=*-*-* {job.clock_time:%H:%M}:00
AccuracySec=1s
Persistent=true

[Install]
WantedBy=timers.target
"""


def _quote_word(text: str) -> str:
    """Quote a word as systemd.syntax(7) says, with each `%` meant literally."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{_percent(escaped)}"'


def _percent(text: str) -> str:
    return text.replace("%", "%%")


def _read_file_time(file: Path) -> str:
    modified = datetime.fromtimestamp(file.stat().st_mtime, UTC)
    return modified.isoformat(timespec="milliseconds")


def _systemctl(*words: str) -> Completed:
    return ask("systemctl", "--user", "--no-pager", *words)


def _properties(unit: str, names: str) -> Mapping[str, str]:
    properties: dict[str, str] = {}
    answer = _systemctl("show", unit, f"--property={names}")
    for line in answer.stdout.splitlines():
        name, separator, value = line.partition("=")
        if separator:
            properties[name] = value
    return properties


def cron_line(job: Job) -> str:
    """Return the line of a job; a backslash precedes each `%`, which would end the command."""
    variables = [f"{name}={shlex.quote(value)}" for name, value in job.environment.items()]
    folder = shlex.quote(str(job.folder))
    log = shlex.quote(str(job.log))
    variable_words = " ".join(variables)
    command_line = shlex.join(job.argv)
    command = (
        f"cd {folder} && /usr/bin/env -i {variable_words} "
        f"{command_line} >> {log} 2>&1 # {job.label}"
    )
    command = command.replace("%", "\\%")
    return f"{job.clock_time.minute} {job.clock_time.hour} * * * {command}"


Scheduler = Launchd | Systemd


def files_of(scheduler: Scheduler, job: Job) -> dict[Path, bytes]:
    """Return the files of a job, by their paths; the first has the time at which it is due."""
    job_files = _paths(scheduler, job.label)
    return dict(zip(job_files, scheduler.contents(job), strict=True))


def find(scheduler: Scheduler, plan: Path) -> tuple[Installed, ...]:
    """Return the jobs of a plan's file."""
    jobs: list[Installed] = []
    pattern = f"{names_of(plan)}{scheduler.suffixes[0]}"
    for file in sorted(scheduler.folder.glob(pattern)):
        job = scheduler.read(file)
        if job is not None:
            jobs.append(job)
    return tuple(jobs)


@dataclass(frozen=True)
class _SavedFile:
    """The content of a file, and the time at which it was written."""

    content: bytes
    mtime_ns: int


def add(scheduler: Scheduler, job: Job) -> tuple[str, ...]:
    """Install a job in place of the former ones, which are loaded again if that fails.

    Return warnings.
    """
    previous_files: dict[str, dict[Path, _SavedFile]] = {}
    for old in find(scheduler, job.plan):
        saved_files: dict[Path, _SavedFile] = {}
        for file in _paths(scheduler, old.label):
            if file.exists():
                modified = file.stat().st_mtime_ns
                saved_files[file] = _SavedFile(file.read_bytes(), modified)
        previous_files[old.label] = saved_files
        remove(scheduler, old.label)
    with ExitStack() as undo:
        undo.callback(_restore, scheduler, job.label, previous_files)
        answer = _start(scheduler, job.label, files_of(scheduler, job))
        if answer.returncode != 0:
            raise make_refusal(answer, f"{scheduler.name} does not take the nights", scheduler.hint)
        undo.pop_all()
    return scheduler.remarks()


def _restore(
    scheduler: Scheduler, label: str, previous_files: dict[str, dict[Path, _SavedFile]]
) -> None:
    """Remove a job that the scheduler refused, and load the former ones again."""
    with suppress(TracekitError, OSError):
        remove(scheduler, label)
    for old, saved_files in previous_files.items():
        with suppress(TracekitError, OSError):
            contents = {file: saved_file.content for file, saved_file in saved_files.items()}
            _start(scheduler, old, contents)
            for file, saved_file in saved_files.items():
                # `status` takes this time for the beginning of the schedule.
                times = (saved_file.mtime_ns, saved_file.mtime_ns)
                os.utime(file, ns=times)


def _start(scheduler: Scheduler, label: str, job_files: dict[Path, bytes]) -> Completed:
    for file, content in job_files.items():
        files.write_whole(file, content)
    return scheduler.load(label)


def remove(scheduler: Scheduler, label: str) -> tuple[str, ...]:
    """Stop a job and remove its files; return warnings."""
    warnings = scheduler.unload(label)
    for file in _paths(scheduler, label):
        file.unlink(missing_ok=True)
    return warnings


def standing(scheduler: Scheduler, installed: Installed) -> Standing:
    """Ask a scheduler for the state of a job."""
    obstacle = scheduler.lacks()
    if obstacle:
        return Standing(None, words=f"Whether it is loaded is not known: {obstacle}.")
    return scheduler.look(installed.label)


def _paths(scheduler: Scheduler, label: str) -> list[Path]:
    return [scheduler.folder / f"{label}{suffix}" for suffix in scheduler.suffixes]
