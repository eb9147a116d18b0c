"""Runs, metrics and findings as tables, also of batches; nothing unknown is a zero."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tracekit.analysis.result import Result, RuleCheck, Status
from tracekit.analysis.rule import Evidence, Finding, Severity
from tracekit.base.documents import save
from tracekit.base.errors import InputError, RecordingError
from tracekit.base.recording import Recording, Stage
from tracekit.fleet.batch.results import BatchRow, RowFinding, as_table
from tracekit.fleet.query import overviews
from tracekit.fleet.query.views import listing


def test_a_run_has_a_row_whatever_its_state(run: Any, analyzed: Any, ask: Any) -> None:
    analyzed("done", 5.0)
    run("raw", [(0, 1, 7, "python3")])
    run("stopped", [(0, 1, 7, "p")], stages={"export": Stage("failed", "", "No room.")})
    folder = run("broken", [(0, 1, 7, "p")]).parent
    (folder / "broken" / "recording.json").write_text("{")
    rows = ask("select run, state, error from runs order by run", folder)
    broken, *other_rows = [tuple(row.values()) for row in rows]
    assert broken[:2] == ("broken", "unreadable")
    assert "cannot be read" in broken[2]
    assert other_rows == [
        ("done", "analyzed", None),
        ("raw", "not analyzed", None),
        ("stopped", "export failed", "No room."),
    ]
    assert ask.said == ()


def test_the_origin_of_a_run_is_in_columns(run: Any, ask: Any) -> None:
    machine = {"chip": "Apple M4", "gpu_cores": "ten", "system": "macOS", "memory": 1 << 34}
    provenance_facts: dict[str, Any] = {"machine": machine, "templates": ("Metal System Trace",)}
    provenance_facts |= {"parameters": {"block_size": 16, "dtype": "float16"}, "duration": 1.5}
    folder = run("a", [(0, 1, 7, "p")], command=("serve", "--token", "private"), **provenance_facts)
    [row] = ask("select * from runs", folder)
    assert row["parameters"] == {"block_size": "16", "dtype": "float16"}
    assert (row["chip"], row["gpu_cores"], row["memory"]) == ("Apple M4", None, 1 << 34)
    assert (row["device"], row["template"]) == ("Apple M4, macOS", "Metal System Trace")
    assert (row["target_name"], row["target_pid"], row["seconds"]) == ("python3", 7, 1.5)
    assert row["git_commit"] is None
    assert "private" not in str(row)
    assert list(row) == overviews.schema_of("runs").names


def test_findings_have_their_savings_in_nanoseconds(analyzed: Any, ask: Any) -> None:
    [row] = ask("select * from findings", analyzed("a", 1.0))
    assert (row["rule"], row["severity"], row["saving"]) == ("bubbles", "warning", 40)
    assert (row["saving_per_token"], row["within"]) == (None, None)


def test_runs_without_a_result_are_named(analyzed: Any, run: Any, ask: Any) -> None:
    analyzed("a", 1.0)
    folder = run("raw", [(0, 1, 7, "p")]).parent
    (folder / "a" / "result.json").write_text("{}")
    assert ask("select * from metrics", folder) == []
    assert len(ask.said) == 2
    assert "metrics of raw is left out: it is not analyzed" in ask.said


def row(recording: str, key: str, **facts: Any) -> BatchRow:
    return BatchRow(recording, key, key, "stamp", "bundle", **{"state": "ok", **facts})


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A batch of three recordings: two analysed, one of them with a table, and one failed."""
    folder = tmp_path / "out"
    finding = RowFinding("bubbles", "warning", "The GPU waits.", "Wait less.", 1.25)
    machine: dict[str, Any] = {
        "target": "python3 (7)",
        "duration": 2.0,
        "device": "Apple M4, macOS 26",
    }
    rows = [
        row("one.trace", "k1", metrics={"gpu_busy": 10.0}, findings=(finding,), **machine),
        row("two.trace", "k2", metrics={"gpu_busy": 30.0}),
        row("bad.trace", "k3", state="failed", error="It is cut.", hint="Copy it again."),
    ]
    (folder / "results").mkdir(parents=True)
    for batch_row in rows:
        pq.write_table(as_table((batch_row,)), folder / "results" / f"{batch_row.key}.parquet")
    table = folder / "tables" / "gpu_intervals"
    table.mkdir(parents=True)
    content = {"recording": ["one.trace"] * 2, "start": [0, 5], "duration": [3, 4]}
    pq.write_table(pa.table(content), table / "k1.parquet")
    return folder


