"""Developer Mode of macOS: without it, a recording may wait for a password in a window."""

import logging
import shutil

from tracekit.base import TracekitError
from tracekit.record.xctrace.command import Run, run

log = logging.getLogger(__name__)

_PROGRAM = "DevToolsSecurity"
_DISABLED = "Developer mode is currently disabled."
_SECONDS = 10.0
WARNING = (
    "Developer Mode is off, so macOS may ask for the name and password of an administrator before "
    "it lets Instruments look at other processes, and the recording waits for the answer: "
    "`sudo DevToolsSecurity -enable` ends that."
)


def describe_permission(ask: Run = run) -> str:
    """Return a warning if Developer Mode is off; empty if it is on, or that is not known."""
    program = shutil.which(_PROGRAM)
    if program is None:
        return ""
    try:
        answer = ask((program, "-status"), _SECONDS)
    except TracekitError as error:
        log.info("whether Developer Mode is on is not known: %s", error.message)
        return ""
    return WARNING if answer.stdout.strip() == _DISABLED else ""
