"""Questions over several runs: what may be asked, answers, and what is said of what has none."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from tracekit.analysis.scope import families
from tracekit.base.errors import InputError, RecordingError, UsageError
from tracekit.fleet.query.ask import missing_table, refusal, require_question
from tracekit.fleet.query.views import LeftOut


def test_a_table_has_the_rows_of_all_runs_with_their_names_first(two_runs: Path, ask: Any) -> None:
    rows = ask("select * from gpu_intervals order by run, start", two_runs)
    assert list(rows[0])[:4] == ["run", "run_path", "start", "duration"]
    assert [(row["run"], row["start"], row["duration"]) for row in rows] == [
        *(("a", 0, 10), ("a", 20, 30), ("a", 50, 1)),
        *(("b", 5, 100), ("b", 200, 7)),
    ]
    assert {row["run_path"] for row in rows} == {str(two_runs / "a"), str(two_runs / "b")}
    assert [row["target"] for row in rows] == [True, True, False, True, False]


def test_tables_that_fill_several_files_are_one_table(
    two_runs: Path, ask: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tracekit.fleet.query.kept_rows.ROW_GROUP", 1)
    starts = [row["start"] for row in ask("select start from gpu_intervals", two_runs)]
    assert starts == [0, 20, 50, 5, 200]


def test_a_table_is_found_wherever_it_is_named(two_runs: Path, ask: Any) -> None:
    for sql in (
        "with other as (select * from gpu_intervals) select count(*) n from other",
        'select count(*) n from "GPU_Intervals"',
        "select (select count(*) from gpu_intervals) n",
        "from gpu_intervals select count(*) n",
        "select count(*) n from main.gpu_intervals",
        "select count(*) n from query_table('gpu_intervals')",
        "select sum(Compute)::bigint n from (pivot gpu_intervals on channel using count(*))",
        "select count(*) n from runs join gpu_intervals using (run)",
        "with runs as (select 1 as run) select count(*) n from gpu_intervals, runs",
    ):
        assert ask(sql, two_runs) == [{"n": 5}]


def test_equal_work_has_one_family(ask: Any, two_runs: Path) -> None:
    labels = ["Command Buffer 0:Gemm      ( python3 (4711) )  0xee6b2803", "  spaced\t", ""]
    labels += ["0xff", "a ( b ) ", "it's"]
    _, names = families(pd.Series(labels))
    for label, name in zip(labels, names, strict=True):
        quoted = label.replace("'", "''")
        assert ask(f"select family('{quoted}') f", two_runs) == [{"f": name}]
    assert ask("select family(null) f", two_runs) == [{"f": "unlabelled"}]


def test_a_damaged_run_is_named_and_the_others_answer(two_runs: Path, ask: Any) -> None:
    (two_runs / "b" / "recording.json").write_text("{")
    assert ask("select distinct run from gpu_intervals", two_runs) == [{"run": "a"}]
    assert ask.said[0].startswith("gpu_intervals of b is left out:")
    assert "recording.json cannot be read" in ask.said[0]


@pytest.mark.skipif(sys.platform == "darwin", reason="names of files are text there")
def test_an_undecodable_run_name_is_reported_and_others_answer(two_runs: Path, ask: Any) -> None:
    (two_runs / "a").rename(two_runs / "a\udcff")
    assert ask("select distinct run from gpu_intervals", two_runs) == [{"run": "b"}]
    assert ask.said[0].startswith(r"gpu_intervals of a\udcff is left out: ")
    assert ask.said[0].endswith("is not UTF-8 text.")
    states = ask("select state from runs order by run", two_runs)
    assert states == [{"state": "unreadable"}, {"state": "not analyzed"}]


def test_a_readers_warning_is_repeated(two_runs: Path, ask: Any) -> None:
    export = two_runs / "b" / "exports" / "gpu.xml"
    export.write_bytes(export.read_bytes()[:-80])
    for _ in range(2):
        ask("select count(*) from gpu_intervals", two_runs)
        assert any(words.startswith("gpu_intervals of b: ") for words in ask.said), ask.said


def test_a_table_of_no_run_is_reported_with_its_sources(two_runs: Path, ask: Any) -> None:
    with pytest.raises(RecordingError, match="No run has a table gpu_counters") as raised:
        ask("select * from gpu_counters", two_runs)
    assert raised.value.hint.startswith("It is made of ")


def test_unanswerable_questions_are_one_sentence(two_runs: Path, ask: Any) -> None:
    for sql, message, hint in (
        ("select * from gpu_interval", "There is no table 'gpu_interval'", "gpu_intervals"),
        ("select durations from gpu_intervals", '"durations" not found', '"duration"'),
        ("select )", 'syntax error at or near ")"', ""),
        ("select nothing_such(1)", "nothing_such does not exist", "Did you mean"),
        ("select * from elsewhere.gpu_intervals", "elsewhere", ""),
        ("select label::int from gpu_intervals", "Could not convert", ""),
        ("select error('it is so')", "it is so.", ""),
    ):
        with pytest.raises(UsageError) as raised:
            ask(sql, two_runs)
        assert message in raised.value.message
        assert "\n" not in raised.value.message, sql
        assert hint in raised.value.hint, sql


def test_a_folder_whose_name_is_a_pattern_is_read(run: Any, ask: Any) -> None:
    folder = run("it's a [1]* {b}", [(0, 10, 7, "python3")])
    rows = ask("select run, start from gpu_intervals", folder)
    assert rows == [{"run": "it's a [1]* {b}", "start": 0}]


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        yield opened


def test_select_statements_are_allowed(connection: duckdb.DuckDBPyConnection) -> None:
    for sql in (
        "select 1",
        "-- a word before\nselect 'ä' /* and within */;",
        "with a as (select 1) select * from a",
        "from a",
        "describe a",
        "pivot a on b using sum(c)",
        "with x as (pivot y on z using sum(q)) select 1",
        "(unpivot a on b into name n value v)",
        "(pivot a on b using sum(c))",
        "explain select 1",
        "explain analyze select 1",
        "EXPLAIN ANALYZE pivot a on b using sum(c)",
    ):
        require_question(connection, sql)


REFUSED = (
    "copy (select 1) to 'x.csv'",
    "explain analyze copy (select 1) to 'x.csv'",
    "/* */ explain /* */ analyze -- \n copy (select 1) to 'x.csv'",
    "create table a as pivot b on c using sum(d)",
    "attach 'x.db'",
    "set memory_limit = '1TB'",
    "create view gpu_intervals as select 1",
    "prepare a as select 1",
)
LISTS = ("show tables", "describe", "/* a */ DESCRIBE -- b\n;", "describe all tables")


def test_other_statements_are_refused(
    connection: duckdb.DuckDBPyConnection, subtests: pytest.Subtests
) -> None:
    for sql, message in (
        *((sql, "is refused: a query reads") for sql in REFUSED),
        *((sql, "is not answered: tables are made") for sql in LISTS),
    ):
        with subtests.test(sql), pytest.raises(UsageError, match=message):
            require_question(connection, sql)


def test_one_statement_is_asked_for(connection: duckdb.DuckDBPyConnection) -> None:
    for sql, number in (("select 1; select 2", 2), (" ;", 0)):
        with pytest.raises(UsageError, match=f"{number} statements"):
            require_question(connection, sql)


DISABLED = "is refused: Cannot access file .* file system operations are disabled"


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        ("select * from read_csv('/etc/passwd')", DISABLED),
        ("select * from '{beside}'", DISABLED),
        ("select * from read_parquet('{beside}')", DISABLED),
        ("select * from read_text('{inside}/../../../{beside.name}')", DISABLED),
        ("select * from glob('/etc/*')", DISABLED),
        ("select * from 'https://127.0.0.1:9/x.parquet'", DISABLED),
        ("select getenv('HOME')", "getenv does not exist"),
        ("select * from query('copy (select 1) to ''x.csv''')", "Expected a single SELECT"),
    ],
)
def test_files_outside_the_runs_are_not_read(
    sql: str, said: str, two_runs: Path, ask: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    outside_file = tmp_path / "beside.parquet"
    duckdb.sql("select 1 as secret").write_parquet(str(outside_file))
    ask("select count(*) from gpu_intervals", two_runs)  # makes the folder that may be read
    with pytest.raises(UsageError, match=said) as raised:
        ask(sql.format(beside=outside_file, inside=two_runs / "a" / "tables"), two_runs)
    assert "\n" not in raised.value.message
    assert {path.name for path in tmp_path.iterdir()} == {"runs", outside_file.name}


def test_an_error_is_one_sentence_of_the_right_class() -> None:
    for error, kind, message in (
        (duckdb.OutOfMemoryException("Out of Memory Error: a\nb"), InputError, "failed: a b."),
        (duckdb.IOException("IO Error: cut"), InputError, "The query failed: cut."),
        (duckdb.PermissionException("Permission Error: no"), UsageError, "is refused: no."),
        (duckdb.BinderException("Binder Error: so\n\nLINE 1: x\n  ^"), UsageError, "answered: so."),
        (duckdb.ConversionException("Conversion Error: a!"), UsageError, "cannot be answered: a!"),
    ):
        reported_error = refusal(error)
        assert type(reported_error) is kind, message
        assert reported_error.message.endswith(message)


def test_only_a_missing_table_is_one() -> None:
    missing = duckdb.CatalogException('Catalog Error: Table with name "a b" does not exist!')
    assert missing_table(missing) == "a b"
    function = duckdb.CatalogException("Catalog Error: Scalar Function with name f does not exist!")
    assert missing_table(function) == ""
    assert missing_table(duckdb.BinderException("Table with name a does not exist!")) == ""


def test_many_runs_are_counted_and_some_named() -> None:
    omissions = LeftOut()
    for number in range(30):
        omissions.note("hangs", f"r{number}")
        omissions.note("steps", f"r{number}", " is left out: It is cut.")
        omissions.note("steps", f"r{number}", ": A column is new.")
    some = ", ".join(f"r{number}" for number in range(12))
    assert omissions.warnings == (
        f"hangs of {some} and 18 more is left out: there is none.",
        f"steps of {some} and 18 more is left out: It is cut.",
        f"steps of {some} and 18 more: A column is new.",
    )
