"""The literal night, as a gate reports it."""

import pytest

from gate_night import NIGHT
from tracekit.nightly.gate.report.model import GateReport, of_night


@pytest.fixture
def report() -> GateReport:
    return of_night(NIGHT)
