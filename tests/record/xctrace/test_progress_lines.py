"""From lines to states, without a process."""

from functools import reduce
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tracekit.record.xctrace.progress import (
    Account,
    Issue,
    State,
    Stop,
    Tail,
    hear_complaint,
    hear_output,
)

ANNOUNCED = (
    "Starting recording with the Metal System Trace template. "
    "Attaching to: ProbeFixture (27364). Time limit: 5.0 s"
)
STARTED = "Ctrl-C to stop the recording"
LIMIT = "Reached specified time limit, ending recording..."
COMPLETED = "Recording completed. Saving output file..."
SAVED = "Output file saved as: metal-system-trace.trace"
LINES = (ANNOUNCED, STARTED, LIMIT, COMPLETED, SAVED)


def heard(*lines: str) -> Account:
    return reduce(hear_output, lines, Account())


@pytest.mark.parametrize(
    ("count", "state"),
    [
        (0, State.LAUNCHED),
        (1, State.ANNOUNCED),
        (2, State.STARTED),
        (3, State.STOPPING),
        (4, State.SAVING),
        (5, State.SAVED),
    ],
)
def test_each_line_is_a_state(count: int, state: State) -> None:
    assert heard(*LINES[:count]).state is state


@pytest.mark.parametrize(
    ("line", "stop"),
    [
        (LIMIT, Stop.TIME_LIMIT),
        ("Target app exited, ending recording...", Stop.TARGET_EXITED),
        ("Stopping recording...", Stop.ASKED),
        ("Stopping recording…", Stop.ASKED),
    ],
)
def test_why_it_stopped(line: str, stop: Stop) -> None:
    account = heard(ANNOUNCED, STARTED, line)
    assert (account.stop, account.stop_line) == (stop, line)


def test_the_first_stop_line_counts() -> None:
    account = heard(ANNOUNCED, STARTED, LIMIT, "Target app exited, ending recording...")
    assert account.stop is Stop.TIME_LIMIT


def test_a_full_stop_after_the_saved_line_is_nothing_special() -> None:
    assert heard(*LINES[:4], f"{SAVED}.").state is State.SAVED


BLOCK = """\
Run issues were detected (trace is still ready to be viewed):
* [Error] Recording of 'Network Connections' is not supported in the Simulator.

\t* [Error] Recovery Suggestion: Remove the `Network Connections` instrument and try again.
* [Error] Recording of 'Network Connections' is not supported in the Simulator.
* [Warning] GPU Service reported error: no"""


def test_issues_are_read_once_each_with_their_nested_lines() -> None:
    account = reduce(hear_complaint, BLOCK.splitlines(), Account())
    assert account.issues == (
        Issue("Error", "Recording of 'Network Connections' is not supported in the Simulator."),
        Issue(
            "Error",
            "Recovery Suggestion: Remove the `Network Connections` instrument and try again.",
        ),
        Issue("Warning", "GPU Service reported error: no"),
    )
    assert account.complaints == tuple(BLOCK.splitlines())
    assert account.state is State.LAUNCHED


def test_another_language_is_read_by_the_order_of_its_lines() -> None:
    account = heard("Aufzeichnung beginnt mit der Vorlage.")
    assert (account.state, account.foreign) == (State.ANNOUNCED, True)
    account = heard("Aufzeichnung beginnt.", "Ctrl-C beendet die Aufzeichnung.")
    assert (account.state, account.foreign) == (State.STARTED, True)


def test_nothing_beyond_started_is_concluded_from_foreign_lines() -> None:
    assert heard("eins", "zwei", "drei", "vier", "fünf", "sechs").state is State.STARTED


def test_a_known_line_takes_back_what_was_guessed_before_it() -> None:
    account = heard("A privacy notice.", "It has two lines.", ANNOUNCED)
    assert (account.state, account.foreign) == (State.ANNOUNCED, False)


@given(st.lists(st.sampled_from((*LINES, "", "x", "* [Error] y")), max_size=12))
def test_a_state_never_goes_back_once_a_known_line_was_heard(lines: list[str]) -> None:
    account = hear_output(Account(), ANNOUNCED)
    for line in lines:
        before = account.state
        account = hear_output(account, line)
        assert account.state >= before


def test_only_the_last_lines_are_kept() -> None:
    account = heard(*(f"line {number}" for number in range(1000)))
    assert (account.output[0], account.output[-1]) == ("line 600", "line 999")


def test_a_line_in_pieces_is_one_line_and_the_last_needs_no_end(tmp_path: Path) -> None:
    with (tmp_path / "said").open("w+b", buffering=0) as file:
        tail, heard = Tail(file), list[list[str]]()
        for part in (b"a", b"b\n\nc", b"", b"\xff"):
            file.write(part)
            heard.append(tail.lines())
        assert heard == [[], ["ab", ""], [], []]
        assert tail.lines(ended=True) == ["c\ufffd"]
        assert tail.lines(ended=True) == []
