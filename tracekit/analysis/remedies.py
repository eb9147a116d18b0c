"""The command whose recording brings an answer that a check could not give."""

import shlex

from tracekit.analysis.inject import Remedy
from tracekit.base import Provenance

_OPTIONS = {
    Remedy.COUNTERS: "--counters on",
    Remedy.LONGER: "--time-limit 60s",
    Remedy.MONITOR: "--telemetry powermetrics",
    Remedy.TRACE: "",
}
_CHOOSE_TARGET = "tracekit import TRACE --target PID|NAME"
_OF_MACS = frozenset({Remedy.COUNTERS, Remedy.MONITOR, Remedy.TRACE})


def applies_to(remedy: Remedy, provenance: Provenance) -> bool:
    """Return whether a machine like that of the recording can do it: some remedies need a Mac."""
    system = provenance.machine.get("system", "")
    return remedy not in _OF_MACS or provenance.recorder != "host" or system != "Linux"


def command_for(remedy: Remedy, provenance: Provenance) -> str:
    """Return the command for a remedy, or "" if none is known.

    A workload is named as it was recorded, without its parameters. PROGRAM, TRACE and PID|NAME are
    for the reader to replace.
    """
    if remedy is Remedy.TARGET:
        return _CHOOSE_TARGET
    if remedy not in _OPTIONS:
        return ""
    option = _OPTIONS[remedy]
    if provenance.workload and provenance.recorder != "import":
        words = ("tracekit capture --workload", shlex.quote(provenance.workload), option)
    else:
        words = ("tracekit capture", option, "-- PROGRAM")
    return " ".join(filter(None, words))
