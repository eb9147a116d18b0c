"""What the version before wrote is still read: a run, a result, a plan, a night, a history.

The files in `kept` were written by the commit before the package was put into rooms.
"""

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

from command_line import run
from tracekit.analysis.result import load
from tracekit.nightly.plan.reading import read_plan

KEPT = Path(__file__).parent / "kept"
NIGHT = "2026-11-23T14-39-57-kzsm"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return shutil.copytree(KEPT, tmp_path / "kept")


def test_a_run_is_analyzed_again_to_the_same_metrics(kept: Path) -> None:
    before = load(kept / "run" / "result.json")
    assert run("analyze", kept / "run") == 0
    again = load(kept / "run" / "result.json")
    values = {metric.name: metric.value for metric in again.metrics}
    assert values == {metric.name: metric.value for metric in before.metrics}
    assert values["tokens_per_second"] == 188.01345972242711
    states = {check.rule: check.status for check in again.checks}
    assert states == {check.rule: check.status for check in before.checks}
    assert run("report", kept / "run") == 0


def test_a_result_alone_is_compared(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = kept / "run" / "result.json"
    assert run("compare", result, result, "--json") == 0
    assert json.loads(capsys.readouterr().out)["verdict"] in {"same", "unclear"}


def test_a_plan_is_read(kept: Path) -> None:
    plan = read_plan(kept / "tracekit.toml")
    assert (plan.name, plan.machine, plan.retries) == ("kept", "linux-2-cores", 0)
    [capture] = plan.captures
    assert (capture.name, capture.pairs, capture.turn) == ("attend", 6, 0.02)


def test_a_night_is_gated(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("gate", kept / "nights" / NIGHT, "--json") == 4
    gated = json.loads(capsys.readouterr().out)
    assert gated["outcome"] == "inconclusive"


def test_a_history_is_read_and_exported(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = kept / "history.db"
    with sqlite3.connect(database) as made:
        made.executescript((kept / "history.sql").read_text())
    made.close()
    assert run("history", "--history", database, "--metric", "step_p50", "--json") == 0
    assert NIGHT in capsys.readouterr().out
    samples = kept / "samples.json"
    assert (
        run("history", "--history", database, "--export", samples, "--samples", "--format", "json")
        == 0
    )
    values = [one["value"] for one in json.loads(samples.read_text())]
    assert 271985.0 in values
