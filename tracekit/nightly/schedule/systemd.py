"""A timer of the user's systemd, as systemd.timer(5) and systemd.service(5) describe it."""

import os
import re
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import time
from pathlib import Path

from tracekit.base import ToolError, write_whole
from tracekit.nightly.schedule.job import SINCE, Job, names_of
from tracekit.nightly.schedule.scheduler import Installed, Standing, ask, refused, said
from tracekit.record import Completed

_STOP_SECONDS = 300
_SPARE_SECONDS = 3600  # for a night that does not see that its budget is spent
_HINT = "Log in as the user whose nights they are; or use --method cron."
_CALENDAR = re.compile(r"^OnCalendar=\*-\*-\* (\d{2}):(\d{2}):00$", re.MULTILINE)
_SINCE = re.compile(rf'^Environment="{SINCE}=([^"\\]*)"$', re.MULTILINE)
_LOG = re.compile(r"^StandardOutput=append:(.*)$", re.MULTILINE)


def _units() -> Path:
    configuration = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(configuration) / "systemd" / "user"


@dataclass(frozen=True)
class Systemd:
    """The systemd of a user; `folder` is where that user's units lie."""

    folder: Path = field(default_factory=_units)
    name: str = "systemd"

    def lacks(self) -> str:
        """Say why it cannot be used here."""
        if shutil.which("systemctl") is None:
            return "there is no systemctl"
        answer = _systemctl("show", "--property=Version")
        if answer.returncode == 0:
            return ""
        return f"systemd does not run for this user: {said(answer)}"

    def files(self, job: Job) -> dict[Path, bytes]:
        """Return the service and the timer."""
        return {
            self.folder / f"{job.label}.service": service(job).encode(),
            self.folder / f"{job.label}.timer": timer(job).encode(),
        }

    def install(self, job: Job) -> tuple[str, ...]:
        """Write both units and start the timer."""
        before: dict[str, dict[Path, bytes]] = {}
        for old in self.find(job.plan):
            before[old.label] = {file: file.read_bytes() for file in self._units(old.label)}
            self.remove(old)
        answer = self._start(job.label, self.files(job))
        if answer.returncode != 0:
            self._forget(job.label)
            for label, files in before.items():
                self._start(label, files)
            raise refused(answer, "systemd does not take the nights", _HINT)
        return tuple(_without_lingering())

    def find(self, plan: Path) -> tuple[Installed, ...]:
        """Return the timers of a plan's file."""
        found = (_read(path) for path in sorted(self.folder.glob(f"{names_of(plan)}.timer")))
        return tuple(filter(None, found))

    def remove(self, installed: Installed) -> tuple[str, ...]:
        """Stop the timer, forget when it last ran, and remove both units."""
        timer = f"{installed.label}.timer"
        warnings: list[str] = []
        if shutil.which("systemctl") is None:
            warnings.append("There is no systemctl to stop the timer with; its files are removed.")
        else:
            answer = _systemctl("disable", "--now", timer)
            if answer.returncode != 0:
                warnings.append(f"systemctl says: {said(answer)}")
            # Else a timer of the same name would start at once, to make up for the past.
            _systemctl("clean", "--what=state", timer)
        self._forget(installed.label)
        return tuple(warnings)

    def standing(self, installed: Installed) -> Standing:
        """Ask systemctl."""
        if lacking := self.lacks():
            return Standing(None, words=f"Whether the timer runs is not known: {lacking}.")
        timer = _properties(f"{installed.label}.timer", "ActiveState")
        ran = _properties(f"{installed.label}.service", "ExecMainStatus,ExecMainExitTimestamp")
        code = ran.get("ExecMainStatus", "") if ran.get("ExecMainExitTimestamp") else ""
        return Standing(
            loaded=timer.get("ActiveState") == "active",
            last_exit=int(code) if code.isdigit() else None,
        )

    def _units(self, label: str) -> list[Path]:
        files = (self.folder / f"{label}{suffix}" for suffix in (".service", ".timer"))
        return [file for file in files if file.exists()]

    def _start(self, label: str, files: Mapping[Path, bytes]) -> Completed:
        for file, content in files.items():
            write_whole(file, content)
        answer = _systemctl("daemon-reload")
        if answer.returncode != 0:
            return answer
        return _systemctl("enable", "--now", f"{label}.timer")

    def _forget(self, label: str) -> None:
        wanted = self.folder / "timers.target.wants" / f"{label}.timer"
        for file in (wanted, *self._units(label)):
            file.unlink(missing_ok=True)
        if shutil.which("systemctl") is not None:
            _systemctl("daemon-reload")


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


def _without_lingering() -> list[str]:
    """Say so where the user's timers stop when the user logs out."""
    with suppress(ToolError):
        answer = ask("loginctl", "show-user", str(os.getuid()), "--property=Linger")
        if answer.stdout.strip() == "Linger=yes":
            return []
    return ["A user's timers run only while logged in, unless `loginctl enable-linger` was run."]


def _read(file: Path) -> Installed | None:
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
