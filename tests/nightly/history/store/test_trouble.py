"""What goes wrong around a history: nothing is lost, nothing is there twice, and it is said."""

import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from multiprocessing.context import ForkServerContext
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from sqlalchemy import event

from postgresql import Server
from stored_nights import append_all, night_of, numbered, open_once
from tracekit.base.errors import RecordingError, TracekitError
from tracekit.nightly.history.store.store import Store

Say = Callable[[str], list[Any]]
MANY = 100
JUDGED = 1  # metrics of a numbered night
HERE = Path(__file__).parents[4]


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
    found = {int(one.id[-4:]) for one in there}
    assert len(there) == len(found), "a night is there twice"
    assert numbers <= found, "a night that was acknowledged is not there"
    assert all(one == numbered(int(one.id[-4:])) for one in there)
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


def test_a_kill_while_the_tables_are_made_leaves_none_half_made(
    url: str, processes: ForkServerContext
) -> None:
    for wait in (0.0, 0.01, 0.02, 0.03, 0.05):
        opening = processes.Process(target=open_once, args=(url,))
        opening.start()
        time.sleep(wait)
        opening.kill()
        opening.join(60)
    with Store.open(url) as store:
        assert store.append(night_of(1))


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
    told = [one for log in logs for one in acknowledged(log)]
    new = [number for number, is_new in told if is_new]
    assert sorted(new) == sorted({*own[0], *own[1]}), "each was new to one of them"
    require_whole(url, sql, set(new))


def _append(store: Store, numbers: Iterable[int]) -> None:
    for number in numbers:
        store.append(numbered(number))


def test_a_disk_that_is_full_is_told_and_nothing_of_the_night_is_kept(
    store: Store, url: str, sql: Say
) -> None:
    store.append(numbered(0))
    if store.database.is_sqlite:
        limit = store.database.engine
        pages = sql("PRAGMA page_count")[0][0] + 1
        event.listen(limit, "connect", lambda one, _: one.execute(f"PRAGMA max_page_count={pages}"))
    else:
        sql(
            "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE "
            "EXCEPTION 'could not extend file' USING ERRCODE = 'disk_full'; END $$"
        )
        sql("CREATE TRIGGER no_room BEFORE INSERT ON judgements EXECUTE FUNCTION full_disk()")
    with pytest.raises(RecordingError, match=r"disk is full|could not extend file") as told:
        _append(store, range(1, 50))
    assert told.value.exit_code == 3
    if not store.database.is_sqlite:
        sql("DROP TRIGGER no_room ON judgements")
    with Store.open(url) as again:
        kept = len(again.nights())
        assert again.append(numbered(kept))
    assert require_whole(url, sql, set(range(kept + 1))) == set(range(kept + 1))


@pytest.mark.processes
def test_a_disk_that_is_really_full_is_told(tmp_path: Path) -> None:
    """Sixteen pages of memory as a disk, which a process mounts for itself."""
    if shutil.which("unshare") is None:
        pytest.skip("no small disk: unshare is not on the PATH")
    asked = ["unshare", "--map-root-user", "--mount"]
    mount = f"mount -t tmpfs -o size=512k none {tmp_path}"
    if subprocess.run([*asked, "sh", "-c", mount], check=False, capture_output=True).returncode:
        pytest.skip("no small disk: this user may not mount one")
    program = dedent(f"""
        import sys
        sys.path.insert(0, {str(HERE / "tests" / "harness")!r})
        from pathlib import Path
        from stored_nights import numbered
        from tracekit.base.errors import RecordingError
        from tracekit.nightly.history.store.store import Store

        folder = Path({str(tmp_path)!r})
        ballast = folder / "ballast"
        with Store.open(str(folder / "history.db")) as store:
            store.append(numbered(0))
            ballast.write_bytes(bytes(150_000))
            kept = 1
            try:
                for number in range(1, 100):
                    kept += store.append(numbered(number))
            except RecordingError as error:
                print(error.message)
            ballast.unlink()
            assert len(store.nights()) == kept
            assert store.append(numbered(kept))
            assert [one.id for one in store.nights()]
            print(kept > 1)
    """)
    inside = f'{mount} && exec "$0" -c "$1"'
    ran = subprocess.run(
        [*asked, "sh", "-c", inside, sys.executable, program],
        check=False, capture_output=True, text=True, cwd=HERE,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout == (
        f"{tmp_path}/history.db cannot be used as a history: database or disk is full.\nTrue\n"
    )


def _grow_to(file: Path, size: int, told: Path) -> None:
    sys.dont_write_bytecode = True  # it would be cut off, too
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    try:
        append_all(str(file), range(1, 100), told.with_suffix(".log"))
    except TracekitError as error:
        told.write_text(error.message)


def test_a_file_that_may_not_grow_is_told(
    sqlite_file: Path, tmp_path: Path, processes: ForkServerContext
) -> None:
    size = sqlite_file.stat().st_size + 8192
    told = tmp_path / "told"
    writer = processes.Process(target=_grow_to, args=(sqlite_file, size, told))
    writer.start()
    writer.join(60)
    assert f"{sqlite_file} cannot be" in told.read_text()
    with Store.open(str(sqlite_file)) as store:
        kept = len(store.nights())
        assert kept == 1 + len(acknowledged(told.with_suffix(".log")))
        assert store.append(night_of(2))


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


def test_a_folder_that_is_read_only_is_told(
    public_folder: Path, nobody: Callable[[], None]
) -> None:
    file = public_folder / "history.db"
    with Store.open(str(file)) as store:
        store.append(night_of(1))
    file.chmod(0o666)
    public_folder.chmod(0o555)
    nobody()
    with Store.open(str(file)) as store:
        assert store.nights() == [night_of(1)]
        with pytest.raises(RecordingError, match="cannot be used as a history"):
            store.append(night_of(2))
    with (
        pytest.raises(RecordingError, match="unable to open database file"),
        Store.open(str(public_folder / "new.db")),
    ):
        pass
    with (
        pytest.raises(RecordingError, match="cannot be made: Permission denied"),
        Store.open(str(public_folder / "new" / "new.db")),
    ):
        pass


def test_a_database_that_may_only_be_read_is_told_in_postgresql(postgresql: Server) -> None:
    url = postgresql.new_database("read_only")
    with Store.open(url) as store:
        store.append(night_of(1))
        with postgresql.connect() as connection:
            connection.execute("ALTER DATABASE read_only SET default_transaction_read_only = on")
        assert store.nights() == [night_of(1)]
        with pytest.raises(RecordingError, match="read-only transaction"):
            store.append(night_of(2))


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


def test_a_reader_that_dawdles_does_not_keep_writers_out_of_postgresql(postgresql: Server) -> None:
    with Store.open(postgresql.new_schema("dawdle"), patience=0.5) as store:
        store.append(night_of(1))
        with store.database.reading():
            assert store.append(night_of(2))
