"""The gates on nights and on runs, as any face calls them."""

import shutil
from pathlib import Path

import pytest

from gate_night import DECODE, NIGHT
from tracekit import pipeline
from tracekit.base.documents import save
from tracekit.base.errors import InconclusiveError, TracekitError
from tracekit.base.recording import Recording
from tracekit.comparison.runs import compare_paths
from tracekit.nightly.gate.decision import OUTCOMES
from tracekit.nightly.gate.gating import gate_night, gate_runs, require_decided
from tracekit.nightly.gate.report.model import GateReport
from tracekit.nightly.history.night import Outcome


@pytest.mark.parametrize("outcome", list(Outcome))
def test_a_report_that_decides_nothing_ends_in_an_error_with_its_code(outcome: Outcome) -> None:
    report = GateReport("title", "subject", outcome, "The reason.")
    if outcome in {Outcome.OK, Outcome.REGRESSION}:
        require_decided(report)
        return
    with pytest.raises(TracekitError, match="The reason") as raised:
        require_decided(report)
    assert (raised.value.exit_code, bool(raised.value.hint)) == (outcome.exit_code, True)


def test_a_remedy_is_the_hint_of_what_decides_nothing() -> None:
    report = GateReport("title", "subject", Outcome.INCONCLUSIVE)
    with pytest.raises(InconclusiveError) as raised:
        require_decided(report, "Measure longer.")
    assert raised.value.hint == "Measure longer."


def test_gate_night_judges_a_folder_and_its_age(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "n1").mkdir()
    save(tmp_path / "n1" / "night.json", NIGHT)
    report = gate_night(str(tmp_path / "n1"))
    assert (report.subject, report.outcome) == (NIGHT.id, Outcome.FAILED)
    assert DECODE.capture in {suite.name for suite in report.suites}


def test_gate_runs_decides_as_the_comparison_does(imported: Path, tmp_path: Path) -> None:
    pipeline.analyze(Recording(imported))
    other_run = shutil.copytree(imported, tmp_path / "other")
    steps: list[str] = []
    compared = compare_paths([imported], [other_run], force=True, progress=steps.append)
    report = gate_runs(compared, other_run)
    assert report.outcome is OUTCOMES[compared.comparison.verdict]
    assert steps == ["reading the runs", "measuring blocks of them"]
    assert compared.render_page().startswith("<!doctype html>")
