"""Locks with a note of who holds them: taken, told, and freed with their process."""

import errno
import fcntl
import logging
import os
from dataclasses import replace
from pathlib import Path

import pytest

from tracekit.base import locks
from tracekit.base.locks import HeldError, Holder
from tracekit.base.processes import start_of

WHY = "It keeps two apart."


def test_a_lock_is_taken_noted_and_given_back(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "one.lock"
    with locks.opened(path, WHY) as handle:
        assert locks.taken(handle, path)
        assert locks.noted(handle) is None
        mine = locks.ours("2026-11-22T02:30:00+00:00", "a night")
        locks.note(handle, mine)
        assert locks.noted(handle) == mine
        locks.note(handle, None)
        assert path.read_bytes() == b""


def test_a_holder_lives_while_its_process_does_and_not_its_number() -> None:
    mine = locks.ours("", "")
    assert mine.lives
    assert not replace(mine, start=mine.start - 1).lives
    ended = os.fork()
    if not ended:
        os._exit(0)
    died = Holder(ended, start_of(ended), "", "")
    os.waitpid(ended, 0)
    assert not died.lives


def test_a_shorter_note_leaves_nothing_of_a_longer_one(tmp_path: Path) -> None:
    with locks.opened(tmp_path / "one.lock", WHY) as handle:
        locks.note(handle, Holder(1, 1, "", "x" * 500))
        locks.note(handle, Holder(1, 1, "", "y"))
        assert locks.noted(handle) == Holder(1, 1, "", "y")


def test_who_has_it_is_told(tmp_path: Path) -> None:
    """Two descriptors of one process are as two processes are."""
    path = tmp_path / "one.lock"
    with locks.opened(path, WHY) as mine, locks.opened(path, WHY) as theirs:
        assert locks.taken(theirs, path)
        locks.note(theirs, Holder(4711, 1, "", "theirs"))
        with pytest.raises(HeldError) as caught:
            locks.taken(mine, path)
        assert caught.value.holder == Holder(4711, 1, "", "theirs")
        assert locks.held(path)
    assert not locks.held(path)
    assert not locks.held(tmp_path / "absent.lock")


def test_a_file_system_without_locks_is_told_and_no_obstacle(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refusing(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refusing)
    path = tmp_path / "one.lock"
    with caplog.at_level(logging.WARNING), locks.opened(path, WHY) as handle:
        assert not locks.taken(handle, path)
    assert "nothing keeps two apart" in caplog.text
    assert not locks.held(path)


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": "x"}'])
def test_a_note_that_is_none_names_nobody(text: str, tmp_path: Path) -> None:
    path = tmp_path / "one.lock"
    path.write_text(text)
    with locks.opened(path, WHY) as handle:
        assert locks.noted(handle) is None
