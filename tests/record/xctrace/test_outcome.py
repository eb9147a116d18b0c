"""Whether a recording counts as whole: exit codes, stop lines, the TOC, the worker's report."""

from dataclasses import replace
from signal import SIGINT, SIGKILL, SIGTERM
from typing import Any

import pytest

from tracekit.base.recording import Process
from tracekit.record.xctrace.progress import Account, State
from tracekit.record.xctrace.recorder import judge, nothing_came, warnings
from tracekit.record.xctrace.recording_process import Ended
from tracekit.tables.toc import TocRun
from tracekit.workload.journal import WorkloadReport

SAVED = Account(state=State.SAVED, stop_line="Reached specified time limit")
EXITED = replace(SAVED, stop_line="Target app exited")
RUN = TocRun(1, target=Process(7, "python"), duration=5.6, exit_status="0")
DONE = WorkloadReport(state="done", complete=True)
COUNTERS = "GPU Service reported error: Selected counter profile is not supported on target device"


def failed(status: str, reason: str = "") -> TocRun:
    return replace(RUN, exit_status=status, termination_reason=reason)


@pytest.mark.parametrize(
    ("ended", "run", "launched", "report"),
    [
        pytest.param(Ended(SAVED, 0), RUN, False, None, id="attached-limit"),
        pytest.param(Ended(EXITED, 0), RUN, True, None, id="launched-exit-0"),
        pytest.param(Ended(SAVED, 54), failed("9", "SIGKILL"), True, None, id="ended-at-limit"),
        pytest.param(
            Ended(replace(SAVED, stop_line="Stopping recording"), 54, (SIGINT,), interrupted=True),
            failed("2", "SIGINT"), True, None, id="interrupted",
        ),
        pytest.param(
            Ended(SAVED, 130, (SIGINT,), interrupted=True), RUN, False, None, id="130-after-ours"
        ),
        pytest.param(Ended(EXITED, 54), failed("1"), True, DONE, id="worker-says-done"),
        pytest.param(
            Ended(Account(foreign=True), 54),
            replace(failed("9", "SIGKILL"), end_reason="Time limit reached"),
            True, None, id="the-toc-says-limit",
        ),
        pytest.param(
            Ended(replace(SAVED, state=State.STARTED), 0), RUN, False, None, id="no-saved-line"
        ),
    ],
)  # fmt: skip
def test_these_are_whole(
    ended: Ended, run: TocRun, launched: bool, report: WorkloadReport | None
) -> None:
    assert judge(ended, run, launched=launched, report=report) == ""


@pytest.mark.parametrize(
    ("ended", "run", "launched", "report", "failure"),
    [
        pytest.param(
            Ended(EXITED, 54), failed("3", "exit(3)"), True, None,
            "The recorded program failed (exit(3)); the trace up to then is kept.", id="crashed",
        ),
        pytest.param(
            Ended(EXITED, 54), failed(""), True, None,
            "The recorded program failed; the trace up to then is kept.", id="54-alone",
        ),
        pytest.param(
            Ended(EXITED, 0), failed("11"), True, None,
            "The recorded program failed (exit status 11); the trace up to then is kept.",
            id="the-toc-knows-better",
        ),
        pytest.param(
            Ended(EXITED, 54), failed("1"), True,
            WorkloadReport(state="failed", error="It ran out of memory."),
            "The recorded program failed (exit status 1); the trace up to then is kept. "
            "It ran out of memory.", id="the-worker-says-why",
        ),
        pytest.param(
            Ended(SAVED, 54), failed("9", "SIGKILL"), True,
            WorkloadReport(state="failed", error="Bad shape."),
            "The workload failed; the trace up to then is kept. Bad shape.", id="failed-at-limit",
        ),
        pytest.param(
            Ended(replace(SAVED, failed=True, errors=("No attach.",)), 2), RUN,
            False, None, "xctrace recorded with errors: No attach. What it saved is kept.",
            id="run-issues",
        ),
        pytest.param(
            Ended(SAVED, 0), replace(RUN, duration=0.0), False, None,
            "The bundle holds no data: its duration is 0.", id="stub",
        ),
        pytest.param(
            Ended(SAVED, 0), replace(RUN, duration=None), False, None,
            "The bundle holds no data: its duration is 0.", id="no-duration",
        ),
        pytest.param(
            Ended(SAVED, 54), RUN, False, None,
            "xctrace ended with exit code 54; what it saved can be opened and is kept.",
            id="54-attached",
        ),
        pytest.param(
            Ended(SAVED, 139), RUN, False, None,
            "xctrace ended with signal SIGSEGV; what it saved can be opened and is kept.",
            id="crashed-after-saving",
        ),
        pytest.param(
            Ended(SAVED, -9, (SIGINT, SIGINT, SIGTERM, SIGKILL)), RUN, False, None,
            "xctrace hung after it had saved and had to be killed; the recording may lack its "
            "end.", id="killed",
        ),
    ],
)  # fmt: skip
def test_these_are_not_whole(
    ended: Ended, run: TocRun, *, launched: bool, report: WorkloadReport | None, failure: str
) -> None:
    assert judge(ended, run, launched=launched, report=report) == failure


def warned(**changes: Any) -> tuple[str, ...]:
    account = replace(SAVED, **changes)
    return warnings(Ended(account, 0))


def test_rejected_counters_are_explained_with_the_way_out() -> None:
    [told] = warned(warnings=(COUNTERS,))
    assert "GPU counters are not available on this chip and Xcode: xctrace says: " in told
    assert COUNTERS in told
    assert "Recording Options > GPU > Counter Set" in told


@pytest.mark.parametrize(
    ("signals", "interrupted", "told"),
    [
        ((SIGINT,), False, ("xctrace did not stop in time and was stopped with SIGINT.",)),
        ((SIGINT,), True, ()),
        ((SIGINT, SIGINT), True, ("xctrace did not stop in time and was stopped with SIGINT.",)),
    ],
)
def test_signals_nobody_asked_for_are_told(
    signals: tuple[Any, ...], interrupted: bool, told: tuple[str, ...]
) -> None:
    ended = Ended(SAVED, 0, signals, interrupted)
    assert warnings(ended) == told


ARGV = ("/X/xctrace", "record", "--attach", "5")


def test_nothing_came_quotes_line_and_words() -> None:
    account = Account(complaints=("Cannot find process for provided pid: 5",))
    error = nothing_came(Ended(account, 21), ARGV, "There is no bundle.")
    assert error.message == (
        "Nothing was recorded: xctrace ended before it said anything. There is no process with "
        "that id to attach to. /X/xctrace record --attach 5 failed with exit code 21:\n"
        "Cannot find process for provided pid: 5\nThere is no bundle."
    )
    assert error.hint == "Check that the program still runs."


@pytest.mark.parametrize(
    ("state", "when"),
    [
        (State.ANNOUNCED, "before it began to record"),
        (State.STOPPING, "while it stopped"),
        (State.SAVING, "while it saved"),
    ],
)
def test_nothing_came_of_a_recorder_that_hung(state: State, when: str) -> None:
    ended = Ended(Account(state=state), -9, (SIGINT, SIGINT, SIGTERM, SIGKILL))
    error = nothing_came(ended, ARGV, "")
    assert error.message == f"xctrace hung {when} and had to be killed; the recording is lost."
    assert "/X/xctrace record --attach 5" in error.hint