def test_the_results_are_there_as_they_are(out: Path, ask: Any) -> None:
    rows = ask("select * from batch_results order by run", out)
    assert list(rows[0])[:2] == ["run", "run_path"]
    assert [row["run"] for row in rows] == ["bad.trace", "one.trace", "two.trace"]
    assert [row["state"] for row in rows] == ["failed", "ok", "ok"]
    assert [row["hint"] for row in rows] == ["Copy it again.", "", ""]
    assert rows[1]["metrics"] == {"gpu_busy": 10.0}


def test_recordings_are_listed_among_the_runs(out: Path, run: Any, ask: Any) -> None:
    folder = run("a", [(0, 10, 7, "python3")])
    sql = "select run, state, error, target_name, target_pid from runs order by run"
    rows = ask(sql, folder, out)
    prefix = f"{out.name}:"
    assert [tuple(row.values()) for row in rows] == [
        ("a", "not analyzed", None, "python3", 7),
        (f"{prefix}bad.trace", "failed", "It is cut.", None, None),
        (f"{prefix}one.trace", "analyzed", None, "python3", 7),
        (f"{prefix}two.trace", "analyzed", None, None, None),
    ]


def test_metrics_and_savings_have_units_and_failures_are_named(out: Path, ask: Any) -> None:
    rows = ask("select run, metric, value, unit from metrics order by run", out)
    assert [tuple(row.values()) for row in rows] == [
        ("one.trace", "gpu_busy", 10.0, "ns"),
        ("two.trace", "gpu_busy", 30.0, "ns"),
    ]
    assert ask.said == ("metrics of bad.trace is left out: It is cut.",)
    [finding] = ask("select run, rule, saving, within from findings", out)
    assert tuple(finding.values()) == ("one.trace", "bubbles", 1_250_000, None)


def test_tables_of_batches_and_runs_are_one(out: Path, run: Any, ask: Any) -> None:
    folder = run("a", [(0, 10, 7, "python3")])
    sums = "select run, sum(duration)::bigint s, count(label) n from gpu_intervals group by run"
    rows = ask(f"{sums} order by run", folder, out)
    assert [tuple(row.values()) for row in rows] == [("a", 10, 1), (f"{out.name}:one.trace", 7, 0)]
    assert ask.said[0] == f"gpu_intervals of {out.name}:two.trace is left out: there is none."


def test_a_file_that_is_cut_is_left_out(out: Path, ask: Any) -> None:
    file = out / "tables" / "gpu_intervals" / "k2.parquet"
    file.write_bytes((out / "tables" / "gpu_intervals" / "k1.parquet").read_bytes()[:-5])
    assert ask("select count(*) n from gpu_intervals", out) == [{"n": 2}]
    assert "two.trace" in ask.said[0]
    cut_file = out / "results" / "k1.parquet"
    content = cut_file.read_bytes()
    cut_file.write_bytes(content[:4] + bytes(197) + content[201:])
    assert ask("select run from metrics", out) == [{"run": "two.trace"}]
    assert ask("select count(*) n from batch_results", out) == [{"n": 2}]


@pytest.mark.parametrize("name", ["runs", "metrics", "findings", "batch_results"])
def test_a_folder_may_be_called_like_a_part_of_a_question(name: str, out: Path, ask: Any) -> None:
    folder = out.rename(out.with_name("ROWS UNITS"))
    assert {row["run_path"] for row in ask(f"from {name}", folder)} == {str(folder)}


