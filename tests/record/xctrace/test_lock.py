"""One recording at a time: who holds the lock, who held it, and that death frees it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tracekit.base.errors import ToolError
from tracekit.record.xctrace.claim import locked

HOLD = """
import os, sys, time
from pathlib import Path
from tracekit.record.xctrace.claim import locked
with locked(Path("/runs/theirs"), Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(600)
"""


def lock_file(where: Path) -> Path:
    [file] = where.iterdir()
    return file


def test_a_second_recording_is_told_who_holds_it(tmp_path: Path) -> None:
    with (
        locked(Path("/runs/mine"), tmp_path),
        pytest.raises(ToolError, match=r"Another recording runs: process \d+, since 2") as caught,
        locked(Path("/runs/other"), tmp_path),
    ):
        pytest.fail("two hold it at once")
    assert f"process {os.getpid()}" in caught.value.message
    assert caught.value.message.endswith("into /runs/mine.")
    assert f"kill -INT {os.getpid()}" in caught.value.hint
    assert caught.value.exit_code == 3


def test_what_is_given_back_leaves_no_trace(tmp_path: Path) -> None:
    for _ in range(2):
        with locked(Path("/runs/mine"), tmp_path) as (handle, stale):
            assert stale is None
            assert handle is not None
            assert json.loads(lock_file(tmp_path).read_bytes())["what"] == "/runs/mine"
    assert lock_file(tmp_path).read_bytes() == b""


@pytest.mark.processes
def test_death_frees_it_and_the_next_one_hears_of_it(tmp_path: Path) -> None:
    argv = (sys.executable, "-c", HOLD, str(tmp_path))
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(ToolError, match=f"process {holder.pid}"), locked(tmp_path, tmp_path):
            pytest.fail("two hold it at once")
        holder.kill()
    with locked(Path("/runs/mine"), tmp_path) as (_, stale):
        assert stale is not None
        assert (stale.pid, stale.what) == (holder.pid, "/runs/theirs")


@pytest.mark.processes
def test_a_holder_that_is_gone_while_others_finish_its_work(tmp_path: Path) -> None:
    """Its guardian inherits the lock, and keeps it until all is stopped and saved."""
    argv = (sys.executable, "-c", HOLD, str(tmp_path))
    with subprocess.Popen(argv, stdout=subprocess.PIPE) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        note = json.loads(lock_file(tmp_path).read_bytes()) | {"pid": 999_999_999}
        lock_file(tmp_path).write_text(json.dumps(note))
        with pytest.raises(ToolError, match="is still being stopped and saved") as caught:
            locked(Path("/runs/mine"), tmp_path).__enter__()
        assert "999999999, was ended" in caught.value.message
        holder.kill()
