"""Tracekit itself, the host recorder, the reader: looked at by using them."""

from pathlib import Path

import pytest

from tracekit.record.doctor.checks import Verdict, checked
from tracekit.record.doctor.surroundings import Surroundings

OWN = ("tracekit", "host recorder")


def test_what_runs_here_works() -> None:
    facts = {fact.name: fact for fact in checked(Surroundings(), *OWN)}
    assert tuple(facts) == OWN
    assert {fact.verdict for fact in facts.values()} == {Verdict.OK}


def test_a_host_recorder_without_room_for_its_samples_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    facts = {fact.name: fact for fact in checked(Surroundings(), *OWN)}
    assert facts["host recorder"].verdict is Verdict.FAILED
    assert "cannot be sampled" in facts["host recorder"].words
