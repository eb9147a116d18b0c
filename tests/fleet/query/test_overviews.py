"""Runs, metrics and findings as tables; nothing unknown is a zero."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tracekit.base.recording import Stage
from tracekit.fleet.query import overviews

Ask = Callable[..., list[dict[str, Any]]]
Make = Callable[..., Path]


def test_a_run_has_a_row_whatever_its_state(run: Make, analyzed: Make, ask: Ask) -> None:
    analyzed("done", 5.0)
    run("raw", [(0, 1, 7, "python3")])
    run("stopped", [(0, 1, 7, "p")], stages={"export": Stage("failed", "", "No room.")})
    folder = run("broken", [(0, 1, 7, "p")]).parent
    (folder / "broken" / "recording.json").write_text("{")
    said: list[str] = []
    rows = ask("select run, state, error from runs order by run", folder, warnings=said)
    broken, *others = [tuple(one.values()) for one in rows]
    assert broken[:2] == ("broken", "unreadable")
    assert "cannot be read" in broken[2]
    assert others == [
        ("done", "analyzed", None),
        ("raw", "not analyzed", None),
        ("stopped", "export failed", "No room."),
    ]
    assert said == []


def test_where_a_run_comes_from_stands_in_columns(run: Make, ask: Ask) -> None:
    machine = {"chip": "Apple M4", "gpu_cores": "ten", "system": "macOS", "memory": 1 << 34}
    folder = run(
        "a",
        [(0, 1, 7, "p")],
        machine=machine,
        templates=("Metal System Trace",),
        parameters={"block_size": 16, "dtype": "float16"},
        duration=1.5,
        command=("serve", "--token", "private"),
    )
    [row] = ask("select * from runs", folder)
    assert row["parameters"] == {"block_size": "16", "dtype": "float16"}
    assert (row["chip"], row["gpu_cores"], row["memory"]) == ("Apple M4", None, 1 << 34)
    assert (row["device"], row["template"]) == ("Apple M4, macOS", "Metal System Trace")
    assert (row["target_name"], row["target_pid"], row["seconds"]) == ("python3", 7, 1.5)
    assert row["git_commit"] is None
    assert "private" not in str(row)
    assert list(row) == overviews.RUNS.names


def test_findings_have_their_savings_in_nanoseconds(analyzed: Make, ask: Ask) -> None:
    [row] = ask("select * from findings", analyzed("a", 1.0))
    assert (row["rule"], row["severity"], row["saving"]) == ("bubbles", "warning", 40)
    assert (row["saving_per_token"], row["within"]) == (None, None)


def test_runs_without_a_result_are_named(analyzed: Make, run: Make, ask: Ask) -> None:
    analyzed("a", 1.0)
    folder = run("raw", [(0, 1, 7, "p")]).parent
    (folder / "a" / "result.json").write_text("{}")
    said: list[str] = []
    assert ask("select * from metrics", folder, warnings=said) == []
    assert len(said) == 2
    assert "metrics of raw is left out: it is not analyzed" in said
