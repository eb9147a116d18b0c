"""A job for a scheduler: a command line, its environment, its log, and a time of day.

Schedulers run no login shell, so variables of a shell's files are missing: a job has those of the
time when it was scheduled. It has only the variables named here, because others may read its file.

On the day when clocks go forward, a time that is left out counts as it would have been without
the change: 02:30 is then the moment that the clock calls 03:30. On the day when they go back, a
time that comes twice counts the first time. So each date has just one due time.
"""

import os
import re
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from hashlib import blake2b
from pathlib import Path

from tracekit.base import UsageError
from tracekit.nightly.plan.plan import NightPlan

_SYSTEM_PATH = ("/usr/bin", "/bin", "/usr/sbin", "/sbin")
_TAKEN = ("HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "XDG_CACHE_HOME", "DEVELOPER_DIR")


def bare_environment(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the variables of a scheduled night: PATH, HOME, those of `_TAKEN`, and TRACEKIT_*.

    Empty ones are left out. PATH has the absolute folders of the given one, then the system's.
    """
    taken: dict[str, str] = {}
    for name, value in sorted(environment.items()):
        if not value:
            continue
        if name in _TAKEN or name.startswith("TRACEKIT_"):
            taken[name] = value
    parts = environment.get("PATH", "").split(os.pathsep)
    folders = [part for part in parts if Path(part).is_absolute()]
    all_folders = dict.fromkeys((*folders, *_SYSTEM_PATH))
    path = os.pathsep.join(all_folders)
    home = taken.get("HOME") or str(Path("~").expanduser())
    return {"PATH": path, "HOME": home, **taken}


LOG = "nightly.log"
_LARGEST = 1 << 20  # bytes; some years of nights that print nothing of note


def rotate_log(output: Path) -> None:
    """Rename the log of a plan's output if it is too large; the next night starts another."""
    log = output / LOG
    with suppress(OSError):
        if log.stat().st_size > _LARGEST:
            log.replace(output / f"{LOG}.1")


_DAY = timedelta(days=1)
EARLY = timedelta(minutes=1)  # a timer may fire a moment before its time, when a clock is set
_MOST = 400  # days; after years without nights nobody needs a list of them


def time_of_day(text: str) -> time:
    """Turn "02:30" into a time of the local clock; raise UsageError for anything else."""
    match = re.fullmatch(r"(\d{1,2}):(\d{2})", text.strip(), re.ASCII)
    if match is None or int(match[1]) > 23 or int(match[2]) > 59:  # noqa: PLR2004  a clock
        raise UsageError(
            f"Invalid time of day {text!r}.", hint="Write hours and minutes, such as 02:30."
        )
    return time(int(match[1]), int(match[2]))


def due_times(
    clock_time: time, since: datetime, until: datetime, zone: tzinfo | None = None
) -> list[datetime]:
    """Return the due times in (since, until], oldest first, in UTC; without `zone` by our clock."""
    first_date = since.astimezone(zone).date() - _DAY
    times: list[datetime] = []
    for days in range((until - since).days + 4):
        # Not `astimezone`: without a zone it takes a time that is left out for an hour too early.
        date = first_date + days * _DAY
        local = datetime.combine(date, clock_time, zone).timestamp()
        due_time = datetime.fromtimestamp(local, UTC)
        if since < due_time <= until:
            times.append(due_time)
    return times


def next_due(clock_time: time, current_time: datetime) -> datetime:
    """Return the first due time after `current_time`, in UTC."""
    latest_time = current_time + 3 * _DAY
    return due_times(clock_time, current_time, latest_time)[0]


def find_unserved_times(
    clock_time: time, last_started: datetime | None, until: datetime, since: datetime | None
) -> list[datetime]:
    """Return the due times up to `until` after which no night started, of the last 400 days.

    Nothing was due before `since`, when the schedule was installed. There are none if neither
    that time nor the last night is known.
    """
    lower_bounds: list[datetime] = []
    if last_started:
        lower_bounds.append(last_started + EARLY)
    if since is not None:
        lower_bounds.append(since)
    if not lower_bounds:
        return []
    earliest = until - _MOST * _DAY
    return due_times(clock_time, max(earliest, *lower_bounds), until)


_LONGEST_NAME = 40
_PREFIX = "tracekit.nightly"


@dataclass(frozen=True)
class Job:
    """A night at a time of the day on the local clock, which ends by itself after `budget` s."""

    label: str
    plan: Path
    clock_time: time
    argv: tuple[str, ...]
    environment: dict[str, str]
    folder: Path
    log: Path
    budget: float


def job_of(plan: NightPlan, clock_time: time) -> Job:
    """Return the job that runs a plan's nights in this environment."""
    file = plan.file.absolute()
    output = plan.output.absolute()
    python = os.path.abspath(sys.executable)  # noqa: PTH100  a link to it is the environment
    argv = (python, "-P", "-m", "tracekit", "nightly", "run", str(file))
    environment = bare_environment()
    for text in (*argv, str(output), *environment.values()):
        if re.search(r"[\x00-\x1f\x7f]", text):
            raise UsageError(
                f"{text!r} holds a control character, which no scheduler takes.",
                hint="Rename the folder, or unset the variable.",
            )
    words = re.sub(r"[^A-Za-z0-9]+", "-", plan.name)
    slug = words[:_LONGEST_NAME].strip("-") or "plan"
    label = f"{_PREFIX}.{slug}.{digest_of(file)}"
    return Job(label, file, clock_time, argv, environment, file.parent, output / LOG, plan.budget)


def digest_of(file: Path) -> str:
    """Return a digest of a file's path, which differs from that of any other."""
    resolved = str(file.resolve()).encode()
    return blake2b(resolved, digest_size=4).hexdigest()


def names_of(file: Path) -> str:
    """Return a pattern for the labels of a plan's file, whatever the name of its plan."""
    return f"{_PREFIX}.*.{digest_of(file)}"
