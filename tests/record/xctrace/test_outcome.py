"""Whether a recording counts as whole: exit codes, stop lines, the TOC, the worker's report."""

from dataclasses import replace
from signal import SIGINT, SIGKILL, SIGTERM
from typing import Any

import pytest

from tracekit.base.recording import Process
from tracekit.record.recorder import Attach, Launch
from tracekit.record.xctrace.progress import Account, State
from tracekit.record.xctrace.recorder import early_end, judge, nothing_came, warnings
from tracekit.record.xctrace.recording_process import Ended
from tracekit.tables.toc import TocRun
from tracekit.workload.journal import StepMark, WorkloadReport

SAVED = Account(state=State.SAVED, stop_line="Reached specified time limit")
EXITED = replace(SAVED, stop_line="Target app exited")
STOPPED = replace(SAVED, stop_line="Stopping recording")
RUN = TocRun(1, target=Process(7, "python"), duration=5.6, exit_status="0")
DONE = WorkloadReport(state="done", complete=True)
STEADY = WorkloadReport(state="interrupted", steps=(StepMark("steady", 0, 1, 2),))
KILLED = (SIGINT, SIGINT, SIGTERM, SIGKILL)


def failed(status: str, reason: str = "", **more: Any) -> TocRun:
    return replace(RUN, exit_status=status, termination_reason=reason, **more)


def broke(error: str) -> WorkloadReport:
    return WorkloadReport(state="failed", error=error)


PROGRAM, WORKLOAD = "The recorded program failed", "The workload failed; the trace up to then is"


@pytest.mark.parametrize(
    ("ended", "run", "launched", "report", "failure"),
    [
        (Ended(SAVED, 0), RUN, False, None, ""),
        (Ended(EXITED, 0), RUN, True, None, ""),
        (Ended(SAVED, 54), failed("9", "SIGKILL"), True, None, ""),  # ended at its limit
        (Ended(STOPPED, 54, (SIGINT,), True), failed("2", "SIGINT"), True, None, ""),
        (Ended(SAVED, 130, (SIGINT,), interrupted=True), RUN, False, None, ""),
        (Ended(EXITED, 54), failed("1"), True, DONE, ""),  # the worker knows better
        (
            Ended(Account(foreign=True), 54),
            failed("9", "SIGKILL", end_reason="Time limit reached"), True, None, "",
        ),
        (Ended(replace(SAVED, state=State.STARTED), 0), RUN, False, None, ""),
        (Ended(SAVED, 0), RUN, False, STEADY, ""),
        (Ended(EXITED, 54), failed("3", "exit(3)"), True, None, f"{PROGRAM} (exit(3)); the trace"),
        (Ended(EXITED, 54), failed(""), True, None, f"{PROGRAM}; the trace up to then is kept."),
        (Ended(EXITED, 0), failed("11"), True, None, f"{PROGRAM} (exit status 11); the trace"),
        (
            Ended(EXITED, 54), failed("1"), True, broke("No memory."),
            f"{PROGRAM} (exit status 1); the trace up to then is kept. No memory.",
        ),
        (Ended(SAVED, 54), failed("9"), True, broke("Bad shape."), f"{WORKLOAD} kept. Bad shape."),
        (Ended(SAVED, 0), RUN, False, broke("Bad shape."), f"{WORKLOAD} kept. Bad shape."),
        (Ended(SAVED, 0), RUN, False, DONE, "The recording ended before the workload came to its"),
        (
            Ended(replace(SAVED, failed=True, errors=("No attach.",)), 2), RUN, False, None,
            "xctrace recorded with errors: No attach. What it saved is kept.",
        ),
        (Ended(replace(SAVED, failed=True), 2), RUN, False, None, "xctrace recorded with errors: "),
        (Ended(SAVED, 0), replace(RUN, duration=0.0), False, None, "The bundle holds no data"),
        (Ended(SAVED, 54), RUN, False, None, "xctrace ended with exit code 54; what it saved"),
        (Ended(SAVED, 139), RUN, False, None, "xctrace ended with signal SIGSEGV; what it saved"),
        (Ended(SAVED, None), RUN, False, None, "xctrace ended in an unknown way; what it saved"),
        (Ended(SAVED, 0, halted="no room"), RUN, True, None, "The recording was stopped before"),
        (
            Ended(SAVED, -9, KILLED), RUN, False, None,
            "xctrace hung after it had saved and had to be killed; the recording may lack its end.",
        ),
        (Ended(SAVED, -SIGTERM), RUN, False, None, "xctrace hung after it had saved"),
    ],
)  # fmt: skip
def test_what_is_whole_and_what_is_not(
    *, ended: Ended, run: TocRun, launched: bool, report: WorkloadReport | None, failure: str
) -> None:
    said = judge(ended, run, launched=launched, report=report)
    assert said.startswith(failure)
    assert bool(said) is bool(failure)


COUNTERS = "GPU Service reported error: Selected counter profile is not supported on target device"
LATE = "xctrace did not stop in time and was stopped with SIGINT."


@pytest.mark.parametrize(
    ("ended", "said"),
    [
        (Ended(replace(SAVED, warnings=("Odd.",)), 0), "xctrace warns: Odd."),
        (Ended(replace(SAVED, warnings=(COUNTERS,)), 0), f"xctrace says: {COUNTERS}"),
        (Ended(replace(SAVED, foreign=True), 0), "xctrace did not speak English"),
        (Ended(SAVED, 0, (SIGINT,)), LATE),
        (Ended(SAVED, 0, (SIGINT,), interrupted=True), ""),
        (Ended(SAVED, 0, (SIGINT,), finished=True), ""),
        (Ended(SAVED, 0, (SIGINT, SIGINT), interrupted=True), LATE),
        (Ended(SAVED, -9, KILLED), ""),
    ],
)
def test_warnings_are_those_of_xctrace_and_signals_nobody_asked_for(
    ended: Ended, said: str
) -> None:
    found = warnings(ended)
    assert said in "".join(found)
    assert len(found) == bool(said)


ARGV = ("/X/xctrace", "record", "--attach", "5")
TARGET = Attach(5)


@pytest.mark.parametrize("finished", [False, True])
def test_nothing_came_quotes_line_and_words(finished: bool) -> None:
    account = Account(complaints=("Cannot find process for provided pid: 5",))
    ended = Ended(account, 21, finished=finished)
    error = nothing_came(ended, TARGET, ARGV, "There is no bundle.")
    assert (
        error.message
        == (
            "Nothing was recorded: xctrace ended before it said anything. There is no process with "
            "that id to attach to. /X/xctrace record --attach 5 failed with exit code 21:\n"
            "Cannot find process for provided pid: 5\nThere is no bundle."
        )
        + "\nThe process 5 ended before the recording did." * finished
    )
    assert error.hint == "Check that the program still runs."
    assert early_end(ended, Launch(("true",))) == ()


@pytest.mark.parametrize(
    ("state", "halted", "said"),
    [
        (State.ANNOUNCED, "", "xctrace hung before it began to record"),
        (State.STOPPING, "", "xctrace hung while it stopped"),
        (State.SAVING, "no room", "xctrace was stopped for no room"),
    ],
)
def test_nothing_came_of_a_recorder_that_hung(state: State, halted: str, said: str) -> None:
    ended = Ended(Account(state=state), -9, KILLED, halted=halted)
    error = nothing_came(ended, TARGET, ARGV, "")
    assert error.message == f"{said} and had to be killed; the recording is lost."
    assert ("/X/xctrace record --attach 5" in error.hint) is (halted == "")
