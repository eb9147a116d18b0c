"""What goes wrong around a history: nothing is lost, nothing is there twice, and it is said."""

import random
import tempfile
import time
from collections.abc import Callable, Iterator
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

import msgspec
import pytest
from sqlalchemy import event, insert

from stored_nights import append_all, night_of, numbered
from tracekit.base.errors import InputError, RecordingError
from tracekit.nightly.history.store.documents import append
from tracekit.nightly.history.store.schema import NIGHTS
from tracekit.nightly.history.store.store import Store

Say = Callable[[str], list[Any]]
MANY = 100
JUDGED = 1  # metrics of a numbered night


@pytest.fixture
def public_folder() -> Iterator[Path]:
    """A folder that others may enter, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="history-") as name:
        Path(name).chmod(0o755)
        yield Path(name)
        Path(name).chmod(0o755)


def acknowledged(file: Path) -> list[tuple[int, bool]]:
    """Read which numbers were acknowledged; the last line may have been cut off."""
    lines = file.read_text().splitlines(keepends=True) if file.exists() else []
    words = [line.split() for line in lines if line.endswith("\n")]
    return [(int(number), new == "1") for number, new in words]


def require_whole(url: str, say: Say, numbers: set[int]) -> set[int]:
    """Require that nights are there once and whole, `numbers` among them; return all of them."""
    with Store.open(url, make=False) as store:
        there = store.nights()
    found = {int(each.id[-4:]) for each in there}
    assert len(there) == len(found), "a night is there twice"
    assert numbers <= found, "a night that was acknowledged is not there"
    assert all(each == numbered(int(each.id[-4:])) for each in there)
    counts = say("SELECT count(*) FROM judgements GROUP BY night")
    assert counts == [(JUDGED,)] * len(found), "a night is there in part"
    return found


@pytest.mark.campaign
def test_a_kill_at_any_moment_loses_no_night_and_doubles_none(
    url: str, sql: Say, tmp_path: Path, processes: ForkServerContext
) -> None:
    chance = random.Random(7)
    log = tmp_path / "acknowledged"
    kills = 0
    while len(done := {number for number, _ in acknowledged(log)}) < MANY:
        begun = len(done)
        writer = processes.Process(target=append_all, args=(url, range(MANY), log))
        writer.start()
        if kills < 8:
            deadline = time.monotonic() + 60
            while len(acknowledged(log)) == begun and time.monotonic() < deadline:
                time.sleep(0.001)
            time.sleep(chance.uniform(0, 0.08))
            writer.kill()
            kills += 1
        writer.join(120)
        require_whole(url, sql, {number for number, _ in acknowledged(log)})
    assert kills >= 5
    assert require_whole(url, sql, set(range(MANY))) == set(range(MANY))


def test_two_writers_at_once_add_every_night_once(
    url: str, sql: Say, tmp_path: Path, processes: ForkServerContext
) -> None:
    shared = list(range(20))
    logs = [tmp_path / "first", tmp_path / "second"]
    own = [[*shared, *range(100, 130)], [*shared, *range(200, 230)]]
    writers = [
        processes.Process(target=append_all, args=(url, numbers, log))
        for numbers, log in zip(own, logs, strict=True)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(120)
        assert writer.exitcode == 0
    known = [each for log in logs for each in acknowledged(log)]
    new = [number for number, is_new in known if is_new]
    assert sorted(new) == sorted({*own[0], *own[1]}), "each was new to one of them"
    require_whole(url, sql, set(new))


def test_a_disk_that_is_full_is_told_and_nothing_of_the_night_is_kept(
    store: Store, url: str, sql: Say
) -> None:
    store.append(numbered(0))
    if store.database.is_sqlite:
        limit = store.database.engine
        pages = sql("PRAGMA page_count")[0][0] + 1
        event.listen(
            limit, "connect", lambda each, _: each.execute(f"PRAGMA max_page_count={pages}")
        )
    else:
        sql(
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE "
            "EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$"
        )
        sql("CREATE TRIGGER no_room BEFORE INSERT ON judgements EXECUTE FUNCTION full_disk()")
    with pytest.raises(RecordingError, match=r"disk is full|could not extend file") as raised:
        any(not store.append(numbered(number)) for number in range(1, 50))
    assert raised.value.exit_code == 3
    if not store.database.is_sqlite:
        sql("DROP TRIGGER no_room ON judgements")
    with Store.open(url) as again:
        kept = len(again.nights())
        assert again.append(numbered(kept))
    assert require_whole(url, sql, set(range(kept + 1))) == set(range(kept + 1))


def test_a_reader_sees_what_was_there_while_another_writes(url: str) -> None:
    with Store.open(url) as writer, Store.open(url, make=False) as reader:
        writer.append(night_of(1))
        with writer.database.writing() as connection:
            append(connection, night_of(2))
            assert reader.nights() == [night_of(1)]
            assert len(reader.series()[0].points) == 1
        assert reader.nights() == [night_of(1), night_of(2)]


def test_a_night_of_a_newer_format_is_a_point_and_is_not_read(url: str) -> None:
    with Store.open(url) as store:
        newer = msgspec.json.decode(msgspec.json.encode(night_of(2))) | {"format": 99}
        newer["entries"][0] |= {"pairs": "otherwise", "judged": {}}
        store.append(night_of(1))
        row = {"id": newer["id"], "plan": "nightly", "machine": "mini", "outcome": "failed"}
        row |= {"started": newer["started"], "document": msgspec.json.encode(newer).decode()}
        with store.database.writing() as connection:
            connection.execute(insert(NIGHTS).values(row))
        assert len(store.series()) == 1, "what prune asks for"
        with pytest.raises(InputError, match=r"cannot be read|has format 99"):
            store.nights()
        with store.database.writing() as connection:
            other = row | {"id": "other", "document": '{"outcome": "later"'}
            connection.execute(insert(NIGHTS).values(other))
        with pytest.raises(InputError, match="The night other cannot be read"):
            store.series()


def test_a_file_that_is_read_only_is_read_and_not_written(
    public_folder: Path, nobody: Callable[[], None]
) -> None:
    file = public_folder / "history.db"
    with Store.open(str(file)) as store:
        store.append(night_of(1))
    file.chmod(0o444)
    nobody()
    with Store.open(str(file)) as store:
        assert store.nights() == [night_of(1)]
        with pytest.raises(RecordingError, match="readonly database"):
            store.append(night_of(2))
        assert store.nights() == [night_of(1)]


def test_a_writer_waits_for_another_and_then_says_so(url: str, sql: Say) -> None:
    with Store.open(url) as first, Store.open(url, patience=0.2) as second:
        second.append(night_of(1))
        with first.database.writing():
            began = time.monotonic()
            with pytest.raises(RecordingError, match=r"database is locked|lock timeout"):
                second.append(night_of(2))
            assert 0.15 < time.monotonic() - began < 10
        assert second.append(night_of(2))
    assert sql("SELECT count(*) FROM nights") == [(2,)]
