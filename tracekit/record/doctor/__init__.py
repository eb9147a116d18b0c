"""Is this machine ready to record? Facts, verdicts, and what it has shown to work."""

from tracekit.record.doctor.diagnosis import Diagnosis
from tracekit.record.doctor.examine import Probed, examine, probe_machine
from tracekit.record.doctor.fact import Fact, Verdict
from tracekit.record.doctor.surroundings import Surroundings, here

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
