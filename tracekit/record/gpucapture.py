"""Apple's `gpucapture`, which captures command buffers of a running process.

It comes with Xcode 27. The process must have been started with the switch of Metal's capture layer.
By default it captures whole command buffers of the device, or frames of the only layer that the
process draws into (gpucapture(1)).
"""

import psutil

from tracekit.base import TracekitError, UsageError
from tracekit.record.xctrace.command import Run

NAME = "gpucapture"
DEBUGGER = "gpudebug"
SWITCH = "MTL_CAPTURE_ENABLED"
_FINDING = 30.0  # seconds


def find_tool(run: Run, name: str) -> str:
    """Return the path of a tool of Xcode; "" if there is none of this name, or no xcrun."""
    try:
        completed = run(("xcrun", "--find", name), _FINDING)
    except TracekitError:
        return ""
    if completed.returncode != 0:
        return ""
    return completed.stdout.strip()


def require_switch(pid: int) -> None:
    """Raise UsageError if a process does not exist, or was started without the switch.

    The environment of a process may be hidden; then gpucapture judges.
    """
    try:
        environment = psutil.Process(pid).environ()
    except psutil.NoSuchProcess as error:
        raise UsageError(f"There is no process {pid}.") from error
    except (psutil.Error, OSError):
        return
    if environment and environment.get(SWITCH) != "1":
        raise UsageError(
            f"Process {pid} was started without {SWITCH}=1, so Metal cannot capture it.",
            hint=f"Start the program anew: {SWITCH}=1 PROGRAM",
        )


def make_command(tool: str, pid: int, count: int, output: str) -> tuple[str, ...]:
    """Return the command line that captures so many command buffers, or frames, of a process."""
    return (tool, "start", "--pid", f"{pid}", "--count", f"{count}", "--output", output)
