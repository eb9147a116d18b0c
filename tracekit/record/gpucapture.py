"""Apple's `gpucapture`, which captures command buffers of a running process.

Sources differ in two points, so it is asked: whether it comes with Xcode 27 or with macOS 27, and
whether the process must have been started with the switch of Metal's capture layer. By default it
captures whole command buffers of the device, or frames of the only layer that the process draws
into (gpucapture(1)).
"""

import shutil

import psutil

from tracekit.base import TracekitError, UsageError
from tracekit.record.xctrace.command import Run

NAME = "gpucapture"
DEBUGGER = "gpudebug"
SWITCH = "MTL_CAPTURE_ENABLED"
_FINDING = 30.0  # seconds


ORIGIN = "Xcode 27 or macOS 27"


def find_tool(run: Run, name: str) -> str:
    """Return the path of a tool of Xcode or of macOS; "" if there is none of this name."""
    try:
        completed = run(("xcrun", "--find", name), _FINDING)
    except TracekitError:
        return shutil.which(name) or ""
    if completed.returncode != 0:
        return shutil.which(name) or ""
    return completed.stdout.strip()


def doubt_process(pid: int) -> str:
    """Return a warning if a process was started without the switch; "" if not, or if it hides that.

    Raise UsageError if it does not exist.
    """
    try:
        environment = psutil.Process(pid).environ()
    except psutil.NoSuchProcess as error:
        raise UsageError(f"There is no process {pid}.") from error
    except (psutil.Error, OSError):
        return ""
    if not environment or environment.get(SWITCH) == "1":
        return ""
    return (
        f"Process {pid} was started without {SWITCH}=1, so Metal may refuse to capture it; to be "
        f"safe, start it anew: {SWITCH}=1 PROGRAM"
    )


def make_command(tool: str, pid: int, count: int, output: str) -> tuple[str, ...]:
    """Return the command line that captures so many command buffers, or frames, of a process."""
    return (tool, "start", "--pid", f"{pid}", "--count", f"{count}", "--output", output)
