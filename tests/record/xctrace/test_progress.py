"""From lines to states, without a process."""

from functools import reduce
from pathlib import Path

from tracekit.record.xctrace.progress import (
    RecordingState,
    RecordingTranscript,
    Tail,
    hear_complaint,
    hear_output,
)

ANNOUNCED = "Starting recording with the Metal System Trace template. Attaching to: Probe (27364)."
STARTED = "Ctrl-C to stop the recording"
LIMIT = "Reached specified time limit, ending recording..."
EXITED = "Target app exited, ending recording..."
COMPLETED = "Recording completed. Saving output file..."
SAVED = "Output file saved as: metal-system-trace.trace"
LINES = (ANNOUNCED, STARTED, LIMIT, COMPLETED, SAVED)


def heard(*lines: str) -> RecordingTranscript:
    return reduce(hear_output, lines, RecordingTranscript())


def test_lines_are_states() -> None:
    cases = {
        **{LINES[:count]: (RecordingState(count), False) for count in range(6)},
        (*LINES[:4], f"{SAVED}."): (RecordingState.SAVED, False),
        (*LINES, ANNOUNCED, "", "x"): (RecordingState.SAVED, False),
        ("Aufzeichnung beginnt.",): (RecordingState.ANNOUNCED, True),
        ("Aufzeichnung beginnt.", "Ctrl-C beendet."): (RecordingState.STARTED, True),
        ("eins", "zwei", "drei", "vier", "fünf", "sechs"): (RecordingState.STARTED, True),
        ("A privacy notice.", "It has two lines.", ANNOUNCED): (RecordingState.ANNOUNCED, False),
    }
    accounts = {lines: heard(*lines) for lines in cases}
    assert {lines: (got.state, got.foreign) for lines, got in accounts.items()} == cases


def test_the_first_line_says_why_it_stopped() -> None:
    cases = {LIMIT: True, EXITED: False, "Stopping recording...": True, "Stopping recording…": True}
    for line, stopped in cases.items():
        account = heard(ANNOUNCED, STARTED, line, EXITED, LIMIT)
        assert (account.stop_line, account.is_stopped) == (line, stopped)


def test_errors_are_heard_once_each() -> None:
    block = (
        "Run issues were detected (trace is still ready to be viewed):",
        "* [Error] 'Network Connections' is not supported.",
        "\t* [Error] Recovery Suggestion: Remove it.",
        "* [Error] 'Network Connections' is not supported.",
        "* [Warning] GPU Service reported error: no",
    )
    account = reduce(hear_complaint, block, heard("Recording failed with errors"))
    assert account.errors == (
        "'Network Connections' is not supported.",
        "Recovery Suggestion: Remove it.",
    )
    assert account.warnings == ("GPU Service reported error: no",)
    assert account.complaints == block
    assert (account.state, account.failed) == (RecordingState.SAVING, True)


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
        assert tail.lines(has_ended=True) == ["c\ufffd"]
        assert tail.lines(has_ended=True) == []
