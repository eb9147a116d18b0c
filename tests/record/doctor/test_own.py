"""Tracekit itself, the host recorder, the reader: looked at by using them."""

import sys
from pathlib import Path

import pytest

from tracekit.record.doctor.checks import checked
from tracekit.record.doctor.facts import Verdict
from tracekit.record.doctor.surroundings import Surroundings

OWN = ("tracekit", "host recorder", "import and analysis")


def test_what_runs_here_works() -> None:
    facts = {fact.name: fact for fact in checked(Surroundings(), *OWN)}
    assert list(facts) == ["tracekit", "host recorder", "import and analysis"]
    assert {fact.verdict for fact in facts.values()} == {Verdict.OK}
    assert "pandas" in facts["import and analysis"].words


def test_an_installation_without_its_folders_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracekit.base.files._PACKAGE", tmp_path / "tracekit")
    fact = next(checked(Surroundings(), *OWN))
    assert fact.verdict is Verdict.FAILED
    assert "lacks kernels, workloads, templates" in fact.words


def test_a_reader_that_cannot_be_imported_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    facts = {fact.name: fact for fact in checked(Surroundings(), *OWN)}
    assert facts["import and analysis"].verdict is Verdict.FAILED
    assert "pyarrow" in facts["import and analysis"].words


def test_a_host_recorder_without_room_for_its_samples_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    facts = {fact.name: fact for fact in checked(Surroundings(), *OWN)}
    assert facts["host recorder"].verdict is Verdict.FAILED
    assert "cannot be sampled" in facts["host recorder"].words
