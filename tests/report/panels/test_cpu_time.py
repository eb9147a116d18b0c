from dataclasses import replace
from typing import Any

import pandas as pd
import pytest

from tracekit.analysis.given import Given
from tracekit.base.recording import Process, Provenance
from tracekit.report.panels.cpu_time import cpu_time
from tracekit.report.panels.host_events import host_events
from tracekit.report.panels.verdict import verdict
from tracekit.report.render import render

MS = 1_000_000
OWN = {"process": "app", "pid": 7, "target": True, "clock": "gpu"}


@pytest.fixture
def profiled(frame: Any) -> dict[str, pd.DataFrame]:
    rows = [{"time": 5, "weight": 3 * MS, "stack": 0, "tid": 70, **OWN}] * 3 + [
        {"time": 9, "weight": MS, "stack": 1, "tid": 71, **OWN},
        {"time": 9, "weight": 99 * MS, "stack": 1, "tid": 8, **OWN, "target": False},
    ]
    return {
        "cpu_profile": frame("cpu_profile", rows),
        "threads": frame("threads", [{"time": 0, "tid": 70, "name": "Main Thread", **OWN}]),
        "profile_frames": pd.DataFrame(
            {"stack": [0, 0, 1], "depth": [0, 1, 0], "function": ["<spin>", "main", "start"]}
        ),
    }


def of(bare: Any, tables: Any, **known: Any) -> tuple[Any, Given]:
    provenance = Provenance(recorder="import", targets=(Process(7, "app"),), **known)
    return replace(bare.result, provenance=provenance), Given(tables, provenance)


def test_functions_and_threads_have_their_shares(bare: Any, profiled: Any) -> None:
    context = cpu_time.context(*of(bare, profiled, duration=0.1))
    assert context is not None
    assert [(one["function"], one["own"], one["own_share"]) for one in context["functions"]] == [
        ("<spin>", "9 ms", 0.9),
        ("start", "1 ms", 0.1),
        ("main", "0 ns", 0.0),
    ]
    assert [(one["name"], one["samples"], one["share"]) for one in context["threads"]] == [
        ("Main Thread", 3, 0.9),
        ("thread 71", 1, 0.1),
    ]
    assert "10.0 % of the 100 ms" in context["asleep"]
    assert [block["title"] for block in context["flame"]["blocks"]] == [
        "main: 9 ms, 90.0 %",
        "<spin>: 9 ms, 90.0 %",
        "start: 1 ms, 10.0 %",
    ]


def test_cycles_are_counted_and_no_time_is_made_of_them(
    bare: Any, profiled: Any, frame: Any
) -> None:
    cycles = frame("cycle_profile", [{"time": 1, "weight": 1_500, "stack": 0, "tid": 70, **OWN}])
    tables = {"cycle_profile": cycles, "profile_frames": profiled["profile_frames"]}
    context = cpu_time.context(*of(bare, tables, duration=0.1))
    assert context is not None
    assert (context["weight"], context["asleep"]) == ("1,500 cycles", "")


def test_without_samples_there_is_no_panel_and_without_the_targets_a_reason(
    bare: Any, profiled: Any
) -> None:
    assert cpu_time.context(*of(bare, {})) is None
    profiled["cpu_profile"] = profiled["cpu_profile"].iloc[-1:]
    context = cpu_time.context(*of(bare, profiled))
    assert context is not None
    assert "belongs to the target" in context["absence"]


def test_a_page_without_gpu_work_has_no_panel_about_it_and_its_names_are_harmless(
    bare: Any, profiled: Any
) -> None:
    result, given = of(bare, profiled, duration=0.1)
    page = render(result, given, redact=str)
    assert 'id="cpu_time"' in page
    assert 'id="bubbles"' not in page
    assert "<spin>" not in page
    assert verdict.context(result, given)["verdict"].tone == "samples"  # pyright: ignore[reportOptionalSubscript]


def test_signposts_stand_by_name_with_percentiles_and_hangs_by_length(
    bare: Any, frame: Any
) -> None:
    posts = [
        {"start": at, "duration": length, "name": "decode", "subsystem": "app", **OWN}
        for at, length in enumerate([100, 200, 300])
    ]
    tables = {
        "signpost_intervals": frame(
            "signpost_intervals", [*posts, {"start": 9, "name": "open", **OWN}]
        ),
        "hangs": frame(
            "hangs",
            [
                {"start": 1, "duration": 5, "kind": "Microhang", **OWN},
                {"start": 2, "duration": 9, "kind": "Hang", **OWN},
                {"start": 3, "duration": 99, "kind": "Hang", **OWN, "target": False},
            ],
        ),
    }
    context = host_events.context(*of(bare, tables))
    assert context is not None
    [decode] = context["signposts"]
    assert (decode["count"], decode["total"], decode["p50"]) == (3, 600, 200)
    assert decode["p99"] == pytest.approx(298)
    assert [(one["name"], one["duration"]) for one in context["hangs"]] == [
        ("Hang", 9),
        ("Microhang", 5),
    ]
    assert host_events.context(*of(bare, {})) is None
