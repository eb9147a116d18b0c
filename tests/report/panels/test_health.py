"""Capture health: warnings, rows, counters, clocks and overhead, as the page words them."""

import re
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from tracekit.base.capabilities import Capabilities, Identity
from tracekit.base.recording import Provenance
from tracekit.report.panels.health import clock_words, counter_set, health
from tracekit.report.render import environment_of


def test_clocks_and_warnings_are_passed_on(host_run: Any) -> None:
    context = health.context(host_run.result, host_run.tables)
    assert context["clock"] == [("origin", "123"), ("clock", "monotonic")]
    assert context["warnings"] == ("The machine had 1.4 other cores busy.",)


def test_what_the_machine_can_record_is_passed_on(trace_run: Any) -> None:
    known = Capabilities(Identity(chip="Apple M1"), "2026-11-20T10:15:03+00:00")
    provenance = replace(trace_run.result.provenance, capabilities=known)
    context = health.context(replace(trace_run.result, provenance=provenance), trace_run.tables)
    assert context["capabilities"] == known
    assert context["recorder"] == trace_run.result.provenance.recorder


SETTINGS = {"instrument": ["GPU", "Metal"], "setting": ["Counter Set: (null)", "Mode: Immediate"]}
NAMED = {"instrument": ["GPU"], "setting": ["Counter Set: Performance Limiters"]}
COUNTERS = [{"start": 1, "duration": 1, "value": 5.0, "clock": "gpu"}] * 1_200


@pytest.mark.parametrize(
    ("settings", "samples", "words"),
    [
        (None, [], "not known, because no table of contents of the recording names it; no samples"),
        (SETTINGS, [], "none is switched on; no samples of counters"),
        (NAMED, COUNTERS, "Performance Limiters; 1,200 samples of counters"),
    ],
)
def test_the_counter_set_is_named_with_its_samples(
    frame: Any, settings: Any, samples: Any, words: str
) -> None:
    tables = {"gpu_counters": frame("gpu_counters", samples)}
    if settings:
        tables["settings"] = pd.DataFrame(settings, dtype="string")
    assert counter_set(Provenance(recorder="xctrace"), tables).startswith(words)


def test_the_host_recorder_has_no_counters() -> None:
    assert counter_set(Provenance(recorder="host"), {}) == "none: the host recorder sees no GPU"


@pytest.mark.parametrize(
    ("recorder", "clock", "words"),
    [
        ("host", {"origin": 1, "clock": "monotonic"}, "the marks and the samples are of one clock"),
        ("import", {}, "not known: the recording does not say how its clocks are aligned"),
        ("xctrace", {"source": "start-date", "epoch": 5}, "the marks tell no time that the trace"),
        ("xctrace", {"source": "start-date", "origin": 5, "uncertainty": 1_200_000}, "laid on the"),
    ],
)
def test_how_the_marks_came_onto_the_traces_time_is_said(
    recorder: str, clock: dict[str, Any], words: str
) -> None:
    assert clock_words(Provenance(recorder=recorder, clock=clock), marked=True).startswith(words)


def test_how_sure_the_place_of_the_marks_is_is_said() -> None:
    clock = {"source": "start-date", "origin": 5, "uncertainty": 1_200_000}
    words = clock_words(Provenance(recorder="xctrace", clock=clock), marked=True)
    assert words == "laid on the trace's time by start-date, good to 1.20 ms"


def shown(run: Any, **tables: Any) -> str:
    context = health.context(run.result, {**run.tables, **tables})
    html = environment_of(str).get_template(f"{health.name}.html").render(context)
    return " ".join(" ".join(re.sub("<[^>]+>", " ", html).split()).split())


def test_tables_without_rows_are_loud_and_those_not_recorded_quiet(
    trace_run: Any, frame: Any
) -> None:
    text = shown(
        trace_run,
        driver_events=frame("driver_events", []),
        encoders=frame("encoders", [{"start": 1, "duration": 1, "target": False}]),
    )
    before, _ = text.split("All tables, stages")
    assert "0 rows in driver_events ." in before
    assert "0 rows of the target in encoders , which has 1 of others." in before
    assert "Not recorded: phases" in before


def test_what_readers_remark_is_shown_once_beside_the_warnings(trace_run: Any) -> None:
    said = ["metal-gpu-intervals: columns that the export lacks: depth", "It is cut.", "It is cut."]
    remarks = pd.DataFrame({"text": pd.array(said, dtype="string")})
    provenance = replace(trace_run.result.provenance, warnings=(said[0],))
    text = shown(trace_run.having(provenance=provenance), remarks=remarks)
    assert text.count(said[0]) == 1
    assert text.count("While reading: It is cut.") == 1
    assert "The recording has no warnings" not in text


def test_how_the_recording_ended_stands_with_its_length(host_run: Any) -> None:
    assert "The workload ended, after 6.10 s." in shown(host_run)
    text = shown(host_run.having(provenance=Provenance()))
    assert "The recording does not say why." in text


def test_an_overhead_within_its_spread_says_so(host_run: Any) -> None:
    text = shown(host_run)
    assert "1.2 % ± 2.0 % (95 % interval): the median step took 4.25 ms recorded" in text
    assert "That is within its own uncertainty." in text


def test_a_run_without_marks_needs_no_clock_for_them(bare: Any, trace_run: Any) -> None:
    words = "There are no marks: no workload reported its phases or steps."
    assert words in shown(trace_run)
    assert words in shown(bare)


def test_a_recording_without_any_row_is_loud(bare: Any, host_run: Any) -> None:
    html = environment_of(str).get_template(f"{health.name}.html")
    nothing = html.render(health.context(bare.result, bare.tables))
    assert '<p class="notice warning">None of the' in nothing
    something = html.render(health.context(host_run.result, host_run.tables))
    assert "<p>5 of the" in something
