"""The data set of a batch answers like runs do."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tracekit.base.errors import InputError, RecordingError
from tracekit.fleet.batch.results import BatchRow, RowFinding, as_table
from tracekit.fleet.query.views import listing

Ask = Callable[..., list[dict[str, Any]]]
Make = Callable[..., Path]


def row(recording: str, key: str, **facts: Any) -> BatchRow:
    return BatchRow(recording, key, key, "stamp", "bundle", **{"state": "ok", **facts})


@pytest.fixture
def out(tmp_path: Path) -> Path:
    """A batch of three recordings: two analysed, one of them with a table, and one failed."""
    folder = tmp_path / "out"
    finding = RowFinding("bubbles", "warning", "The GPU waits.", "Wait less.", 1.25)
    rows = [
        row(
            "one.trace",
            "k1",
            metrics={"gpu_busy": 10.0},
            findings=(finding,),
            target="python3 (7)",
            duration=2.0,
            device="Apple M4, macOS 26",
        ),
        row("two.trace", "k2", metrics={"gpu_busy": 30.0}),
        row("bad.trace", "k3", state="failed", error="It is cut.", hint="Copy it again."),
    ]
    (folder / "results").mkdir(parents=True)
    for one in rows:
        pq.write_table(as_table((one,)), folder / "results" / f"{one.key}.parquet")
    table = folder / "tables" / "gpu_intervals"
    table.mkdir(parents=True)
    content = {"recording": ["one.trace"] * 2, "start": [0, 5], "duration": [3, 4]}
    pq.write_table(pa.table(content), table / "k1.parquet")
    return folder


def test_the_results_are_there_as_they_are(out: Path, ask: Ask) -> None:
    rows = ask("select * from batch_results order by run", out)
    assert list(rows[0])[:2] == ["run", "run_path"]
    assert [(one["run"], one["state"], one["hint"]) for one in rows] == [
        ("bad.trace", "failed", "Copy it again."),
        ("one.trace", "ok", ""),
        ("two.trace", "ok", ""),
    ]
    assert rows[1]["metrics"] == {"gpu_busy": 10.0}


def test_recordings_stand_among_the_runs(out: Path, run: Make, ask: Ask) -> None:
    folder = run("a", [(0, 10, 7, "python3")])
    rows = ask(
        "select run, state, error, target_name, target_pid from runs order by run", folder, out
    )
    prefix = f"{out.name}:"
    assert [tuple(one.values()) for one in rows] == [
        ("a", "not analyzed", None, "python3", 7),
        (f"{prefix}bad.trace", "failed", "It is cut.", None, None),
        (f"{prefix}one.trace", "analyzed", None, "python3", 7),
        (f"{prefix}two.trace", "analyzed", None, None, None),
    ]


def test_metrics_have_their_units_and_what_failed_is_named(out: Path, ask: Ask) -> None:
    said: list[str] = []
    rows = ask("select run, metric, value, unit from metrics order by run", out, warnings=said)
    assert [tuple(one.values()) for one in rows] == [
        ("one.trace", "gpu_busy", 10.0, "ns"),
        ("two.trace", "gpu_busy", 30.0, "ns"),
    ]
    assert said == ["metrics of bad.trace is left out: It is cut."]


def test_savings_are_nanoseconds_as_those_of_runs(out: Path, ask: Ask) -> None:
    [found] = ask("select run, rule, saving, within from findings", out)
    assert tuple(found.values()) == ("one.trace", "bubbles", 1_250_000, None)


def test_tables_of_batches_and_runs_are_one(out: Path, run: Make, ask: Ask) -> None:
    folder = run("a", [(0, 10, 7, "python3")])
    said: list[str] = []
    rows = ask(
        "select run, sum(duration)::bigint s, count(label) n from gpu_intervals "
        "group by run order by run",
        *(folder, out),
        warnings=said,
    )
    assert [tuple(one.values()) for one in rows] == [("a", 10, 1), (f"{out.name}:one.trace", 7, 0)]
    assert said[0] == f"gpu_intervals of {out.name}:two.trace is left out: there is none."


def test_a_file_that_is_cut_is_left_out(out: Path, ask: Ask) -> None:
    file = out / "tables" / "gpu_intervals" / "k2.parquet"
    file.write_bytes((out / "tables" / "gpu_intervals" / "k1.parquet").read_bytes()[:-5])
    said: list[str] = []
    assert ask("select count(*) n from gpu_intervals", out, warnings=said) == [{"n": 2}]
    assert "two.trace" in said[0]
    cut = out / "results" / "k1.parquet"
    content = cut.read_bytes()
    cut.write_bytes(content[:4] + bytes(197) + content[201:])
    assert ask("select run from metrics", out) == [{"run": "two.trace"}]
    assert ask("select count(*) n from batch_results", out) == [{"n": 2}]


@pytest.mark.parametrize("name", ["runs", "metrics", "findings", "batch_results"])
def test_a_folder_may_be_called_like_a_part_of_a_question(name: str, out: Path, ask: Ask) -> None:
    folder = out.rename(out.with_name("ROWS UNITS"))
    assert {row["run_path"] for row in ask(f"from {name}", folder)} == {str(folder)}


@pytest.mark.parametrize("lacking", [["state"], ["key", "stamp"]])
def test_a_row_that_cannot_be_read_is_said_in_a_sentence(
    lacking: list[str], out: Path, ask: Ask
) -> None:
    file = out / "results" / "k1.parquet"
    pq.write_table(pq.read_table(file).drop_columns(lacking), file)
    with pytest.raises(InputError, match=f"A row in .* cannot be read: .*`{lacking[0]}`"):
        ask("select * from gpu_intervals", out)


def test_without_a_batch_there_are_no_results_of_one(run: Make, ask: Ask) -> None:
    with pytest.raises(RecordingError, match="No batch is asked"):
        ask("select * from batch_results", run("a", [(0, 10, 7, "python3")]))


def test_what_can_be_asked_is_listed_with_the_number_of_runs(
    out: Path, analyzed: Make, run: Make
) -> None:
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
