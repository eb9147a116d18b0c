"""Whether the machine was in a state in which a measurement counts."""

from tracekit.machine.state.environment import environment, machine_name, own_name
from tracekit.machine.state.judging import contaminated, unjudged, unknown
from tracekit.machine.state.sources import Sources
from tracekit.machine.state.state import JUDGED, State, StateLimits
from tracekit.machine.state.watch import Watch, look

__all__ = [
    "JUDGED",
    "Sources",
    "State",
    "StateLimits",
    "Watch",
    "contaminated",
    "environment",
    "look",
    "machine_name",
    "own_name",
    "unjudged",
    "unknown",
]
