"""Other recorders on this machine, which hold what a recording needs."""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

import psutil

from tracekit.base.errors import ToolError

_NAMES = frozenset({"xctrace", "Instruments"})


@dataclass(frozen=True)
class Rival:
    """A process that may record; `arguments` is None where they may not be read."""

    pid: int
    name: str
    user: str = ""
    created: float = 0.0
    arguments: tuple[str, ...] | None = None

    @property
    def told(self) -> str:
        """Which program it is and since when, in words; nobody is named, for pages quote it."""
        since = f"{datetime.fromtimestamp(self.created).astimezone():%Y-%m-%d %H:%M:%S}"
        return f"{self.name}, process {self.pid}, runs since {since}"


def rivals(names: Iterable[str] = _NAMES) -> tuple[Rival, ...]:
    """Return the processes of these names."""
    return tuple(_rival(one) for one in psutil.process_iter(["name"]) if one.info["name"] in names)


def refuse_rivals(found: Iterable[Rival]) -> tuple[str, ...]:
    """Return a warning for each program that may hold the performance counters.

    Whether an open Instruments records cannot be seen from outside, so it is no reason to
    refuse; an `xctrace` that exports is none either.

    Raises:
        ToolError: Another `xctrace record` runs.
    """
    warnings: list[str] = []
    for one in found:
        if one.name == "xctrace" and one.arguments is not None:
            if "record" in one.arguments[1:]:
                whose = f" under {one.user}" if one.user else ""
                raise ToolError(
                    f"Another recorder runs{whose}: {one.told}.",
                    hint="Only one recorder can run at a time. Wait for it; "
                    f"`kill -INT {one.pid}` makes it stop and save.",
                )
            continue
        warnings.append(
            f"{one.told}; if it records too, only one of the two recordings has performance data."
        )
    return tuple(warnings)


def _rival(process: psutil.Process) -> Rival:
    arguments: tuple[str, ...] | None = None
    user, created = "", 0.0
    with suppress(psutil.Error):
        created = process.create_time()
        user = process.username()
        arguments = tuple(process.cmdline())
    return Rival(process.pid, process.info["name"], user, created, arguments or None)
