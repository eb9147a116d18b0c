from dataclasses import replace
from pathlib import Path

import pytest

from tracekit.base.errors import UsageError
from tracekit.base.recording import Recording
from tracekit.record.host.recorder import End, Ending, recorded, settled
from tracekit.record.host.session import Session
from tracekit.workload.journal import Journal, Phase, WorkloadReport, fold

SESSION = Session(
    pid=7,
    name="python",
    kind="launched",
    origin=1000,
    started="2026-01-01T00:00:00.000+00:00",
    ended="2026-01-01T00:00:09.000+00:00",
    end_reason="Target exited",
)
STEADY = (Phase("steady", 1, 2),)
DONE = WorkloadReport(state="done", complete=True, phases=STEADY)
ASKED = WorkloadReport(state="interrupted", complete=True, phases=STEADY)
CUT = WorkloadReport(state="steady", phases=STEADY)
UNREADY = WorkloadReport(state="preparing", phases=(Phase("prepare", 1, 2),))
FAILED = WorkloadReport(state="failed", complete=True, error="It rained.", exit_code=3)


def outcome(end: End, status: int | None, complaint: str = "") -> Ending:
    return Ending(replace(SESSION, exit_status=status), end, complaint)


@pytest.mark.parametrize(
    ("end", "status", "report", "failure"),
    [
        pytest.param(End.EXITED, 0, None, "", id="a command that ended well"),
        pytest.param(End.EXITED, 3, None, "python ended with exit code 3.", id="that did not"),
        pytest.param(End.EXITED, -11, None, "python ended with signal SIGSEGV.", id="crashed"),
        pytest.param(End.EXITED, -99, None, "python ended with signal 99.", id="strange signal"),
        pytest.param(End.LIMIT, -2, None, "", id="a command at its limit"),
        pytest.param(End.INTERRUPTED, -2, None, "", id="an interrupted command"),
        pytest.param(
            End.KILLED,
            -9,
            None,
            "python did not end when it was asked to, and was killed.",
            id="a deaf command",
        ),
        pytest.param(End.EXITED, 0, DONE, "", id="a worker that is done"),
        pytest.param(End.KILLED, -9, DONE, "", id="that was done and did not leave"),
        pytest.param(End.EXITED, 3, FAILED, "It rained.", id="that failed"),
        pytest.param(End.EXITED, 130, ASKED, "", id="that was asked to stop"),
        pytest.param(
            End.LIMIT,
            130,
            ASKED,
            "python did not end by itself in time and was asked to stop.",
            id="asked by us",
        ),
        pytest.param(End.LIMIT, 0, DONE, "", id="done as it was asked"),
        pytest.param(End.EXITED, -9, CUT, "python ended with signal SIGKILL.", id="killed"),
        pytest.param(End.EXITED, 0, CUT, "python ended without closing its account.", id="left"),
        pytest.param(
            End.LIMIT, 130, UNREADY, "python did not come to its steady phase in time.", id="late"
        ),
        pytest.param(End.INTERRUPTED, -2, UNREADY, "", id="an early Ctrl-C"),
    ],
)
def test_a_failure_is_one_sentence(
    end: End, status: int, report: WorkloadReport | None, failure: str
) -> None:
    assert recorded(outcome(end, status), report).failure == failure


def test_what_the_workload_advises_is_handed_on() -> None:
    advised = replace(FAILED, hint="Take an umbrella.")
    assert recorded(outcome(End.EXITED, 3), advised).hint == "Take an umbrella."
    assert recorded(outcome(End.EXITED, 3), FAILED).hint == ""
    assert recorded(outcome(End.EXITED, 3), None).hint == ""


@pytest.mark.parametrize(
    ("end", "report", "interrupted"),
    [
        pytest.param(End.EXITED, DONE, False, id="done"),
        pytest.param(End.EXITED, ASKED, True, id="asked by others"),
        pytest.param(End.LIMIT, ASKED, False, id="asked at the limit"),
        pytest.param(End.INTERRUPTED, ASKED, True, id="Ctrl-C"),
        pytest.param(End.INTERRUPTED, None, True, id="Ctrl-C, a command"),
    ],
)
def test_an_interruption_is_reported(
    end: End, report: WorkloadReport | None, interrupted: bool
) -> None:
    reported = recorded(outcome(end, 130), report)
    assert reported.interrupted is interrupted


def test_warnings_are_gathered() -> None:
    report = WorkloadReport(
        state="interrupted", complete=True, phases=STEADY, warnings=("It rains.",), unreadable=2
    )
    reported = recorded(outcome(End.LIMIT, 130), report)
    assert reported.warnings == (
        "It rains.",
        "The worker did not end by itself in time and was asked to stop.",
        "2 of the worker's marks cannot be read and are left out.",
    )


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "workload.jsonl")


def test_an_account_that_is_closed_is_left_alone(journal: Journal, tmp_path: Path) -> None:
    journal.write("about", state="done", complete=True)
    journal.close()
    report = settled(outcome(End.EXITED, 0), journal.path, Recording(tmp_path))
    assert report == fold(journal.path)
    assert not Recording(tmp_path).workload_file.exists()


def test_an_account_that_nobody_closed_is_closed(journal: Journal, tmp_path: Path) -> None:
    journal.write("phase", name="steady", start=1)
    journal.close()
    report = settled(outcome(End.EXITED, -9), journal.path, Recording(tmp_path))
    assert report is not None
    assert (report.state, report.error) == ("failed", "python ended with signal SIGKILL.")
    assert '"state": "failed"' in Recording(tmp_path).workload_file.read_text()


def test_refused_parameters_are_raised(journal: Journal, tmp_path: Path) -> None:
    journal.write(
        "about", state="failed", complete=True, error="Too small.", hint="Take 2.", exit_code=2
    )
    journal.close()
    with pytest.raises(UsageError, match=r"Too small\."):
        settled(outcome(End.EXITED, 2), journal.path, Recording(tmp_path))
