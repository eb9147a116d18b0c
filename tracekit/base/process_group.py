"""What a process of its own session started, and left behind."""

import os
import signal
import subprocess
from contextlib import suppress


def sweep(process: subprocess.Popen[bytes] | subprocess.Popen[str]) -> None:
    """Kill all that is in the group of a process that began one (`start_new_session`)."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
