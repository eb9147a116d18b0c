"""What is no history that this tracekit can read is told, and left alone."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from stored_nights import night_of
from tracekit.base.errors import InputError, RecordingError
from tracekit.nightly.history.store.schema import VERSION_TABLE
from tracekit.nightly.history.store.store import Store

Say = Callable[[str], list[Any]]

UPDATE = f"UPDATE {VERSION_TABLE} SET version_num = '0999'"  # noqa: S608


def test_a_history_of_a_newer_tracekit_is_left_alone(url: str, sql: Say) -> None:
    with Store.open(url) as store:
        store.append(night_of(1))
    sql(UPDATE)
    for migrate in (True, False):
        with (
            pytest.raises(InputError, match="by a newer tracekit: its tables have version 0999"),
            Store.open(url, make=migrate),
        ):
            pass
    with pytest.raises(InputError, match="0999"), Store.open(url):
        pass
    assert sql("SELECT count(*) FROM nights") == [(1,)]


def test_a_night_of_a_newer_format_is_told(store: Store) -> None:
    store.append(night_of(1, format=1))
    with pytest.raises(InputError, match="has format 99; this tracekit reads up to 1"):
        store.append(night_of(1, format=99))


@pytest.mark.parametrize("table", ["judgements", "nights", "pins"])
def test_a_history_that_lacks_a_table_is_told(url: str, sql: Say, table: str) -> None:
    with Store.open(url) as store:
        store.append(night_of(1))
    sql(f"DROP TABLE {table}" + ("" if url.startswith("sqlite") else " CASCADE"))
    with pytest.raises(InputError, match=f"is not whole: it has no table {table}"), Store.open(url):
        pass


def test_a_database_of_something_else_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "other.db"
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE cats (name TEXT)")
    connection.close()
    before = file.read_bytes()
    with (
        pytest.raises(InputError, match="is no history, or not whole: it has a table cats"),
        Store.open(str(file)),
    ):
        pass
    assert file.read_bytes() == before


def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("what I think of it\n" * 100)
    with pytest.raises(InputError, match="file is not a database"), Store.open(str(file)):
        pass
    assert file.read_text() == "what I think of it\n" * 100


def test_a_file_that_is_damaged_is_told(sqlite_file: Path) -> None:
    content = bytearray(sqlite_file.read_bytes())
    content[4096 * 3 :] = b"\xa5" * (len(content) - 4096 * 3)
    sqlite_file.write_bytes(content)
    with (
        pytest.raises(InputError, match="cannot be used as a history: "),
        Store.open(str(sqlite_file)) as store,
    ):
        store.nights()


def test_a_folder_is_no_history(tmp_path: Path) -> None:
    with (
        pytest.raises(RecordingError, match="is a folder, not a history"),
        Store.open(str(tmp_path)),
    ):
        pass


def test_an_empty_file_becomes_a_history(tmp_path: Path) -> None:
    """A writer that was killed before its first page leaves one."""
    (tmp_path / "history.db").touch()
    with Store.open(str(tmp_path / "history.db")) as store:
        assert store.append(night_of(1))


def test_nothing_is_made_for_a_reader(tmp_path: Path, url: str) -> None:
    file = tmp_path / "history.db"
    with (
        pytest.raises(RecordingError, match="There is no history at"),
        Store.open(str(file), make=False),
    ):
        pass
    assert not file.exists()
    file.touch()
    with (
        pytest.raises(InputError, match="holds no history yet"),
        Store.open(str(file), make=False),
    ):
        pass
    assert not file.stat().st_size
