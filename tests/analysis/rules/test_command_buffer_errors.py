"""`command-buffer-errors`: whose errors count, and what they are called."""

import pandas as pd
import pytest

from analysed import intervals, judged
from stock import frame
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.rule import Evidence, Severity


def errors(*rows: tuple[int, int, int]) -> pd.DataFrame:
    made = pd.DataFrame(rows, columns=["time", "command_buffer", "error"])
    return made.astype({"command_buffer": "UInt64", "error": "Int64"})


WORK = intervals([(0, 5), (10, 5)], others=[(20, 5)]).assign(
    command_buffer=pd.array([1, 2, 3], dtype="UInt64")
)


def test_errors_of_the_target_are_counted_by_kind() -> None:
    rows = errors((7, 1, 8), (9, 2, 8), (11, 5, 2), (12, 3, 2), (13, 1, 0))
    sent = frame([{"start": 0, "duration": 1, "target": True, "command_buffer": 5}])
    [finding] = judged(
        "command-buffer-errors", gpu_intervals=WORK, submissions=sent, command_buffer_errors=rows
    )
    assert finding.severity is Severity.ERROR
    assert "3 command buffers ended with an error" in finding.message
    assert "out of memory (code 8) 2 times, timeout (code 2) 1 times" in finding.message
    assert "no memory left" in finding.advice
    assert finding.evidence[0] == Evidence("command_buffer_errors", 7, 7, "out of memory (code 8)")


def test_errors_of_others_do_not_count_and_of_nobody_do() -> None:
    tables = {"gpu_intervals": WORK}
    assert not judged("command-buffer-errors", **tables, command_buffer_errors=errors((7, 3, 2)))
    assert not judged("command-buffer-errors", **tables, command_buffer_errors=errors())
    [finding] = judged("command-buffer-errors", **tables, command_buffer_errors=errors((7, 9, 99)))
    assert "unknown (code 99)" in finding.message


def test_it_abstains_without_the_table() -> None:
    with pytest.raises(Unavailable, match="metal-command-buffer-error"):
        judged("command-buffer-errors", gpu_intervals=WORK)
