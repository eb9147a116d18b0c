"""The displays of a Mac: how many there are, and how many of them sleep.

`system_profiler` is asked instead of CoreGraphics, which needs a connection to the window server
and may end a process that has none. Reports differ on whether work on the GPU is faster or slower
while a display sleeps, so only a change within a recording is worth a word.
"""

import json
import logging
import shutil
from dataclasses import dataclass
from typing import Any, Literal

from tracekit.base import TracekitError
from tracekit.record.xctrace.command import Run, run

log = logging.getLogger(__name__)

_PROGRAM = "system_profiler"
_TYPE = "SPDisplaysDataType"
_ATTACHED = "spdisplays_ndrvs"
_ASLEEP = "spdisplays_asleep"
_YES = "spdisplays_yes"
_SECONDS = 10.0

DisplayChange = Literal["off", "on", ""]


@dataclass(frozen=True)
class Displays:
    """The displays at one moment."""

    count: int
    asleep: int  # how many of them sleep


def read_displays(ask: Run = run) -> Displays | None:
    """Return the displays now; None if the system does not list them in a known form."""
    program = shutil.which(_PROGRAM)
    if program is None:
        return None
    try:
        answer = ask((program, "-json", _TYPE), _SECONDS)
        adapters = json.loads(answer.stdout)[_TYPE]
        displays = [display for adapter in adapters for display in adapter.get(_ATTACHED, ())]
        return Displays(len(displays), sum(map(_is_asleep, displays)))
    except TracekitError as error:
        log.info("whether a display sleeps is not known: %s", error.message)
    except (ValueError, LookupError, AttributeError, TypeError) as error:
        log.info("whether a display sleeps is not known: %s prints another form: %s", _TYPE, error)
    return None


def _is_asleep(display: Any) -> bool:
    return display.get(_ASLEEP) == _YES


def find_change(before: Displays | None, after: Displays | None) -> DisplayChange:
    """Return whether a display turned off or on between two moments; empty if none is known to."""
    if before is None or after is None or before.asleep == after.asleep:
        return ""
    return "off" if after.asleep > before.asleep else "on"