@pytest.mark.parametrize("lacking", [["state"], ["key", "stamp"]])
def test_an_unreadable_row_is_said_in_a_sentence(lacking: list[str], out: Path, ask: Any) -> None:
    file = out / "results" / "k1.parquet"
    pq.write_table(pq.read_table(file).drop_columns(lacking), file)
    with pytest.raises(InputError, match=f"A row in .* cannot be read: .*`{lacking[0]}`"):
        ask("select * from gpu_intervals", out)


def test_without_a_batch_there_are_no_results_of_one(run: Any, ask: Any) -> None:
    with pytest.raises(RecordingError, match="No batch is asked"):
        ask("select * from batch_results", run("a", [(0, 10, 7, "python3")]))


def test_tables_are_listed_with_their_runs(out: Path, analyzed: Any, run: Any) -> None:
    folder = analyzed("a", 1.0)
    broken = run("b", [(0, 10, 7, "python3")])
    (broken / "recording.json").write_text("{")
    views, warnings = listing([folder, broken, out])
    counts = {name: runs for name, runs, _ in views}
    assert counts["runs"] == 5
    assert (counts["metrics"], counts["gpu_intervals"], counts["batch_results"]) == (3, 2, 3)
    assert "hangs" not in counts
    columns = {name: columns for name, _, columns in views}
    assert columns["gpu_intervals"][:4] == ["run", "run_path", "start", "duration"]
    assert warnings[0].startswith("every table of b is left out: ")


def test_windows_and_checks_are_tables(run: Any, ask: Any) -> None:
    folder = run("a", [(0, 10, 7, "python3")])
    windows = (Evidence("gpu_intervals", 10, 30, "late"), Evidence("submissions", 40, 40))
    finding = Finding("bubbles", Severity.WARNING, "Idle.", "Commit.", windows, cause="host")
    checks = (
        RuleCheck("bubbles", Status.FOUND),
        RuleCheck("low-occupancy", Status.ABSTAINED, "no counters.", "tracekit capture …"),
    )
    recording = Recording(folder)
    result = Result(recording.provenance(), findings=(finding, finding), checks=checks)
    save(recording.result_file, result)
    rows = ask("select * exclude (run, run_path) from evidence order by all", folder)
    assert [tuple(window.values()) for window in rows] == [
        (1, "bubbles", "gpu_intervals", 10, 20, "late"),
        (1, "bubbles", "submissions", 40, 0, None),
        (2, "bubbles", "gpu_intervals", 10, 20, "late"),
        (2, "bubbles", "submissions", 40, 0, None),
    ]
    rows = ask("select rule, status, reason, remedy from checks order by rule", folder)
    assert [tuple(check.values()) for check in rows] == [
        ("bubbles", "found", None, None),
        ("low-occupancy", "abstained", "no counters.", "tracekit capture …"),
    ]
    [first, _] = ask("select finding, cause, lever from findings order by finding", folder)
    assert tuple(first.values()) == (1, "host", None)


def test_a_batch_keeps_no_windows_and_no_checks(out: Path, ask: Any) -> None:
    for name in ("evidence", "checks"):
        assert ask(f"from {name}", out) == [], name
        assert f"{name} of {out.name} is left out: a batch does not keep its {name}." in ask.said


def test_the_longest_gap_and_its_cause_are_one_query(run: Any, ask: Any) -> None:
    rows = [(0, 10, 7, "python3"), (50, 10, 7, "python3"), (65, 10, 7, "python3")]
    folder = run("a", rows)
    run("b", [(0, 10, 8, "other")])
    [gap] = ask("select * from gaps order by duration desc limit 1", folder)
    assert (gap["run"], gap["start"], gap["duration"]) == ("a", 10, 40)
    assert gap["cause"] is not None
    whole_folder = folder.parent
    assert ask("select count(*) n from gaps", whole_folder) == [{"n": 2}]
    assert "gaps of b is left out: " in ask.said[0]
    views, _ = listing([whole_folder])
    assert {name: count for name, count, _ in views}["gaps"] == 2
