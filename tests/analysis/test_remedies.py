"""The command that brings a missing answer, for the recording that lacks it."""

import pytest

from tracekit.analysis.inject import Remedy
from tracekit.analysis.remedies import applies_to, command_for
from tracekit.base.recording import Provenance

PAGED = Provenance(recorder="xctrace", workload="paged")
IMPORTED = Provenance(recorder="import", workload="gpu_baseline")
ON_LINUX = Provenance(recorder="host", workload="paged", machine={"system": "Linux"})


@pytest.mark.parametrize(
    ("remedy", "provenance", "command"),
    [
        (Remedy.COUNTERS, PAGED, "tracekit capture --workload paged --counters on"),
        (Remedy.COUNTERS, IMPORTED, "tracekit capture --counters on -- PROGRAM"),
        (Remedy.MONITOR, PAGED, "tracekit capture --workload paged --telemetry powermetrics"),
        (Remedy.TRACE, IMPORTED, "tracekit capture -- PROGRAM"),
        (Remedy.LONGER, ON_LINUX, "tracekit capture --workload paged --time-limit 60s"),
        (Remedy.TARGET, IMPORTED, "tracekit import TRACE --target PID|NAME"),
        (Remedy.UNKNOWN, PAGED, ""),
    ],
)
def test_a_command_names_the_workload_or_a_program(
    remedy: Remedy, provenance: Provenance, command: str
) -> None:
    assert command_for(remedy, provenance) == command


def test_a_recording_of_linux_lacks_remedies_of_a_mac() -> None:
    elsewhere = {remedy for remedy in Remedy if not applies_to(remedy, ON_LINUX)}
    assert elsewhere == {Remedy.COUNTERS, Remedy.MONITOR, Remedy.TRACE}
    assert all(applies_to(remedy, IMPORTED) for remedy in Remedy)
