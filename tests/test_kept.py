"""What the version before wrote is still read: a run, a result, a plan, a night, a history.

The files in `kept` were written by the commit before the package was put into rooms, and
`history-3.sql` by the last one whose nights had format 1.
"""

import json
import lzma
import shutil
import sqlite3
from pathlib import Path

import pytest

from command_line import run
from judged_again import judged_again, others
from tracekit.analysis.result import Result, Status
from tracekit.nightly.history.night import Outcome
from tracekit.nightly.history.steps import steps_of
from tracekit.nightly.history.store.store import Store
from tracekit.nightly.plan.reading import read_plan

KEPT = Path(__file__).parent / "kept"
OTHER_MODEL = {"idle_host_late"}
"""Causes of idle time that another model tells apart now; see CHANGELOG."""
NIGHT = "2026-11-23T14-39-57-kzsm"


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    return shutil.copytree(KEPT, tmp_path / "kept")


def test_a_run_is_analyzed_again_to_the_same_metrics(kept: Path) -> None:
    result_before = Result.load(kept / "run" / "result.json")
    assert run("analyze", kept / "run") == 0
    again = Result.load(kept / "run" / "result.json")
    values = {metric.name: metric.value for metric in again.metrics}
    known_values = {
        metric.name: metric.value for metric in result_before.metrics if metric.value is not None
    }
    assert len(known_values) > 15
    comparable_values = {
        name: value for name, value in known_values.items() if name not in OTHER_MODEL
    }
    assert {name: values.get(name) for name in comparable_values} == comparable_values
    assert values["tokens_per_second"] == 188.01345972242711
    states = {check.rule: check.status for check in again.checks}
    kept_rules = {
        check.rule: check.status for check in result_before.checks if check.rule in states
    }
    assert len(kept_rules) > 20
    for name, state in kept_rules.items():
        # Format 1 had no word for a check without sense for the work.
        could_not_judge = {Status.ABSTAINED, Status.NOT_APPLICABLE}
        expected_states = could_not_judge if state is Status.ABSTAINED else {state}
        assert states[name] in expected_states, name
    assert run("report", kept / "run") == 0


def test_a_result_alone_is_compared(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    result = kept / "run" / "result.json"
    assert run("compare", result, result, "--json") == 0
    assert json.loads(capsys.readouterr().out)["verdict"] in {"equivalent", "unclear"}


def test_a_plan_is_read(kept: Path) -> None:
    plan = read_plan(kept / "tracekit.toml")
    assert (plan.name, plan.machine, plan.retries) == ("kept", "linux-2-cores", 0)
    [capture] = plan.captures
    assert (capture.name, capture.pairs, capture.turn) == ("attend", 6, 0.02)


def test_a_night_is_gated(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("nightly", "gate", kept / "nights" / NIGHT, "--json") == 4
    gated = json.loads(capsys.readouterr().out)
    assert gated["outcome"] == "inconclusive"


def test_a_history_is_read_and_exported(kept: Path, capsys: pytest.CaptureFixture[str]) -> None:
    database = kept / "history.db"
    with sqlite3.connect(database) as connection:
        connection.executescript((kept / "history.sql").read_text())
    connection.close()
    assert run("nightly", "history", "--history", database, "--metric", "step_p50", "--json") == 0
    assert NIGHT in capsys.readouterr().out
    samples = kept / "samples.json"
    options = ("--output", samples, "--samples", "--format", "json")
    assert run("nightly", "history", "--history", database, *options) == 0
    values = [sample["value"] for sample in json.loads(samples.read_text())]
    assert 271985.0 in values


def test_nights_of_format_1_in_a_history_have_the_keys_of_today(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "history.db") as connection:
        connection.executescript((KEPT / "history-3.sql").read_text())
    connection.close()
    with Store.connect(str(tmp_path / "history.db"), make=False) as store:
        first_night, second_night = store.nights()
        [first_entry] = first_night.entries
        pairs = [(pair.session, pair.number, pair.rejections) for pair in first_entry.pairs]
        assert pairs == [(1, 1, ()), (1, 2, ("the load was 3.1", "on battery")), (2, 1, ())]
        assert {sample["session"] for sample in store.samples(capture="decode")} == {1, 2}
        assert not store.append(second_night), "the history has this night already"


def test_a_month_is_judged_again_and_differences_are_listed(tmp_path: Path) -> None:
    """Thirty nights against a pinned commit, written before commits were told from each other."""
    with sqlite3.connect(tmp_path / "history.db") as connection:
        connection.executescript(lzma.decompress((KEPT / "month.sql.xz").read_bytes()).decode())
    connection.close()
    with Store.connect(str(tmp_path / "history.db")) as store:
        judged_nights = list(judged_again(store))
        differences = list(others(iter(judged_nights)))
        [changed] = steps_of(next(one for one in store.series() if one.metric == "step_p50"))
    assert len(judged_nights) == 30
    assert {(one.then, one.now) for one in differences} == {("ok", "inconclusive")}
    assert all("are the same commit" in one.why for one in differences)
    assert [one.night for one in differences] == [old.id for old, _ in judged_nights[:19]]
    assert [new.outcome for _, new in judged_nights[19:]] == [
        old.outcome for old, _ in judged_nights[19:]
    ]
    worse = judged_nights[19][1]
    assert worse.outcome is Outcome.REGRESSION
    assert "It came tonight" in worse.reason
    assert changed.index == 19
