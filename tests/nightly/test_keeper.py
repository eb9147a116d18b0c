from dataclasses import replace
from pathlib import Path

import pytest

from tracekit.base.errors import RecordingError
from tracekit.nightly.folder import Keeper, NightFolder
from tracekit.nightly.history.night import Described, Entry, Night, Pair

EMPTY = Entry("decode", "00", Described("paged"))


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
