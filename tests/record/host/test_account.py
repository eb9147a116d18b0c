from contextlib import closing
from pathlib import Path

import pytest

from tracekit.base.recording import Recording
from tracekit.record.host.exports import EVENTS, account, event_tables
from tracekit.workload.journal import Journal
from tracekit.workload.workload import Measured

MLX = "Generation: 128 tokens, 45.256 tokens-per-sec\n"


@pytest.fixture
def recording(tmp_path: Path) -> Recording:
    return Recording(tmp_path)


def gauge(file: Path, name: str, source: str, anchor: int) -> None:
    with closing(Journal(file)) as journal:
        journal.write("anchor", monotonic=anchor, epoch=10 * anchor)
        journal.write("gauge", name=name, value=1.5, at=7, unit="Hz", source=source)


def test_a_monitors_gauges_follow_the_workers(recording: Recording) -> None:
    gauge(recording.journal_file, "blocks", "workload", 100)
    gauge(recording.gauges_file, "gpu_clock", "macmon", 200)
    report = account(recording)
    assert [one.name for one in report.gauges] == ["blocks", "gpu_clock"]
    assert [one.monotonic for one in report.anchors] == [100]
    assert event_tables(recording, report) == tuple(EVENTS)


def test_without_a_worker_the_monitor_tells_the_time_of_day(recording: Recording) -> None:
    gauge(recording.gauges_file, "gpu_clock", "macmon", 200)
    report = account(recording)
    assert [one.monotonic for one in report.anchors] == [200]
    assert event_tables(recording, report) == ("gauges",)


def test_a_programs_output_gives_results(recording: Recording) -> None:
    recording.output_file.write_text(MLX)
    report = account(recording)
    assert report.results["generation_tokens_per_second"].value == 45.256
    assert event_tables(recording, report) == ("results",)


def test_what_a_worker_measured_itself_counts_more(recording: Recording) -> None:
    recording.output_file.write_text(MLX)
    with closing(Journal(recording.journal_file)) as journal:
        journal.write("result", name="generation_tokens", value=3.0, unit="count")
    results = account(recording).results
    assert results["generation_tokens"] == Measured(3.0, "count")
    assert results["generation_tokens_per_second"].value == 45.256
