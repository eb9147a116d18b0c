"""How a recording of the host counts, and what it cost."""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tracekit.base.errors import UsageError
from tracekit.base.recording import Overhead, Recording
from tracekit.record.host.recorder import End, Ending, overhead, recorded, settled
from tracekit.record.host.session import Session
from tracekit.workload.journal import Block, Journal, Phase, WorkloadReport, fold

SESSION = Session(7, "python", "launched", origin=1000, end_reason="Target exited")
STEADY = (Phase("steady", 1, 2),)
DONE = WorkloadReport(state="done", complete=True, phases=STEADY)
ASKED = WorkloadReport(state="interrupted", complete=True, phases=STEADY)
CUT = WorkloadReport(state="steady", phases=STEADY)
UNREADY = WorkloadReport(state="preparing", phases=(Phase("prepare", 1, 2),))
FAILED = WorkloadReport(state="failed", complete=True, error="It rained.", exit_code=3)
LATE = "python did not end by itself in time and was asked to stop."
DEAF = "python did not end when it was asked to, and was killed."


def ending(end: End, status: int | None, complaint: str = "") -> Ending:
    return Ending(replace(SESSION, exit_status=status), end, complaint)


@pytest.mark.parametrize(
    ("end", "status", "report", "failure", "interrupted"),
    [
        (End.EXITED, 0, None, "", False),
        (End.EXITED, 3, None, "python ended with exit code 3.", False),
        (End.EXITED, -11, None, "python ended with signal SIGSEGV.", False),
        (End.LIMIT, -2, None, "", False),
        (End.INTERRUPTED, -2, None, "", True),
        (End.KILLED, -9, None, DEAF, False),
        (End.EXITED, 0, DONE, "", False),
        (End.KILLED, -9, DONE, "", False),
        (End.EXITED, 3, FAILED, "It rained.", False),
        (End.EXITED, 130, ASKED, "", True),  # by others
        (End.LIMIT, 130, ASKED, LATE, False),
        (End.INTERRUPTED, 130, ASKED, "", True),
        (End.LIMIT, 0, DONE, "", False),
        (End.EXITED, -9, CUT, "python ended with signal SIGKILL.", False),
        (End.EXITED, 0, CUT, "python ended without closing its account.", False),
        (End.LIMIT, 130, UNREADY, "python did not come to its steady phase in time.", False),
        (End.INTERRUPTED, -2, UNREADY, "", True),
    ],
)
def test_a_failure_is_one_sentence(
    *, end: End, status: int, report: WorkloadReport | None, failure: str, interrupted: bool
) -> None:
    found = recorded(ending(end, status), report)
    assert (found.failure, found.interrupted) == (failure, interrupted)


def test_last_words_advice_and_warnings_are_handed_on() -> None:
    found = recorded(ending(End.EXITED, 3, "no room"), None)
    assert found.failure == "python ended with exit code 3. Its last words: no room"
    found = recorded(ending(End.EXITED, 3), replace(FAILED, hint="Take an umbrella."))
    assert found.hint == "Take an umbrella."
    found = recorded(ending(End.LIMIT, 1), replace(ASKED, warnings=("It rains.",), unreadable=2))
    assert found.warnings == (
        "It rains.",
        "The worker did not end by itself in time and was asked to stop.",
        "2 of the worker's marks cannot be read and are left out.",
    )
    assert recorded(Ending(SESSION, End.KILLED, stopped=True), None).interrupted


@pytest.mark.parametrize(
    ("mark", "status", "error"),
    [
        ({"state": "done", "complete": True}, 0, None),
        ({"state": "steady"}, -9, "python ended with signal SIGKILL."),
        ({"state": "failed", "complete": True, "error": "Too small.", "exit_code": 2}, 2, "usage"),
    ],
)
def test_an_account_that_nobody_closed_is_closed(
    mark: dict[str, Any], status: int, error: str | None, tmp_path: Path
) -> None:
    recording = Recording(tmp_path)
    with closing(Journal(recording.journal_file)) as journal:
        journal.write("about", **mark)
    if error == "usage":
        with pytest.raises(UsageError, match=r"Too small\."):
            settled(ending(End.EXITED, status), recording.journal_file, recording)
        return
    report = settled(ending(End.EXITED, status), recording.journal_file, recording)
    assert report is not None
    assert report.error == (error or "")
    assert recording.workload_file.exists() is (error is not None)
    if error is None:
        assert report == fold(recording.journal_file)


def costs(recorded: Sequence[int], unrecorded: Sequence[int]) -> Overhead:
    """Lay blocks of two steps in the order ABBA; times are ns a step."""
    blocks: list[Block] = []
    for number, (mine, other) in enumerate(zip(recorded, unrecorded, strict=True)):
        pair = [Block(True, 0, 2 * mine, 2), Block(False, 0, 2 * other, 2)]
        blocks += pair if number % 2 == 0 else pair[::-1]
    return overhead(WorkloadReport(blocks=tuple(blocks)))


def test_what_recording_costs_is_the_ratio_of_medians() -> None:
    found = costs([110, 112, 108, 110, 110, 900], [100, 101, 99, 100, 100, 100])
    assert (found.recorded, found.unrecorded, found.reason) == (110, 100, "")
    assert found.ratio == pytest.approx(0.10)
    calm = costs([100, 101, 99, 100, 101, 99], [100] * 6).spread
    wild = costs([60, 140, 70, 130, 90, 110], [100] * 6).spread
    assert calm is not None
    assert wild is not None
    assert (calm < 0.02, wild > 0.1) == (True, True)


def test_too_few_blocks_are_no_measurement() -> None:
    few = "only 3 pairs of recorded and unrecorded steps were made"
    assert costs([100] * 3, [100] * 3) == Overhead(reason=few)
    assert costs([100] * 4, [100] * 4).ratio == 0.0
    said = WorkloadReport(overhead_reason="Steps are too long.")
    assert overhead(said) == Overhead(reason="Steps are too long.")
    assert overhead(WorkloadReport()) == Overhead(reason="no steps were made unrecorded")
