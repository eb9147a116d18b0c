"""The probe on the CPU, for machines without xctrace."""

import tempfile
from pathlib import Path

import pytest

from tracekit.record.doctor.facts import Verdict
from tracekit.record.doctor.probe import Dose, probe_host


@pytest.mark.processes
def test_a_probe_is_recorded_and_read_on_the_cpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    reported: list[str] = []
    fact = probe_host(reported.append, Dose(seconds=0.3, dispatches=5))
    assert fact.verdict is Verdict.OK, fact
    steps, samples = (int(word) for word in fact.words.split() if word.isdigit())
    assert steps > 3
    assert samples > 0
    assert reported
    assert not list(tmp_path.glob("tracekit-probe-*"))


def test_a_probe_that_cannot_run_says_why() -> None:
    """The limit is refused, as a broken installation would refuse anything."""
    fact = probe_host(dose=Dose(seconds=0.0))
    assert fact.verdict is Verdict.FAILED
    assert "--time-limit" in fact.words
    assert fact.fix
