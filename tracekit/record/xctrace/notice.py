"""The notification that xctrace posts when it records, and the wait for it.

It comes in no language, so it also counts where the progress lines are not understood. macOS's
`notifyutil -1 NAME` ends when the notification is posted; it runs as a child of ours, as our own
process could only wait for it through a C library.
"""

import shutil
import subprocess
import time
from contextlib import suppress

from tracekit.base import processes, system
from tracekit.record.supervisor import Supervisor
from tracekit.record.xctrace.command import tool_environment

FLAG = "--notify-tracing-started"
_LISTENER = "notifyutil"
_POLICY = processes.StopPolicy(((system.SIGKILL, 5.0),))


def name_notice(pid: int) -> str:
    """Return the name of a notification that nothing else posts."""
    return f"tracekit.recording-started.{pid}.{time.monotonic_ns()}"


def find_notice(argv: tuple[str, ...]) -> str:
    """Return the notification that a command line asks for; empty without one."""
    options = argv
    if "--launch" in argv:
        options = argv[: argv.index("--launch")]
    if FLAG not in options:
        return ""
    return options[options.index(FLAG) + 1]


class Notice:
    """The wait for one notification; it never comes on a system without `notifyutil`."""

    def __init__(self, name: str, supervisor: Supervisor) -> None:
        """Begin to wait, unless the name is empty."""
        self._supervisor = supervisor
        self._child: processes.Child | None = None
        program = shutil.which(_LISTENER)
        if not name or program is None:
            return
        null = subprocess.DEVNULL
        with suppress(OSError):
            self._child = supervisor.start(
                (program, "-1", name), _POLICY, env=tool_environment(), stdout=null, stderr=null
            )

    def came(self) -> bool:
        """Return whether the notification was posted."""
        return self._child is not None and self._child.exit_status == 0

    def close(self) -> None:
        """Wait no longer."""
        if self._child is None:
            return
        self._child.kill()
        self._supervisor.forget(self._child.pid)
        self._child = None
