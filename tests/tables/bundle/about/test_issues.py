"""What Instruments noted of a run."""

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from bundle_writer import Issue, write_bundle
from documented_bundle import TICK
from tracekit.tables.bundle.bundle import Bundle
from tracekit.tables.bundle.run_info import issues_of

NAME = "Trace1.run/RunIssues.storedata"
MAPPING = Issue("Data stream: Time Mapping")
HEALTHY = (
    'Instruments noted once "Data stream: Time Mapping", as in nearly every trace that is whole.'
)


def noted(bundle: Path) -> tuple[str, ...]:
    opened = Bundle(bundle)
    return issues_of(opened, opened.runs[0])


def written(folder: Path, *issues: Issue) -> Path:
    return write_bundle(folder / "made.trace", [TICK], issues=issues)


def replaced(folder: Path, *statements: str) -> Path:
    bundle = written(folder)
    (bundle / NAME).unlink()
    with closing(sqlite3.connect(bundle / NAME)) as database, database:
        for statement in statements:
            database.execute(statement)
    return bundle


def test_what_nearly_every_trace_has_alarms_nobody(tmp_path: Path) -> None:
    assert noted(written(tmp_path, MAPPING)) == (HEALTHY,)


def test_issues_of_a_kind_are_counted(tmp_path: Path) -> None:
    bundle = written(
        tmp_path,
        Issue("Data stream: Signpost\nintervals", kind=1, count=1200, nanoseconds=7),
        Issue("Data stream: Signpost\nintervals", kind=1, count=34, nanoseconds=9),
        MAPPING,
    )
    healthy, other = noted(bundle)
    assert healthy == HEALTHY
    assert other == (
        'Instruments noted 1,234 times "Data stream: Signpost intervals"; how grave that is, the '
        "bundle does not tell."
    )


def test_no_database(tmp_path: Path) -> None:
    bundle = written(tmp_path, MAPPING)
    (bundle / NAME).unlink()
    (told,) = noted(bundle)
    assert told.endswith(f"{NAME} is missing.")


def test_long_and_many_issues_are_cut(tmp_path: Path) -> None:
    found = noted(written(tmp_path, *(Issue(f"{n:02} {'x' * 500}", count=0) for n in range(25))))
    assert len(found) == 21
    assert found[0].startswith('Instruments noted once "00 xxx')
    assert len(found[0]) < 300
    assert found[-1] == ("Instruments noted more than 20 kinds of issues; the rest is left out.")


def test_nothing_is_written_beside_it(tmp_path: Path) -> None:
    bundle = written(tmp_path, MAPPING)
    (bundle / f"{NAME}-wal").write_bytes(b"not looked at")
    before = sorted(bundle.rglob("*"))
    assert noted(bundle) == (HEALTHY,)
    assert sorted(bundle.rglob("*")) == before
    assert (bundle / f"{NAME}-wal").read_bytes() == b"not looked at"


def test_a_database_in_another_mode_is_read(tmp_path: Path) -> None:
    bundle = written(tmp_path, MAPPING)
    with closing(sqlite3.connect(bundle / NAME)) as database:
        database.execute("PRAGMA journal_mode = WAL")
    assert noted(bundle) == (HEALTHY,)


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\0" + bytes(200)])
def test_a_damaged_database_is_told(tmp_path: Path, content: bytes) -> None:
    bundle = written(tmp_path)
    (bundle / NAME).write_bytes(content)
    (told,) = noted(bundle)
    assert told == (
        f"What Instruments noted of run 1 is not available: {NAME} is no database that can be read."
    )


def test_a_huge_file_is_not_opened(tmp_path: Path) -> None:
    bundle = written(tmp_path)
    with (bundle / NAME).open("r+b") as file:
        file.truncate((1 << 26) + 1)
    (told,) = noted(bundle)
    assert "is larger than 67,108,864 bytes" in told


ENDLESS = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT x FROM c"


@pytest.mark.parametrize("kept", [0, -1, -4096])
def test_a_cut_file_is_told(tmp_path: Path, kept: int) -> None:
    bundle = written(tmp_path, MAPPING)
    (bundle / NAME).write_bytes((bundle / NAME).read_bytes()[:kept])
    (told,) = noted(bundle)
    assert "is no database that can be read" in told


def test_a_table_of_other_columns_is_told(tmp_path: Path) -> None:
    (told,) = noted(replaced(tmp_path, "CREATE TABLE ZISSUE (ZTYPE INTEGER)"))
    assert "is no database that can be read" in told
