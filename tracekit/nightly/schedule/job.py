"""What a scheduler is to start, and when: a command line, its environment, its log, a time of day.

Schedulers run no login shell: what a shell's files set is not there, so it is written down when
a night is scheduled. Only what is named here is taken, for such a file may be read by others.

On the day when clocks go forward, a time that is left out counts as it would have been without
the change: 02:30 is then the moment that the clock calls 03:30. On the day when they go back, a
time that comes twice counts the first time. So each date has just one due time.
"""

import os
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from hashlib import blake2b
from pathlib import Path

from tracekit.base import UsageError, now
from tracekit.nightly.plan.plan import NightPlan

_SYSTEM_PATH = ("/usr/bin", "/bin", "/usr/sbin", "/sbin")
_PROGRAMS = ("xcrun", "git", "macmon", "g++", "clang++")
_TAKEN = ("HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "XDG_CACHE_HOME", "DEVELOPER_DIR")
_NOT_OURS = ("TRACEKIT_NIGHTLY_", "TRACEKIT_CORPUS")


def programs_of(plan: NightPlan) -> Iterator[str]:
    """Name the programs that a plan starts by itself: checks, and set-up of references."""
    for capture in plan.captures:
        lines = [*capture.checks, capture.reference.setup if capture.reference else ()]
        yield from (line[0] for line in lines if line)


def bare_environment(
    programs: Iterable[str] = (), environment: Mapping[str, str] = os.environ
) -> dict[str, str]:
    """Return all that a scheduled night sees.

    PATH has the folders where the programs that nights use are found now, in their order, and
    those of the system; also HOME, the language, DEVELOPER_DIR and what begins with
    TRACEKIT_, where they are set.
    """
    taken = {name: environment[name] for name in _TAKEN if environment.get(name)}
    ours = {
        name: value
        for name, value in sorted(environment.items())
        if name.startswith("TRACEKIT_") and not name.startswith(_NOT_OURS) and value
    }
    taken.setdefault("HOME", str(Path.home()))
    path, names = environment.get("PATH", ""), (*_PROGRAMS, *programs)
    found = {shutil.which(name, path=path) for name in names if os.sep not in name}
    used = {os.path.dirname(one) for one in found if one}  # noqa: PTH120  as it stands in PATH
    kept = [part for part in path.split(os.pathsep) if part in used and part.startswith(os.sep)]
    return {"PATH": os.pathsep.join(dict.fromkeys((*kept, *_SYSTEM_PATH))), **taken, **ours}


LOG = "nightly.log"
_LARGEST = 1 << 20  # bytes; some years of nights that have nothing to tell


def rotate_log(output: Path) -> None:
    """Rename the log of a plan's output where it is too large; the next night begins another."""
    log = output / LOG
    with suppress(OSError):
        if log.stat().st_size > _LARGEST:
            log.replace(output / f"{LOG}.1")


_DAY = timedelta(days=1)
_EARLY = timedelta(minutes=1)  # a timer may fire a moment before its time, as clocks are set
_MOST = 400  # days; who was away for years needs no list of nights


def time_of_day(text: str) -> time:
    """Turn "02:30" into a time of the local clock; raise UsageError for anything else."""
    found = re.fullmatch(r"(\d{1,2}):(\d{2})", text.strip(), re.ASCII)
    if found is None or int(found[1]) > 23 or int(found[2]) > 59:  # noqa: PLR2004  a clock
        raise UsageError(
            f"{text!r} is no time of the day.", hint="Write hours and minutes, such as 02:30."
        )
    return time(int(found[1]), int(found[2]))


def due_times(
    at: time, after: datetime, until: datetime, zone: tzinfo | None = None
) -> Iterator[datetime]:
    """Yield the due times in (after, until], oldest first, in UTC; without `zone` by our clock."""
    first = after.astimezone(zone).date() - _DAY
    last = until.astimezone(zone).date() + _DAY
    for days in range((last - first).days + 1):
        local = datetime.combine(first + days * _DAY, at, zone)
        due = (local if zone is not None else local.astimezone()).astimezone(UTC)
        if after < due <= until:
            yield due


def next_due(at: time, now: datetime, zone: tzinfo | None = None) -> datetime:
    """Return the first due time after `now`, in UTC."""
    return next(due_times(at, now, now + 3 * _DAY, zone))


def unserved(
    at: time,
    last_started: datetime | None,
    until: datetime,
    *,
    since: datetime | None = None,
    zone: tzinfo | None = None,
) -> list[datetime]:
    """Return the due times up to `until` that no night has begun after.

    They are moments in UTC, oldest first, of the last 400 days. Before `since`, when the schedule
    was installed, nothing was due; there are none where neither that nor a night is known. `zone`
    is whose clock counts; None for this machine's.
    """
    known = [one for one in (last_started and last_started + _EARLY, since) if one is not None]
    if not known:
        return []
    return [*due_times(at, max([*known, until - _MOST * _DAY]), until, zone)]


def passed(
    at: time,
    last_started: datetime | None,
    now: datetime,
    *,
    since: datetime | None = None,
    zone: tzinfo | None = None,
) -> list[datetime]:
    """Return the due times that passed without a night, where one begins `now`; see `unserved`.

    The due time right before `now` is the one that this night is for, however late it is; a
    machine that slept has one night for all that it slept through.
    """
    return unserved(at, last_started, now + _EARLY, since=since, zone=zone)[:-1]


SINCE = "TRACEKIT_NIGHTLY_SINCE"
_LONGEST_NAME = 40
_PREFIX = "tracekit.nightly"


@dataclass(frozen=True)
class Job:
    """A night at a time of the day on the local clock: of a plan's file there is one.

    Each program of `argv` has its whole path. The log takes what it prints, and after `budget`
    seconds it ends by itself.
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
    """Return the job that runs a plan's nights, as this environment allows."""
    file, output = plan.file.absolute(), plan.output.absolute()
    argv = (os.path.abspath(sys.executable), "-P", "-m", "tracekit", "nightly", str(file))  # noqa: PTH100  a link to it is the environment
    environment = {**bare_environment(programs_of(plan)), SINCE: now()}
    for text in (*argv, str(output), *environment.values()):
        if re.search(r"[\x00-\x1f\x7f]", text):
            raise UsageError(
                f"{text!r} holds a control character, which no scheduler takes.",
                hint="Rename the folder, or unset the variable.",
            )
    slug = re.sub(r"[^A-Za-z0-9]+", "-", plan.name)[:_LONGEST_NAME].strip("-") or "plan"
    label = f"{_PREFIX}.{slug}.{digest_of(file)}"
    return Job(label, file, at, argv, environment, file.parent, output / LOG, plan.budget)


def digest_of(file: Path) -> str:
    """Return what tells the plan of one file from those of others."""
    return blake2b(str(file.resolve()).encode(), digest_size=4).hexdigest()


def names_of(file: Path) -> str:
    """Return a pattern for the labels of a plan's file, whatever its plan was called."""
    return f"{_PREFIX}.*.{digest_of(file)}"
