"""A night's folder: its name, its document, and that what was measured is in it at once."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from tracekit.base.errors import InputError, RecordingError
from tracekit.nightly.folder import Keeper, NightFolder, make_output, night_id, nights_in
from tracekit.nightly.history.night import Described, Entry, Night, Pair

EMPTY = Entry("decode", "00", Described("paged"))
BEGUN = datetime(2026, 11, 20, 2, 30, tzinfo=UTC)


def test_a_night_is_named_by_its_start_in_utc() -> None:
    east = BEGUN.astimezone(timezone(timedelta(hours=9)))
    for begun in (BEGUN, east):
        start, tail = night_id(begun)[:19], night_id(begun)[20:]
        assert start == "2026-11-20T02-30-00"
        assert len(tail) == 4
        assert tail.isalpha()


def test_two_macs_that_begin_in_the_same_second_have_two_nights() -> None:
    assert len({night_id(BEGUN) for _ in range(20)}) > 1


def test_a_night_is_read_as_it_was_written(tmp_path: Path, night: Night) -> None:
    folder = NightFolder(make_output(tmp_path / "nights" / night.id))
    folder.save(night)
    assert folder.load() == night
    assert nights_in(tmp_path / "nights") == [folder]


def test_nights_are_listed_oldest_first_and_other_folders_are_not(
    tmp_path: Path, night: Night
) -> None:
    for name in ("2026-11-21T02-30-00-aaaa", "2026-11-20T02-30-00-zzzz"):
        NightFolder(make_output(tmp_path / name)).save(night)
    (tmp_path / "worktrees").mkdir()
    assert [one.folder.name[:10] for one in nights_in(tmp_path)] == ["2026-11-20", "2026-11-21"]


def test_a_folder_is_never_taken_twice(tmp_path: Path) -> None:
    make_output(tmp_path / "a")
    with pytest.raises(RecordingError, match="cannot be made: File exists"):
        make_output(tmp_path / "a")


def test_what_is_no_night_is_told(tmp_path: Path) -> None:
    with pytest.raises(RecordingError, match=r"is not a night's folder: it has no night\.json"):
        NightFolder(tmp_path).load()


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{", "cannot be read"),
        ('{"id": 3}', "cannot be read"),
        (
            '{"id": "a", "plan": "", "machine": "", "started": "", "format": 99}',
            "has format 99; this tracekit reads up to 1",
        ),
    ],
)
def test_a_document_that_cannot_be_understood_is_told(
    tmp_path: Path, content: str, told: str
) -> None:
    (tmp_path / "night.json").write_text(content)
    with pytest.raises(InputError, match=told):
        NightFolder(tmp_path).load()


def test_every_pair_is_on_the_disk_as_soon_as_it_is_added(tmp_path: Path, night: Night) -> None:
    keeper = Keeper(NightFolder(tmp_path), replace(night, entries=()))
    keeper.put(EMPTY)
    for number in (1, 2, 3):
        keeper.add("decode", Pair(1, number, "abba"))
        on_disk = NightFolder(tmp_path).load()
        assert [one.number for one in on_disk.entries[0].pairs] == list(range(1, number + 1))
        assert on_disk == keeper.night


def test_captures_grow_one_beside_the_other(tmp_path: Path, night: Night) -> None:
    keeper = Keeper(NightFolder(tmp_path), replace(night, entries=()))
    keeper.put(EMPTY)
    keeper.put(replace(EMPTY, capture="prefill"))
    keeper.add("prefill", Pair(1, 1, "abba"))
    keeper.put(replace(keeper.entry("prefill"), parity="parity held."))
    first, second = keeper.night.entries
    assert (first.capture, first.pairs, first.parity) == ("decode", (), "")
    assert (second.capture, len(second.pairs), second.parity) == ("prefill", 1, "parity held.")


def test_a_warning_is_told_once(tmp_path: Path, night: Night) -> None:
    keeper = Keeper(NightFolder(tmp_path), night)
    keeper.warn(["The plan is dirty."])
    keeper.warn(["The plan is dirty.", "There is no thermal state."])
    assert keeper.night.warnings == ("The plan is dirty.", "There is no thermal state.")


def test_what_could_not_be_written_is_not_taken_for_kept(tmp_path: Path, night: Night) -> None:
    folder = tmp_path / "night"
    folder.mkdir()
    keeper = Keeper(NightFolder(folder), night)
    before = keeper.night
    for one in folder.iterdir():
        one.unlink()
    folder.rmdir()
    folder.write_text("a file where the folder was")
    with pytest.raises(RecordingError, match="cannot be written"):
        keeper.add("decode", Pair(1, 1, "abba"))
    assert keeper.night == before
