"""Tracekit itself is ended, in every state and by every signal: nothing of it is left running."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import cycle
from pathlib import Path

import psutil
import pytest

from children import until
from command_line import run
from tracekit import open as open_run
from tracekit.base.errors import ToolError
from tracekit.base.files import notes_folder
from tracekit.base.locks import Holder
from tracekit.base.recording import Recording
from tracekit.record.xctrace.claim import hold_user_lock
from worker_naps import naps_that

Scenario = Callable[..., None]

pytestmark = pytest.mark.processes

# In the command line of every target, to find it again.
MINE = f"tracekit-killing-test-{os.getpid()}"
TARGET = ("--", sys.executable, "-I", "-S", "-c", f"import time; time.sleep(600)  # {MINE}")


def relatives(folder: Path) -> list[psutil.Process]:
    """Return all processes that the recording into `folder` started, whoever their parent is."""
    processes: list[psutil.Process] = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = " ".join(process.info["cmdline"] or ())
        ours = (str(folder) in words or MINE in words) and process.pid != os.getpid()
        if ours and process.info["status"] != psutil.STATUS_ZOMBIE:
            processes.append(process)
    return processes


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """The folder of a run; what a failed test leaves running is killed."""
    yield tmp_path / "run"
    for process in relatives(tmp_path / "run"):
        process.kill()


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    argv = (sys.executable, "-m", "tracekit", "record", "--output", str(folder), *arguments)
    null = subprocess.DEVNULL
    return subprocess.Popen(argv, stdout=null, stderr=null, start_new_session=True)


def start_naps(folder: Path, words: str, times: int, *arguments: str) -> subprocess.Popen[bytes]:
    """Start to record a workload; return when its journal says something so many times."""
    (folder.parent / "naps.py").write_text(naps_that("time.sleep(0.01)"))
    naps = ("--workloads", str(folder.parent), "--workload", "naps", "--time-limit", "60s")
    process, journal = start(folder, *naps, *arguments), folder / "workload.jsonl"
    until(lambda: journal.exists() and journal.read_text().count(words) >= times, words)
    return process


def stale(folder: Path) -> list[Holder | None]:
    """Try to take the lock; return who did not give it back, nothing while it is held."""
    with suppress(ToolError), hold_user_lock(folder, notes_folder()) as (_, holder):
        return [holder]
    return []


def end(process: subprocess.Popen[bytes], number: int, folder: Path) -> None:
    is_killed = number == signal.SIGKILL
    process.send_signal(number)
    assert process.wait(60) == (-signal.SIGKILL if is_killed else 130)
    until(lambda: not relatives(folder), "nothing is left running")
    stage = Recording(folder).provenance().stages["record"]
    assert stage.state == "interrupted"
    assert stage.message.startswith("tracekit was ended before it could finish") is is_killed
    # A process has lost its command line a moment before its files, and so the lock, are closed.
    holders: list[Holder | None] = []
    until(lambda: holders.extend(stale(folder)) or holders, "the lock is free")
    assert (holders[0] is not None) is (is_killed and (folder / "recording.trace").exists())


# The line that shows a state, and how the fake makes it last.
STATES = {
    "announced": ("Starting recording with", {"start_delay": 600}),
    "started": ("Ctrl-C", {"ignores_limit": True}),
    "stopping": ("Reached specified", {"stop_delay": 2}),
    "saving": ("Recording completed", {"save_delay": 2}),
}
# One handler hears SIGINT and SIGTERM, whatever is going on: each state meets one of them.
ENDINGS = [
    *zip(STATES, cycle((signal.SIGINT, signal.SIGTERM)), strict=False),
    *((state, signal.SIGKILL) for state in STATES),
]
USUAL = ("started", signal.SIGTERM)


@pytest.mark.parametrize(
    ("state", "number"),
    [pytest.param(*case, marks=[pytest.mark.campaign] * (case != USUAL)) for case in ENDINGS],
)
def test_nothing_outlives_tracekit_and_the_recording_is_saved(
    state: str, number: signal.Signals, scenario: Scenario, folder: Path, tmp_path: Path
) -> None:
    (line, keys), transcript_file = STATES[state], tmp_path / "scenario.said"
    scenario(busy=True, **keys)
    limit = "60s" if state in {"announced", "started"} else "500ms"
    process = start(folder, "--time-limit", limit, *TARGET)
    until(
        lambda: transcript_file.exists() and f"\n{line}" in f"\n{transcript_file.read_text()}",
        state,
    )
    end(process, number, folder)
    scenario()
    assert run("export", folder) == 0
    recorded = Recording(folder).provenance()
    assert (bool(recorded.targets), recorded.target_rows) == (True, True)
    assert recorded.clock["epoch"]


def test_measurements_of_a_killed_tracekit_can_be_exported(
    scenario: Scenario, folder: Path
) -> None:
    """The marks of the worker are laid on the time of the trace that its guardian saved."""
    scenario(busy=True, ignores_limit=True)
    words = '"phase":"steady"'
    process = start_naps(folder, words, 10, "--warmup", "1", "--method", "attach")
    end(process, signal.SIGKILL, folder)
    scenario()
    assert run("export", folder) == 0
    opened = open_run(folder)
    assert (opened.tables["steps"]["phase"] == "steady").sum() > 9
    assert (opened.tables["phases"]["start"] < 0).any()  # what was before the trace
    assert "origin" in opened.provenance.clock


def test_no_host_worker_outlives_tracekit(folder: Path) -> None:
    end(start_naps(folder, '"name":"steady"', 1, "--recorder", "host"), signal.SIGKILL, folder)
    assert (folder / "recording.host" / "session.json").exists()
