from typing import Any

from tracekit.report.panels.timeline import timeline
from tracekit.report.timeline.still import WIDTH


def test_the_timeline_is_there_for_the_script_and_for_those_without(trace_run: Any) -> None:
    context = timeline.context(trace_run.result, trace_run.tables)
    assert [strip["name"] for strip in context["strips"]] == [
        one.name for one in context["line"].tracks
    ]
    assert context["ticks"][0] == "0 ns"
    assert context["width"] == WIDTH


def test_a_run_without_tables_says_what_is_missing(bare: Any) -> None:
    line = timeline.context(bare.result, bare.tables)["line"]
    assert line.tracks == ()
    assert "No phases: the recording has no table phases." in line.absences
