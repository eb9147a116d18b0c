"""A machine for one recording: its lock, its rivals, its disk, and staging files that are left."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import ToolError, UsageError
from tracekit.record.xctrace import claim
from tracekit.record.xctrace.command import Completed

AGE = 60.0
PLACES = (Path("/runs"), Path("/staging"))
FREE = {PLACES[0]: 50e9, PLACES[1]: 8.25e9}


def make_file(path: Path, age: float = 2 * AGE) -> Path:
    path.write_bytes(b"x")
    os.utime(path, times=(time.time() - age, time.time() - age))
    return path


def premises(folder: Path, open_state: bool | None = False, age: float = AGE) -> claim.Premises:
    return claim.Premises(folder / "notes", 0, staging_age=age, is_open=lambda _: open_state)


def test_staging_files_of_ours_go_when_nobody_needs_them(tmp_path: Path) -> None:
    old, young = make_file(tmp_path / "1.ktrace"), make_file(tmp_path / "2.ktrace", AGE - 10)
    missing_file, other_file = tmp_path / "3.ktrace", make_file(tmp_path / "4.ktrace")
    ours = premises(tmp_path)
    assert ours.remove_staging(frozenset({old, young, missing_file})) == {young}
    assert (old.exists(), young.exists(), other_file.exists()) == (False, True, True)
    assert json.loads((tmp_path / "notes" / "staging.json").read_text()) == [str(young)]
    assert ours.remove_staging(frozenset({missing_file})) == frozenset()  # of these alone
    make_file(young, AGE + 0.1)
    assert ours.remove_staging() == frozenset()
    assert not young.exists()
    (tmp_path / "notes" / "staging.json").write_text("[{")  # a damaged list is none
    assert ours.remove_staging() == frozenset()


@pytest.mark.parametrize("known", [True, None])
def test_a_staging_file_that_is_or_may_be_open_stays(known: bool | None, tmp_path: Path) -> None:
    mine = make_file(tmp_path / "1.ktrace")
    assert premises(tmp_path, known).remove_staging(frozenset({mine})) == {mine}
    assert mine.exists()


def test_lsof_is_believed_only_if_certain() -> None:
    cases: dict[tuple[Any, ...], bool | None] = {
        (0, "123\n"): True,
        (1, "123\n"): True,
        (1,): False,
        (0,): None,
        (1, "", "lsof: WARNING: cannot look"): None,
        (2, "", "lsof: unknown option"): None,
    }

    def ask_lsof(*lsof_answer: Any) -> bool | None:
        return claim.is_file_open(Path("/a"), lambda argv, _: Completed(argv, *lsof_answer))

    assert {lsof_answer: ask_lsof(*lsof_answer) for lsof_answer in cases} == cases


def test_the_floor_is_10_gb_or_as_the_variable_says_and_a_tenth_of_it_is_critical() -> None:
    cases = {"": 10e9, "2": 2e9, " 0.5 ": 0.5e9, "0": 0}
    assert {text: claim.floor({"TRACEKIT_DISK_FLOOR": text}) for text in cases} == cases
    assert claim.floor({}) == 10e9
    for wrong in ("much", "-1", "nan", "inf", "10GB"):
        with pytest.raises(UsageError, match="TRACEKIT_DISK_FLOOR is"):
            claim.floor({"TRACEKIT_DISK_FLOOR": wrong})
    message = "8.2 GB are free where /staging lies, and {} GB must stay free"
    cases = {
        8.25: ("", False),
        8.26: (message.format("8.26"), False),
        82.5: (message.format("82.5"), False),
        82.6: (message.format("82.6"), True),
    }
    for gigabytes, expected in cases.items():
        disk = claim.Premises(Path(), gigabytes * 1e9, lambda path: int(FREE[path]))
        assert (disk.shortage(PLACES), disk.critical(PLACES)) == expected, gigabytes


RECORDING = claim.Rival(17, "xctrace", "ada", 1_795_000_000.0, ("/X/xctrace", "record"))
EXPORTING = claim.Rival(18, "xctrace", "ada", 0.0, ("/X/xctrace", "export", "--toc"))


def test_another_recording_is_refused_and_an_export_disturbs_nobody() -> None:
    assert claim.refuse_rivals([EXPORTING]) == ()
    message = "Another recorder runs under ada: xctrace, process 17, runs since 2026-11-1"
    with pytest.raises(ToolError, match=message) as caught:
        claim.refuse_rivals([EXPORTING, RECORDING])
    assert "kill -INT 17" in caught.value.hint
    # what cannot be known of one is a warning
    for rival in (claim.Rival(19, "xctrace", "bo"), claim.Rival(20, "Instruments", "bo", 1.0)):
        [warning] = claim.refuse_rivals([rival])
        assert warning.startswith(f"{rival.name}, process {rival.pid}, runs since ")
        assert " bo" not in warning, rival


def test_rivals_are_found_by_name_and_open_files_by_lsof(tmp_path: Path) -> None:
    name, file = "a-recorder", make_file(tmp_path / "1.ktrace")  # not xctrace: tests may record now
    (tmp_path / name).symlink_to(sys.executable)
    code = f"file = open({str(file)!r}); print(flush=True); input()"
    argv = (str(tmp_path / name), "-I", "-S", "-c", code, "record")
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        [process_found], while_open = claim.rivals({name}), claim.is_file_open(file)
        process.communicate(b"\n")
    assert (process_found.pid, process_found.name, (process_found.arguments or ("",))[-1]) == (
        process.pid,
        name,
        "record",
    )
    assert process_found.created > 0
    assert claim.rivals({name}) == ()
    assert (while_open, claim.is_file_open(file)) in {(True, False), (None, None)}


def test_a_second_recording_is_refused_and_death_frees_the_lock(tmp_path: Path) -> None:
    ready, says = os.pipe()
    holder = os.fork()
    if not holder:
        with claim.hold_user_lock(Path("/runs/theirs"), tmp_path):
            os.write(says, b"held")
            signal.pause()
    os.read(ready, 4)
    try:
        with pytest.raises(ToolError, match=f"runs: process {holder}, since 2") as caught:
            claim.hold_user_lock(tmp_path, tmp_path).__enter__()
        assert caught.value.message.endswith("into /runs/theirs.")
        assert f"kill -INT {holder}" in caught.value.hint
        # its guardian inherits the lock, and keeps it until all is stopped and saved
        [file] = tmp_path.iterdir()
        lock_text = file.read_text()
        file.write_text(json.dumps(json.loads(lock_text) | {"pid": 999_999_999}))
        with pytest.raises(
            ToolError, match=r"still being stopped and saved; .*999999999, was ended"
        ):
            claim.hold_user_lock(tmp_path, tmp_path).__enter__()
        file.write_text(lock_text)
    finally:
        os.kill(holder, signal.SIGKILL)
        os.waitpid(holder, 0)
    with claim.hold_user_lock(Path("/runs/mine"), tmp_path) as (_, stale):
        assert stale is not None
        assert (stale.pid, stale.what) == (holder, "/runs/theirs")
