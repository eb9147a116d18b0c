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
from tracekit.base.errors import ToolError
from tracekit.base.files import notes_folder
from tracekit.base.recording import Recording
from tracekit.record.xctrace.claim import Holder, locked
from tracekit.run import open as open_run
from worker_naps import naps_that

Scenario = Callable[..., None]
Start = Callable[..., subprocess.Popen[bytes]]

pytestmark = pytest.mark.processes

# In the command line of every target, to find it again.
MINE = f"tracekit-killing-test-{os.getpid()}"
TARGET = ("--", sys.executable, "-I", "-S", "-c", f"import time; time.sleep(600)  # {MINE}")


def relatives(folder: Path) -> list[psutil.Process]:
    """Return all processes that the recording into `folder` started, whoever their parent is."""
    found: list[psutil.Process] = []
    for process in psutil.process_iter(["cmdline", "status"]):
        words = " ".join(process.info["cmdline"] or ())
        ours = (str(folder) in words or MINE in words) and process.pid != os.getpid()
        if ours and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Start `tracekit record` into the folder; kill what a failed test leaves."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(*arguments: str) -> subprocess.Popen[bytes]:
        argv = (sys.executable, "-m", "tracekit", "record", "--output", str(folder), *arguments)
        null = subprocess.DEVNULL
        started.append(subprocess.Popen(argv, stdout=null, stderr=null, start_new_session=True))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.wait()
    for left in relatives(folder):
        left.kill()


def marked(folder: Path, words: str, times: int = 1) -> Callable[[], bool]:
    """Tell whether the journal of the worker says something so many times."""
    journal = folder / "workload.jsonl"
    return lambda: journal.exists() and journal.read_text().count(words) >= times


def ended(process: subprocess.Popen[bytes], number: int, folder: Path) -> None:
    process.send_signal(number)
    process.wait(60)
    until(lambda: not relatives(folder), "nothing is left running")
    assert Recording(folder).provenance().stages["record"].state == "interrupted"


# The line that shows a state, and how the fake makes it last.
STATES = {
    "announced": ("Starting recording with", {"start_delay": 600}),
    "started": ("Ctrl-C", {"ignores_limit": True}),
    "stopping": ("Reached specified", {"stop_delay": 2}),
    "saving": ("Recording completed", {"save_delay": 2}),
    "exporting": ("Exporting", {"export_delay": 5}),
}
# One handler hears SIGINT and SIGTERM, whatever is going on: each state meets one of them.
ENDINGS = [
    *zip(STATES, cycle((signal.SIGINT, signal.SIGTERM)), strict=False),
    *((state, signal.SIGKILL) for state in STATES),
]


def stale(folder: Path) -> Holder | None:
    """Take the lock as soon as it is free, and return who did not give it back."""
    held: list[Holder | None] = []

    def free() -> bool:
        with suppress(ToolError), locked(folder, notes_folder()) as (_, before):
            held.append(before)
        return bool(held)

    until(free, "the lock is free")
    return held[0]


@pytest.mark.parametrize(
    ("state", "number"),
    [
        pytest.param(
            *ending, marks=[] if ending == ("started", signal.SIGTERM) else pytest.mark.campaign
        )
        for ending in ENDINGS
    ],
)
def test_nothing_outlives_tracekit_and_what_was_recorded_is_saved(
    *, state: str, number: signal.Signals,
    scenario: Scenario, start: Start, folder: Path, tmp_path: Path,
) -> None:  # fmt: skip
    (line, keys), said = STATES[state], tmp_path / "scenario.said"
    scenario(**keys)
    limit = "60s" if state in {"announced", "started"} else "500ms"
    process = start("--time-limit", limit, *TARGET)
    until(lambda: said.exists() and f"\n{line}" in f"\n{said.read_text()}", state)
    ended(process, number, folder)
    assert process.returncode == (-signal.SIGKILL if number is signal.SIGKILL else 130)
    if number is signal.SIGKILL:
        stage = Recording(folder).provenance().stages["record"]
        assert stage.message.startswith("tracekit was ended before it could finish")
    assert (stale(folder) is not None) == (number is signal.SIGKILL)
    scenario()
    assert run("export", folder) == 0
    recorded = Recording(folder).provenance()
    assert recorded.targets
    assert recorded.target_rows
    assert recorded.clock["epoch"]


def test_what_a_killed_tracekit_had_measured_can_be_exported(
    scenario: Scenario, start: Start, folder: Path, tmp_path: Path
) -> None:
    """The marks of the worker are laid on the time of the trace that its guardian saved."""
    scenario(ignores_limit=True)
    (tmp_path / "naps.py").write_text(naps_that("time.sleep(0.01)"))
    naps = ("--workloads", str(tmp_path), "--workload", "naps", "--warmup", "1")
    process = start(*naps, "--method", "attach", "--time-limit", "60s")
    until(marked(folder, '"phase":"steady"', 10), "steady")
    ended(process, signal.SIGKILL, folder)
    assert stale(folder) is not None
    scenario()
    assert run("export", folder) == 0
    opened = open_run(folder)
    assert (opened.tables["steps"]["phase"] == "steady").sum() > 9
    assert (opened.tables["phases"]["start"] < 0).any()  # what was before the trace
    assert "origin" in opened.provenance.clock
    assert opened.provenance.stages["record"].message.startswith("tracekit was ended before")


def test_no_host_worker_outlives_tracekit(start: Start, folder: Path, tmp_path: Path) -> None:
    (tmp_path / "naps.py").write_text(naps_that("time.sleep(0.01)"))
    naps = ("--workloads", str(tmp_path), "--workload", "naps", "--time-limit", "60s")
    process = start("--recorder", "host", *naps)
    until(marked(folder, '"name":"steady"'), "steady")
    ended(process, signal.SIGKILL, folder)
    assert (folder / "recording.host" / "session.json").exists()
