"""How long a command takes: said first, counted down on a terminal, a line a stage in a pipe."""

import os
import time
from pathlib import Path
from typing import Any

import pytest

from tracekit.cli import console, durations
from tracekit.cli.stage_line import StageLine


def test_the_last_runs_of_a_command_in_a_folder_tell_its_duration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ("capture", "--workload", "paged")
    assert durations.expect_seconds(words) is None
    for seconds in (90.0, 14.0, 13.0, 15.0, 1.0, 14.5, 13.5):
        durations.keep_seconds(words, seconds)
    assert durations.expect_seconds((*words, "--json")) == 14.0, "of the last five; 1 s is no news"
    assert durations.expect_seconds((*words, "--batch", "2")) is None
    monkeypatch.chdir(tmp_path)
    assert durations.expect_seconds(words) is None


def test_a_note_that_is_damaged_or_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    notes = Path(os.environ["TRACEKIT_CACHE"])
    notes.mkdir(parents=True)
    for text in ("", "[]", '{"a": 3}', '{"a": ["x"]}', "\x00"):
        (notes / "durations.json").write_text(text)
        assert durations.expect_seconds(("report",)) is None, text
    durations.keep_seconds(("report",), 3.0)
    assert durations.expect_seconds(("report",)) == 3.0
    notes.rename(tmp_path / "away")
    notes.write_text("a file")
    durations.keep_seconds(("report",), 3.0)
    assert durations.expect_seconds(("report",)) is None


def test_the_time_that_is_left_follows_from_parts_or_from_the_expected_duration() -> None:
    now = time.monotonic()
    line = StageLine("record", now - 4.0, 14.0)
    assert line.describe(now) == "record … · about 10 s left"
    line.update("warming up")
    assert line.describe(now + 3) == "record · warming up · about 7 s left"
    assert line.describe(now + 60) == "record · warming up", "longer than expected"
    line.update("2 of 1,200: first")
    assert line.describe(now + 1).endswith("first · about 9 s left"), "too early to tell by parts"
    line.update("601 of 1,200: later")
    assert line.describe(now + 600).endswith("later · about 10 min left")
    assert StageLine("import", now).describe(now) == "import …"


def test_a_pipe_gets_the_expected_duration_first_and_a_line_for_each_stage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with console.invocation(console.OutputStyle(), ("capture",)):
        console.announce("records for about 10 s", 10.0)
        console.announce("never said")
        for stage in ("record", "export"):
            with console.progress(stage) as progress:
                progress("1 of 2")
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["records for about 10 s", "record: 0.0 s", "export: 0.0 s"]
    durations.keep_seconds(("capture",), 14.2)
    with console.invocation(console.OutputStyle(), ("capture",)):
        console.announce("records for about 10 s", 10.0)
    assert capsys.readouterr().err == "about 14 s, as before\n"
    with (
        console.invocation(console.OutputStyle(is_quiet=True), ("capture",)),
        console.progress("record"),
    ):
        console.announce("records for about 10 s", 10.0)
    assert capsys.readouterr().err == ""


def test_a_recording_is_announced_once_it_can_be_made(tracekit: Any, tmp_path: Path) -> None:
    for arguments, words in (
        (("--attach", "4194304"), "error: There is no process 4194304 to attach to."),
        (("--read", "speed", "--", "true"), "error: 'speed' is not NAME:UNIT:"),
    ):
        refused = tracekit("capture", "--recorder", "host", *arguments)
        assert (refused.code, refused.err[: len(words)]) == (2, words), arguments
    own = ("--recorder", "host", "--attach", str(os.getpid()), "--time-limit", "1s")
    recorded = tracekit("record", *own, "--output", tmp_path / "run")
    assert recorded.err.startswith("records for at most 1 s\n"), "it has no warm-up"


def test_a_long_stage_in_a_pipe_says_now_and_then_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = iter((0.0, 0.0, 0.0, 3.0, 11.0, 12.0, 95.0, 96.0, 97.0, 97.0))
    monkeypatch.setattr(console, "monotonic", lambda: next(seconds))
    with (
        console.invocation(console.OutputStyle(), ("batch",)),
        console.progress("batch") as progress,
    ):
        for number in range(1, 6):
            progress(f"{number} of 9")
    lines = capsys.readouterr().err.splitlines()
    assert lines == ["batch: 2 of 9 (11 s)", "batch: 4 of 9 (95 s)"]


def test_a_command_that_failed_tells_nothing_of_the_next(tracekit: Any) -> None:
    with (
        pytest.raises(ValueError, match="broken"),
        console.invocation(console.OutputStyle(), ("x",)),
        console.progress("analyze"),
    ):
        raise ValueError("broken")
    assert durations.expect_seconds(("x",)) is None
