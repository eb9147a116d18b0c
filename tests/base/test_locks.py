"""Locks with a note of who holds them: taken, said, and freed with their process."""

import errno
import fcntl
import json
import logging
import os
import time
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from tracekit.base import locks
from tracekit.base.errors import RecordingError
from tracekit.base.locks import HeldError, Holder
from tracekit.base.processes import start_of

WHY = "It keeps two apart."


def open_files() -> int:
    return len([*Path("/dev/fd").iterdir()])


def test_a_lock_is_taken_noted_and_given_back(tmp_path: Path, subtests: pytest.Subtests) -> None:
    path = tmp_path / "deep" / "one.lock"
    for purpose in ("a night" * 99, "a night"):  # a shorter note leaves nothing of a longer one
        with subtests.test(what=purpose):
            with locks.holding(path, WHY, purpose) as (handle, stale):
                assert stale is None
                assert handle is not None
                assert json.loads(path.read_bytes())["what"] == purpose
                assert len({open_files() for _ in range(3) if locks.is_held(path)}) == 1
                with pytest.raises(HeldError) as caught, locks.holding(path, WHY, "other"):
                    pytest.fail("two hold it at once")
                assert caught.value.holder == locks.read_holder(handle)
                assert caught.value.holder.lives
            assert not locks.is_held(path)
            assert path.read_bytes() == b""
    assert not locks.is_held(tmp_path / "absent.lock")
    with pytest.raises(ValueError, match="broken"), locks.holding(path, WHY, "x"):
        raise ValueError("broken")
    assert (locks.is_held(path), path.read_bytes()) == (False, b"")


def test_a_lock_of_a_machine_bears_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, safe_name in (("Ada's Mac.lan", "Ada-s-Mac.lan"), ("", "machine")):
        monkeypatch.setattr("platform.node", lambda name=name: name)
        assert locks.place_of("night", tmp_path) == tmp_path / f"night-on-{safe_name}.lock"


def test_since_when_it_is_held_is_said_by_the_clock_of_the_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        begin_times = [
            replace(THEIRS, since=moment).local_start_time
            for moment in ("2026-11-20T16:15:03Z", "soon")
        ]
    time.tzset()
    assert begin_times == ["2026-11-21 01:15:03", "soon"]


def test_no_link_is_followed_to_another_file(tmp_path: Path) -> None:
    (path := tmp_path / "one.lock").symlink_to(tmp_path / "theirs")
    with locks.holding(tmp_path / "theirs", WHY, "theirs"):
        assert not locks.is_held(path)
        with (
            pytest.raises(RecordingError, match=r"one\.lock cannot be"),
            locks.open_lock_file(path, WHY),
        ):
            pytest.fail("it was opened")


THEIRS = Holder(4711, 1, "2026", "theirs" * 99)
NOTES = {json.dumps(asdict(THEIRS)): THEIRS, **dict.fromkeys(["{", "[]", '{"pid": "x"}'])}


def test_who_did_not_give_it_back_is_said_if_the_note_is_one(tmp_path: Path) -> None:
    path = tmp_path / "one.lock"
    for note, holder in NOTES.items():
        path.write_text(note)
        with locks.holding(path, WHY, "ours") as (_, stale):
            assert stale == holder, note
            assert json.loads(path.read_bytes())["what"] == "ours", note  # and no more


def test_a_holder_lives_while_its_process_does_and_not_its_number() -> None:
    mine = Holder(os.getpid(), start_of(os.getpid()), "", "")
    assert mine.lives
    assert not replace(mine, start=mine.start - 1).lives
    child_pid = os.fork()
    if not child_pid:
        os._exit(0)
    died = Holder(child_pid, start_of(child_pid), "", "")
    os.waitpid(child_pid, 0)
    assert not died.lives


def test_a_file_system_without_locks_is_usable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refusing(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refusing)
    path = tmp_path / "one.lock"
    with caplog.at_level(logging.WARNING), locks.holding(path, WHY, "x") as lock_state:
        assert lock_state == (None, None)
    assert "nothing keeps two apart" in caplog.text
    assert (locks.is_held(path), path.read_bytes()) == (False, b"")
