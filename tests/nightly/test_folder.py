"""A night's folder: its name, its document, and that what was measured is in it at once."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from tracekit.base.errors import InputError, RecordingError
from tracekit.base.recording import Overhead
from tracekit.nightly import run
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


def test_a_night_is_read_as_it_was_written(tmp_path: Path, night: Night) -> None:
    folder = NightFolder(make_output(tmp_path / "nights" / night.id))
    folder.save(night)
    assert folder.load() == night
    (tmp_path / "nights" / "worktrees").mkdir()
    assert nights_in(tmp_path / "nights") == [folder]
    with pytest.raises(RecordingError, match="cannot be made: File exists"):
        make_output(folder.folder)


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


def test_the_notes_say_why_what_was_checked_and_what_tracing_cost(night: Night) -> None:
    assert list(run.notes(night)) == [
        "decode: parity of 12 cases held.",
        "decode: Tracing costs 4.1 % ± 1.0 % of a step's time.",
    ]
    entry = replace(night.entries[0], overhead=Overhead(reason="nothing was traced"))
    assert list(run.notes(replace(night, entries=(entry,))))[-1] == (
        "decode: What tracing costs is not known, because nothing was traced."
    )
