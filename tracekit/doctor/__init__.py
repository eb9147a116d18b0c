"""Is this machine ready to record? Facts, verdicts, and what it has shown to work."""

from tracekit.doctor.diagnosis import Diagnosis
from tracekit.doctor.examine import Probed, examine, probe_machine
from tracekit.doctor.fact import Fact, Verdict
from tracekit.doctor.surroundings import Surroundings, here

__all__ = [
    "Diagnosis",
    "Fact",
    "Probed",
    "Surroundings",
    "Verdict",
    "examine",
    "here",
    "probe_machine",
]
