"""What a program needs to see of our environment where a scheduler starts it.

Schedulers run no login shell: what a shell's files set is not there, so it is written down when
a night is scheduled. Only what is named here is taken, for such a file may be read by others.
"""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tracekit.nightly.plan.plan import NightPlan

SYSTEM_PATH = ("/usr/bin", "/bin", "/usr/sbin", "/sbin")
_PROGRAMS = ("xcrun", "git", "macmon", "g++", "clang++")
_TAKEN = ("HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "XDG_CACHE_HOME", "DEVELOPER_DIR")
_OURS = "TRACEKIT_"
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
    those of the system; besides there are HOME, the language, DEVELOPER_DIR and what begins with
    TRACEKIT_, where they are set.
    """
    taken = {name: environment[name] for name in _TAKEN if environment.get(name)}
    ours = {
        name: value
        for name, value in sorted(environment.items())
        if name.startswith(_OURS) and not name.startswith(_NOT_OURS) and value
    }
    taken.setdefault("HOME", str(Path.home()))
    return {"PATH": _path((*_PROGRAMS, *programs), environment.get("PATH", "")), **taken, **ours}


def _path(programs: Iterable[str], path: str) -> str:
    found = {shutil.which(one, path=path) for one in programs if os.sep not in one}
    used = {os.path.dirname(one) for one in found if one}  # noqa: PTH120  as it stands in PATH
    kept = [one for one in path.split(os.pathsep) if one in used and one.startswith(os.sep)]
    return os.pathsep.join(dict.fromkeys((*kept, *SYSTEM_PATH)))
