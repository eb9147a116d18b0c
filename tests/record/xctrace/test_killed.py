"""Tracekit itself is ended, in every state and by every signal: nothing of it is left running."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from typing import Any

import psutil
import pytest

from tracekit.base.errors import ToolError
from tracekit.base.files import notes_folder
from tracekit.base.recording import Recording
from tracekit.cli.main import main
from tracekit.record.xctrace.claim import Holder, locked
from tracekit.run import open as open_run
from worker_naps import naps_that

Scenario = Callable[..., None]
Start = Callable[..., subprocess.Popen[bytes]]

pytestmark = pytest.mark.processes

PATIENCE = 60.0
MINE = (
    f"tracekit-killing-test-{os.getpid()}"  # in the command line of every target, to find it again
)
TARGET = ("--", sys.executable, "-I", "-S", "-c", f"import time; time.sleep(600)  # {MINE}")


def until(come: Callable[[], Any], what: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while not come():
        assert time.monotonic() < deadline, f"it did not come to this: {what}"
        time.sleep(0.02)


def relatives(folder: Path) -> list[psutil.Process]:
    """Return all processes that the recording into `folder` started, whoever their parent is."""
    found: list[psutil.Process] = []
    for one in psutil.process_iter(["cmdline", "status"]):
        words = " ".join(one.info["cmdline"] or ())
        ours = str(folder) in words or MINE in words
        if ours and one.pid != os.getpid() and one.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(one)
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Start `tracekit record`; kill what a failed test leaves."""
    started: list[subprocess.Popen[bytes]] = []

    def begin(*arguments: str) -> subprocess.Popen[bytes]:
        argv = (sys.executable, "-m", "tracekit", *arguments)
        process = subprocess.Popen(
            argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        started.append(process)
        return process

    yield begin
    for process in started:
        process.kill()
        process.wait()
    for one in relatives(folder):
        one.kill()


# The line that shows a state, and how the fake makes it last.
STATES = {
    "announced": ("Starting recording with", {"start_delay": 600}),
    "started": ("Ctrl-C", {"ignores_limit": True}),
    "stopping": ("Reached specified", {"stop_delay": 2}),
    "saving": ("Recording completed", {"save_delay": 2}),
    "exporting": ("Exporting", {"export_delay": 5}),
}


@pytest.fixture
def reach(
    scenario: Scenario, start: Start, folder: Path, tmp_path: Path
) -> Callable[[str], subprocess.Popen[bytes]]:
    """Start a recording and wait until it is in a state, by what the fake has said."""
    file = tmp_path / "scenario.said"

    def said(line: str) -> bool:
        text = file.read_text() if file.exists() else ""
        return any(one.startswith(line) for one in text.splitlines())

    def begin(state: str) -> subprocess.Popen[bytes]:
        line, keys = STATES[state]
        scenario(**keys)
        limit = "60s" if state in {"announced", "started"} else "500ms"
        process = start("record", "--output", str(folder), "--time-limit", limit, *TARGET)
        until(lambda: said(line), state)
        return process

    return begin


def stale(folder: Path) -> Holder | None:
    """Take the lock as soon as it is free, and return who did not give it back."""
    held: list[Holder | None] = []

    def free() -> bool:
        try:
            with locked(folder, notes_folder()) as (_, stale):
                held.append(stale)
        except ToolError:
            return False
        return True

    until(free, "the lock is free")
    return held[0]


def export(folder: Path) -> int:
    with pytest.raises(SystemExit) as end:
        main(["export", str(folder)])
    return int(end.value.code or 0)


# One handler hears SIGINT and SIGTERM, whatever is going on: each state meets one of them.
ENDINGS = [
    *zip(STATES, cycle((signal.SIGINT, signal.SIGTERM)), strict=False),
    *((state, signal.SIGKILL) for state in STATES),
]
OF_EACH_KIND = {("started", signal.SIGTERM), ("saving", signal.SIGKILL)}


@pytest.mark.parametrize(
    ("state", "number"),
    [
        pytest.param(*ending, marks=[] if ending in OF_EACH_KIND else pytest.mark.campaign)
        for ending in ENDINGS
    ],
)
def test_nothing_outlives_tracekit_and_what_was_recorded_is_saved(
    state: str,
    number: signal.Signals,
    scenario: Scenario,
    reach: Callable[[str], subprocess.Popen[bytes]],
    folder: Path,
) -> None:
    process = reach(state)
    process.send_signal(number)
    code = process.wait(PATIENCE)
    until(lambda: not relatives(folder), "nothing is left running")
    assert code == (-signal.SIGKILL if number is signal.SIGKILL else 130)
    stage = Recording(folder).provenance().stages["record"]
    assert stage.state == "interrupted"
    if number is signal.SIGKILL:
        assert stage.message.startswith("tracekit was ended before it could finish")
    assert (stale(folder) is not None) == (number is signal.SIGKILL)
    scenario()
    assert export(folder) == 0
    recorded = Recording(folder).provenance()
    assert recorded.targets
    assert recorded.target_rows
    assert recorded.clock["epoch"]


def test_what_a_killed_tracekit_had_measured_can_be_analyzed(
    scenario: Scenario, start: Start, folder: Path, tmp_path: Path
) -> None:
    """The marks of the worker are laid on the time of the trace that its guardian saved."""
    scenario(ignores_limit=True)
    (tmp_path / "naps.py").write_text(naps_that("time.sleep(0.01)"))
    process = start(
        "record", "--workloads", str(tmp_path), "--workload", "naps", "--method", "attach",
        "--output", str(folder), "--time-limit", "60s", "--warmup", "1",
    )  # fmt: skip
    journal = folder / "workload.jsonl"
    until(lambda: journal.exists() and journal.read_text().count('"phase":"steady"') > 9, "steady")
    process.kill()
    process.wait()
    until(lambda: not relatives(folder), "nothing is left running")
    scenario()
    assert export(folder) == 0
    opened = open_run(folder)
    assert (opened.tables["steps"]["phase"] == "steady").sum() > 9
    assert "origin" in opened.provenance.clock
    assert opened.provenance.stages["record"].message.startswith("tracekit was ended before")


@pytest.mark.parametrize(
    ("phase", "number", "prepare", "wait"),
    [
        ("prepare", signal.SIGTERM, "time.sleep(2)", "pass"),
        ("steady", signal.SIGKILL, "pass", "time.sleep(0.01)"),
    ],
)
def test_no_worker_of_the_host_recorder_outlives_tracekit(
    *, phase: str, number: signal.Signals, prepare: str, wait: str,
    start: Start, folder: Path, tmp_path: Path,
) -> None:  # fmt: skip
    (tmp_path / "naps.py").write_text(naps_that(wait, prepare))
    process = start(
        "record", "--recorder", "host", "--workloads", str(tmp_path), "--workload", "naps",
        "--output", str(folder), "--time-limit", "60s",
    )  # fmt: skip
    journal = folder / "workload.jsonl"
    until(lambda: journal.exists() and f'"name":"{phase}"' in journal.read_text(), phase)
    process.send_signal(number)
    process.wait(PATIENCE)
    until(lambda: not relatives(folder), "nothing is left running")
    assert Recording(folder).provenance().stages["record"].state == "interrupted"
    assert (folder / "recording.host" / "session.json").exists()
