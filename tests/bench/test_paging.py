"""Runs made to time pages with, and what is told of the times."""

import numpy as np
import pytest

from page import main
from paging.browsing import Browsed, chromium
from paging.frames import Made
from paging.made_run import PER_BUFFER, provenance, tables
from tracekit.analysis.analyze import analyze
from tracekit.report.timeline.packing import Tick
from tracekit.report.timeline.tracks import timeline
from tracekit.tables.schemas import SCHEMAS

COUNT = 2_000


@pytest.fixture(scope="module")
def made() -> Made:
    return tables(COUNT)


def test_tables_have_the_columns_and_types_of_the_readers(made: Made) -> None:
    for name in made:
        assert list(made[name]) == [column.name for column in SCHEMAS[name].columns], name
    assert str(made["gpu_intervals"]["command_buffer"].dtype) == "UInt64"
    assert made["gpu_counters"]["percentage"].all()


def test_the_targets_work_never_overlaps_and_falls_on_the_ticks_of_a_mac(made: Made) -> None:
    own = made["gpu_intervals"].query("target")
    starts = own["start"].to_numpy(np.int64)
    ends = starts + own["duration"].to_numpy(np.int64)
    assert (starts[1:] >= ends[:-1]).all()
    assert Tick(125, 3).tells(starts)
    assert Tick(125, 3).tells(ends)


def test_each_command_buffer_is_encoded_committed_run_and_completed(made: Made) -> None:
    lives = made["command_buffers"]
    own = lives[lives["target"]]
    assert len(own) == (COUNT - COUNT // 20) // PER_BUFFER
    for before, after in (
        ("submitted", "committed"),
        ("committed", "gpu_start"),
        ("gpu_start", "gpu_end"),
        ("gpu_end", "completed"),
    ):
        assert (own[before] <= own[after]).all(), (before, after)


def test_the_same_seed_makes_the_same_run_and_another_one_another(made: Made) -> None:
    assert tables(COUNT)["gpu_intervals"].equals(made["gpu_intervals"])
    assert not tables(COUNT, seed=2)["gpu_intervals"].equals(made["gpu_intervals"])


def test_a_made_run_can_be_judged_and_drawn(made: Made) -> None:
    result = analyze(made, provenance())
    names = [track.name for track in timeline(result, made).tracks]
    assert {"Steps", "Submissions", "GPU Compute", "Driver", "In flight", "WindowServer"} <= {
        *names
    }


def test_frames_are_told_by_their_median_and_their_slowest() -> None:
    frames = tuple(float(one) for one in range(1, 101))
    told = dict(Browsed(120.4, 800.6, frames, ()).rows)
    assert told["first paint"] == "120 ms"
    assert told["timeline drawn"] == "801 ms"
    assert told["a frame while zooming"] == "50.5 ms (95th percentile 96.0, 100 frames)"
    assert told["a frame while moving"] == "none was drawn"


def test_without_a_browser_it_says_what_was_looked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nonexistent")
    monkeypatch.setenv("TRACEKIT_CHROMIUM", "")
    with pytest.raises(FileNotFoundError, match="none of chromium, chromium-browser"):
        chromium()
    monkeypatch.setenv("TRACEKIT_CHROMIUM", "/opt/browser")
    assert chromium() == "/opt/browser"


def test_the_script_prints_what_it_measured(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--count", "2000", "--rounds", "1", "--no-browser", "--clock", "cpu", "--markdown"]
    main(words)
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "| intervals on the GPU | 2,000 |"
    assert lines[2].startswith("| analyze, cpu time | ")
    assert any(line.startswith("| page | 0.") for line in lines)
