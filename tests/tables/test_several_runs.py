"""Of several runs, the one that is meant."""

from pathlib import Path

import pytest

from tracekit.base.errors import UsageError
from tracekit.base.recording import Process, Provenance, Recording
from tracekit.tables.toc import Toc, TocRun, assumed, listed, own, required, toc_text

RUNS = (
    TocRun(1, target=Process(7, "a"), start_date="2026-03-30T20:49:19.103Z", duration=1.25),
    TocRun(4, target=Process(7)),
    TocRun(5),
)


def test_the_last_run_is_meant_unless_another_is_named() -> None:
    assert required(RUNS, None, "x.trace") is RUNS[2]
    assert required(RUNS, 4, "x.trace") is RUNS[1]
    with pytest.raises(UsageError, match=r"x\.trace has no run 2\.") as raised:
        required(RUNS, 2, "x.trace")
    assert raised.value.hint == f"It has {listed(RUNS)}."


def test_runs_are_listed_with_what_is_known_of_them() -> None:
    assert listed(RUNS) == "run 1 (a 7, 2026-03-30T20:49:19.103Z, 1.250 s); run 4 (7); run 5"
    many = [TocRun(number) for number in range(1, 1024)]
    assert listed(many).endswith("; run 20; and 1,003 more")


def test_that_one_of_several_was_taken_is_said() -> None:
    assert assumed(RUNS[:1], RUNS[0], "x.trace") == ()
    [said] = assumed(RUNS[1:], RUNS[2], "x.trace")
    there = "x.trace has 2 runs: run 4 (7); run 5."
    assert said == f"{there} Run 5, the last one, is read; --run chooses another."
    [said] = assumed(RUNS[1:], RUNS[1], "x.trace")
    assert "Run 4, the last one with tables, is read" in said


def test_a_recording_says_itself_which_run_it_is_about(tmp_path: Path) -> None:
    recording = Recording(tmp_path)
    recording.exports.mkdir()
    recording.toc_file.write_text(toc_text(Toc(RUNS)))
    assert (own(recording) or RUNS[0]).number == 5
    for number, expected in ((4, 4), (None, 5), (9, 5)):
        recording.save_provenance(Provenance(run=number))
        assert (own(recording) or RUNS[0]).number == expected
