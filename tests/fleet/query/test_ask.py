"""Questions over several runs, and what is said of runs that do not answer."""

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tracekit.analysis.scope import families
from tracekit.base.errors import RecordingError, UsageError

Ask = Callable[..., list[dict[str, Any]]]
Make = Callable[..., Path]


def test_a_table_has_the_rows_of_all_runs_with_their_names_first(two_runs: Path, ask: Ask) -> None:
    rows = ask("select * from gpu_intervals order by run, start", two_runs)
    assert list(rows[0])[:4] == ["run", "run_path", "start", "duration"]
    assert [(one["run"], one["start"], one["duration"]) for one in rows] == [
        *(("a", 0, 10), ("a", 20, 30), ("a", 50, 1)),
        *(("b", 5, 100), ("b", 200, 7)),
    ]
    assert {one["run_path"] for one in rows} == {str(two_runs / "a"), str(two_runs / "b")}
    assert [one["target"] for one in rows] == [True, True, False, True, False]


@pytest.mark.parametrize(
    "sql",
    [
        "with other as (select * from gpu_intervals) select count(*) n from other",
        'select count(*) n from "GPU_Intervals"',
        "select (select count(*) from gpu_intervals) n",
        "from gpu_intervals select count(*) n",
        "select count(*) n from main.gpu_intervals",
        "select count(*) n from query_table('gpu_intervals')",
        "select sum(Compute)::bigint n from (pivot gpu_intervals on channel using count(*))",
        "select count(*) n from runs join gpu_intervals using (run)",
        "with runs as (select 1 as run) select count(*) n from gpu_intervals, runs",
    ],
)
def test_a_table_is_found_wherever_it_is_named(sql: str, two_runs: Path, ask: Ask) -> None:
    assert ask(sql, two_runs) == [{"n": 5}]


def test_equal_work_has_one_family(ask: Ask, two_runs: Path) -> None:
    labels = [
        "Command Buffer 0:Gemm      ( python3 (4711) )  0xee6b2803",
        "  spaced\t",
        "",
        "0xff",
        "a ( b ) ",
        "it's",
    ]
    _, names = families(pd.Series(labels))
    for label, name in zip(labels, names, strict=True):
        quoted = label.replace("'", "''")
        assert ask(f"select family('{quoted}') f", two_runs) == [{"f": name}]
    assert ask("select family(null) f", two_runs) == [{"f": "unlabelled"}]


def test_a_damaged_run_is_named_and_the_others_answer(two_runs: Path, ask: Ask) -> None:
    (two_runs / "b" / "recording.json").write_text("{")
    said: list[str] = []
    assert ask("select distinct run from gpu_intervals", two_runs, warnings=said) == [{"run": "a"}]
    assert said[0].startswith("gpu_intervals of b is left out:")
    assert "recording.json cannot be read" in said[0]


@pytest.mark.skipif(sys.platform == "darwin", reason="names of files are text there")
def test_a_run_whose_name_is_no_text_is_named_and_the_others_answer(
    two_runs: Path, ask: Ask
) -> None:
    (two_runs / "a").rename(two_runs / "a\udcff")
    warnings: list[str] = []
    assert ask("select distinct run from gpu_intervals", two_runs, warnings=warnings) == [
        {"run": "b"}
    ]
    assert warnings[0].startswith(r"gpu_intervals of a\udcff is left out: ")
    assert warnings[0].endswith("is no text in UTF-8.")
    states = ask("select run, state from runs order by run", two_runs)
    assert [tuple(one.values()) for one in states] == [
        *((r"a\udcff", "unreadable"), ("b", "not analyzed"))
    ]


def test_what_a_reader_says_is_said_each_time(two_runs: Path, ask: Ask) -> None:
    export = two_runs / "b" / "exports" / "gpu.xml"
    export.write_bytes(export.read_bytes()[:-80])
    for _ in range(2):
        said: list[str] = []
        ask("select count(*) from gpu_intervals", two_runs, warnings=said)
        assert any(one.startswith("gpu_intervals of b: ") for one in said), said


def test_a_run_without_the_table_is_named(two_runs: Path, ask: Ask) -> None:
    export = two_runs / "b" / "exports" / "gpu.xml"
    export.write_text(export.read_text().replace("metal-gpu-intervals", "unheard-of"))
    said: list[str] = []
    assert ask("select count(*) n from gpu_intervals", two_runs, warnings=said) == [{"n": 3}]
    assert said[0] == "gpu_intervals of b is left out: there is none."


def test_a_table_that_no_run_has_is_said_with_what_it_is_made_of(two_runs: Path, ask: Ask) -> None:
    with pytest.raises(RecordingError, match="No run has a table gpu_counters") as raised:
        ask("select * from gpu_counters", two_runs)
    assert raised.value.hint.startswith("It is made of ")


@pytest.mark.parametrize(
    ("sql", "said", "hint"),
    [
        ("select * from gpu_interval", "There is no table 'gpu_interval'", "gpu_intervals"),
        ("select durations from gpu_intervals", '"durations" not found', '"duration"'),
        ("select )", 'syntax error at or near ")"', ""),
        ("select nothing_such(1)", "nothing_such does not exist", "Did you mean"),
        ("select * from elsewhere.gpu_intervals", "elsewhere", ""),
        ("select label::int from gpu_intervals", "Could not convert", ""),
        ("select error('it is so')", "it is so.", ""),
    ],
)
def test_what_cannot_be_answered_is_one_sentence(
    sql: str, said: str, hint: str, two_runs: Path, ask: Ask
) -> None:
    with pytest.raises(UsageError) as raised:
        ask(sql, two_runs)
    assert said in raised.value.message
    assert "\n" not in raised.value.message
    assert hint in raised.value.hint


def test_a_folder_whose_name_is_a_pattern_is_read(run: Make, ask: Ask) -> None:
    folder = run("it's a [1]* {b}", [(0, 10, 7, "python3")])
    rows = ask("select run, start from gpu_intervals", folder)
    assert rows == [{"run": "it's a [1]* {b}", "start": 0}]
