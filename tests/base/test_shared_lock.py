"""The lock that all users of a machine share: taken by any, misused by none."""

import os
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tracekit.base import locks, shared_lock
from tracekit.base.errors import RecordingError
from tracekit.base.locks import HeldError

NOBODY, DAEMON = 65_534, 1
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that every user may write to, as /tmp is."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o1777)
        monkeypatch.setenv(shared_lock.VARIABLE, folder)
        yield Path(folder)


def as_user(number: int, does: Callable[[], None]) -> None:
    """Do something as another user, in a process of its own; fail where that fails."""
    with shared_lock.holding("warm-up"):
        pass  # it may import what another user cannot read
    child = os.fork()
    if not child:
        code = 1
        try:
            os.setgroups([])
            os.setgid(number)
            os.setuid(number)
            does()
            code = 0
        except BaseException as error:  # noqa: BLE001  it must never return into pytest
            sys.__stderr__.write(f"{type(error).__name__}: {error}\n")
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def is_free() -> None:
    with shared_lock.holding("night") as (handle, remark):
        assert handle is not None
        assert remark == ""


def is_held() -> None:
    with pytest.raises(HeldError), shared_lock.holding("night"):
        pytest.fail("two hold it at once")


@pytest.mark.processes
@AS_ROOT
def test_one_of_several_users_has_it(place: Path) -> None:
    as_user(NOBODY, is_free)
    file = place / "tracekit-night.lock"
    status = file.stat()
    assert (status.st_uid, stat.S_IMODE(status.st_mode)) == (NOBODY, 0o666), "whatever the umask is"
    with shared_lock.holding("night") as (handle, _):
        assert handle is not None
        as_user(DAEMON, is_held)
        as_user(NOBODY, is_held)
        holder = locks.read_holder(handle)
        assert holder is not None
        assert (holder.pid, holder.what) == (os.getpid(), "night"), "and no path of anybody's"
    as_user(DAEMON, is_free)


@AS_ROOT
def test_who_may_only_read_the_file_may_take_it(place: Path) -> None:
    (place / "tracekit-night.lock").touch(0o644)
    as_user(DAEMON, is_free)
    with shared_lock.holding("night"):
        as_user(DAEMON, is_held)


def test_a_holder_is_named_while_it_lives(place: Path) -> None:
    with shared_lock.holding("night") as (handle, _):
        assert handle is not None
        with pytest.raises(HeldError) as caught, shared_lock.holding("night"):
            pytest.fail("two hold it at once")
        assert shared_lock.words(caught.value).startswith(f": process {os.getpid()}, since 20")
        ours = locks.read_holder(handle)
        assert ours is not None
        for forged in (replace(ours, start=5), replace(ours, since="\x1b[2J")):
            (place / "tracekit-night.lock").write_bytes(msgspec.json.encode(forged))
            with pytest.raises(HeldError) as caught, shared_lock.holding("night"):
                pytest.fail("two hold it at once")
            assert caught.value.holder == forged
            assert shared_lock.words(caught.value) == "", forged  # anybody may have written it


def link(path: Path, victim: Path) -> None:
    path.symlink_to(victim)


def second_name(path: Path, victim: Path) -> None:
    path.hardlink_to(victim)


def folder(path: Path, _: Path) -> None:
    path.mkdir()


def pipe(path: Path, _: Path) -> None:
    os.mkfifo(path)


def link_to_nothing(path: Path, victim: Path) -> None:
    path.symlink_to(victim.with_name("nothing"))


@pytest.mark.parametrize("plant", [link, second_name, folder, pipe, link_to_nothing])
def test_planted_files_are_refused_and_left_alone(
    plant: Callable[[Path, Path], None], place: Path
) -> None:
    victim = place / "victim"
    victim.write_text("a file of the user's own")
    plant(place / "tracekit-night.lock", victim)
    with (
        pytest.raises(RecordingError, match="cannot be the lock that all users") as caught,
        shared_lock.holding("night"),
    ):
        pytest.fail("it was taken")
    assert f"belongs to the user with the number {os.getuid()}" in caught.value.message
    assert shared_lock.VARIABLE in caught.value.hint
    assert victim.read_text() == "a file of the user's own"
    assert sorted(path.name for path in place.iterdir()) == ["tracekit-night.lock", "victim"]


@AS_ROOT
def test_a_file_that_may_not_be_opened_is_refused(place: Path) -> None:
    (place / "tracekit-night.lock").touch(0o600)

    def is_refused() -> None:
        with pytest.raises(RecordingError, match="Permission denied"):
            ExitStack().enter_context(shared_lock.holding("night"))

    as_user(NOBODY, is_refused)


def test_a_file_that_is_taken_away_while_it_is_held_does_not_come_back(place: Path) -> None:
    with shared_lock.holding("night"):
        (place / "tracekit-night.lock").unlink()
        is_free()
    assert (place / "tracekit-night.lock").exists()


def test_only_a_folder_of_root_with_the_sticky_bit_is_for_everyone(tmp_path: Path) -> None:
    made_folder = tmp_path / "made"
    for mode, is_one in ((0o1777, True), (0o777, False), (0o1775, False), (0o755, False)):
        made_folder.mkdir(exist_ok=True)
        made_folder.chmod(mode)
        expected = is_one and os.geteuid() == 0
        assert shared_lock.is_for_everyone(made_folder) is expected, oct(mode)
    (tmp_path / "link").symlink_to(made_folder)
    made_folder.chmod(0o1777)
    assert not shared_lock.is_for_everyone(tmp_path / "link")
    assert not shared_lock.is_for_everyone(tmp_path / "none")
    if os.geteuid() == 0:
        os.chown(made_folder, NOBODY, NOBODY)
        assert not shared_lock.is_for_everyone(made_folder), (
            "its owner may take files of others away"
        )


def test_without_a_folder_for_everyone_a_sentence_says_so(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv(shared_lock.VARIABLE)
    monkeypatch.setitem(shared_lock.PLACES, sys.platform, (str(tmp_path / "none"), "/proc"))
    with shared_lock.holding("night") as (handle, remark):
        assert handle is None
        assert "so nothing keeps a night of another user from running" in remark


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is a folder that takes no file")
def test_a_folder_that_takes_no_file_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(shared_lock.VARIABLE, "/proc")
    with shared_lock.holding("night") as (handle, remark):
        assert (handle, "No folder of this machine" in remark) == (None, True)
