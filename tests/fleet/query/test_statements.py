"""SQL that would do more than read, and files that are nobody's business."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tracekit.base.errors import TracekitError, UsageError
from tracekit.fleet.query.ask import require_question

Ask = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        yield opened


@pytest.mark.parametrize(
    "sql",
    [
        "select 1",
        "-- a word before\nselect 'ä' /* and within */;",
        "with a as (select 1) select * from a",
        "from a",
        "describe a",
        "pivot a on b using sum(c)",
        "with x as (pivot y on z using sum(q)) select 1",
        "unpivot a on b into name n value v",
        "explain select 1",
        "explain analyze select 1",
        "EXPLAIN ANALYZE pivot a on b using sum(c)",
    ],
)
def test_what_reads_is_a_question(sql: str, connection: duckdb.DuckDBPyConnection) -> None:
    require_question(connection, sql)


@pytest.mark.parametrize(
    "sql",
    [
        "copy (select 1) to 'x.csv'",
        "explain analyze copy (select 1) to 'x.csv'",
        "/* */ explain /* */ analyze -- \n copy (select 1) to 'x.csv'",
        "create table a as pivot b on c using sum(d)",
        "attach 'x.db'",
        "install httpfs",
        "set memory_limit = '1TB'",
        "set lock_configuration = false",
        "create table a (b int)",
        "create view gpu_intervals as select 1",
        "insert into a values (1)",
        "export database 'x'",
        "prepare a as select 1",
        "show tables",
        "describe",
        "/* a */ DESCRIBE -- b\n;",
        "describe all tables",
    ],
)
def test_what_does_more_is_refused(
    sql: str, connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(
        UsageError, match=r"is refused: a query reads|is not answered: tables are made"
    ):
        require_question(connection, sql)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("sql", "said"), [("select 1; select 2", "2 statements"), (" ;", "0 statements")]
)
def test_one_statement_is_asked_for(
    sql: str, said: str, connection: duckdb.DuckDBPyConnection
) -> None:
    with pytest.raises(UsageError, match=said):
        require_question(connection, sql)


@pytest.mark.parametrize(
    "sql",
    [
        "select * from read_csv('/etc/passwd')",
        "select * from '{beside}'",
        "select * from read_parquet('{beside}')",
        "select * from read_text('{inside}/../../../{beside}')",
        "select * from glob('/etc/*')",
        "select * from 'https://127.0.0.1:9/x.parquet'",
        "select getenv('HOME')",
        "select * from query('copy (select 1) to ''x.csv''')",
    ],
)
def test_files_outside_the_runs_are_not_read(
    sql: str, two_runs: Path, ask: Ask, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    beside = tmp_path / "beside.parquet"
    duckdb.sql("select 1 as secret").write_parquet(str(beside))
    before = sorted(one for one in tmp_path.rglob("*") if "runs" not in one.parts)
    monkeypatch.chdir(tmp_path)
    words = sql.format(beside=beside, inside=two_runs / "a" / "tables")
    with pytest.raises(TracekitError) as raised:
        ask(words, two_runs)
    assert "\n" not in raised.value.message
    assert sorted(one for one in tmp_path.rglob("*") if "runs" not in one.parts) == before
