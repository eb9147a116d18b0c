"""Panels at their edges: windows, few values, what is not known. The rest is in the goldens."""

from typing import Any

import pandas as pd
import pytest

from tracekit import pipeline
from tracekit.base.recording import Provenance
from tracekit.report.panels.cpu_time import cpu_time
from tracekit.report.panels.latencies import FEWEST, latencies
from tracekit.report.panels.memory import memory
from tracekit.report.panels.replay import replay
from tracekit.report.panels.roofline import roofline
from tracekit.report.panels.telemetry import telemetry
from tracekit.report.panels.throughput import throughput

MS = 1_000_000
M1 = Provenance(machine={"chip": "Apple M1", "gpu_cores": 8})


def test_latencies_of_the_steady_window_begin_in_it_and_before_its_end(
    bare: Any, frame: Any
) -> None:
    rows = [
        {"committed": at * MS, "commit_to_start": (at + 1) * MS, "target": at != 2}
        for at in range(5)
    ]
    phases = [{"name": "steady", "start": MS, "duration": 2 * MS}]
    tables = {
        "command_buffers": frame("command_buffers", rows),
        "phases": frame("phases", phases),
    }
    known = latencies.context(bare.result, tables)["known"]
    assert [(one.name, one.times.tolist()) for one, *_ in known] == [("Commit to start", [2 * MS])]
    del tables["phases"]
    [(whole, _, percentiles)] = latencies.context(bare.result, tables)["known"]
    assert whole.times.size == 4
    assert percentiles == pytest.approx([3 * MS, 4.85 * MS, 4.97 * MS, 5 * MS])


def test_each_variant_with_enough_steps_has_its_own_chart(bare: Any, frame: Any) -> None:
    rows = [
        {"start": at, "duration": (at + 1) * MS, "phase": "steady", "variant": variant}
        for at, variant in enumerate("a" * FEWEST + "b" * (FEWEST - 1))
    ]
    context = latencies.context(bare.result, {"steps": frame("steps", rows)})
    assert [one.name for one, *_ in context["known"]] == ["Step of a", "Step of b"]
    assert [one.title for one in context["charts"]] == ["Step of a"]


@pytest.mark.parametrize(
    ("notes", "growth"),
    [
        ([("warm-up", 5), ("steady", 9)], 4),
        ([("prepare", 5), ("warm-up", None), ("steady", 3)], -2),
        ([("steady", 9)], None),
        ([("warm-up", 5)], None),
        ([("warm-up", 5), ("steady", None)], None),
    ],
)
def test_memory_grows_from_the_last_phase_that_is_known(
    bare: Any, frame: Any, notes: list[tuple[str, int | None]], growth: int | None
) -> None:
    rows = [
        {"time": at, "phase": phase, "what": "resident", "bytes": level}
        for at, (phase, level) in enumerate(notes)
    ]
    context = memory.context(bare.result, {"memory_profile": frame("memory_profile", rows)})
    assert [sort["growth"] for sort in context["sorts"]] == [growth]


def test_what_is_not_known_for_one_reason_stands_together(bare: Any, frame: Any) -> None:
    rows = [
        {"time": 0, "phase": phase, "what": what, "bytes": None, "reason": "No vmmap."}
        for phase in ("setup", "steady")
        for what in ("resident", "footprint")
    ]
    context = memory.context(bare.result, {"memory_profile": frame("memory_profile", rows)})
    assert context["reasons"] == [("Resident, Footprint (setup, steady)", "No vmmap.")]


def test_memory_over_the_run_takes_a_few_samples(bare: Any, frame: Any) -> None:
    samples = [
        {"time": at * 1_000, "memory": (at + 1) << 20, "target": True, "pid": 7} for at in range(8)
    ]
    tables = {"process_samples": frame("process_samples", samples)}
    assert memory.context(bare.result, tables)["chart"].summary.startswith("Resident from 1 MiB to")
    few = {"process_samples": frame("process_samples", samples[:7])}
    assert memory.context(bare.result, few) is None


def points_of(bare: Any, frame: Any, provenance: Provenance = M1, **model: Any) -> Any:
    own = {"time": 0, "backend": "metal", "bytes_unique": 15 * MS, "bytes_written": 0}
    steps = [{"start": at * MS, "duration": MS, "phase": "steady"} for at in range(4)]
    tables = {
        "step_models": frame("step_models", [own | {"flops": 2 * MS} | model]),
        "steps": frame("steps", steps),
    }
    return roofline.context(bare.having(provenance=provenance).result, tables)


def test_steps_lie_under_the_roof_of_their_chip(bare: Any, frame: Any) -> None:
    [point] = points_of(bare, frame)["points"]
    assert point["reached"].bandwidth == pytest.approx(15e9)
    assert point["reached"].share == pytest.approx(15 / 68.25, rel=0.01)
    [cached] = points_of(bare, frame, bytes_unique=1500 * MS)["points"]
    assert (cached["reached"].cached, cached["reached"].share) == (True, None)
    unknown = points_of(bare, frame, flops=0)
    assert (unknown["points"][0]["intensity"], unknown["chart"]) == (None, None)
    assert points_of(bare, frame, bytes_unique=0) is None


@pytest.mark.parametrize(
    ("backend", "machine", "words"),
    [
        ("cpu", M1.machine, "the steps ran on the CPU"),
        ("metal", {}, "does not say which chip"),
        ("metal", {"chip": "Apple Z9"}, "Z9"),
    ],
)
def test_without_a_roof_it_says_why(
    bare: Any, frame: Any, backend: str, machine: Any, words: str
) -> None:
    context = points_of(bare, frame, Provenance(machine=machine), backend=backend)
    assert words in context["absence"]
    assert (context["chart"], context["points"][0]["reached"].share) == (None, None)


def test_each_variant_has_its_own_median(bare: Any, frame: Any) -> None:
    model = {"time": 0, "backend": "metal", "bytes_unique": MS, "bytes_written": 0, "flops": 1}
    steps = [
        {"start": at * MS, "duration": length * MS, "phase": "steady", "variant": variant}
        for at, (variant, length) in enumerate([("a", 1), ("b", 3), ("a", 1), ("b", 3), ("b", 9)])
    ]
    tables = {
        "step_models": frame("step_models", [model | {"variant": one} for one in "abc"]),
        "steps": frame("steps", steps),
    }
    points = roofline.context(bare.having(provenance=M1).result, tables)["points"]
    assert [(one["name"], one["time"]) for one in points] == [("a", MS), ("b", 3 * MS)]


def read(frame: Any, *readings: tuple[int, float]) -> dict[str, pd.DataFrame]:
    rows = [
        {"time": at, "name": "gpu_power", "value": value, "unit": "W", "source": "macmon"}
        for at, value in readings
    ]
    return {"gauges": frame("gauges", rows)}


def test_readings_are_summed_up_in_the_steady_window_and_drawn_over_the_run(
    bare: Any, frame: Any
) -> None:
    tables = read(frame, *((at, at % 2) for at in range(5000)))
    steady = [{"name": "steady", "start": 500, "duration": 499}]
    context = telemetry.context(bare.result, tables | {"phases": frame("phases", steady)})
    assert (context["levels"][0]["count"], context["charts"][0].x.high) == (500, 4999)
    [single] = telemetry.context(bare.result, read(frame, (5, 0.0)))["levels"]
    assert single["numbers"] == ["0 W"] * 3
    assert telemetry.context(bare.result, {}) is None


@pytest.mark.parametrize(
    ("values", "summary"),
    [((1.0, 1.0), "1 level throughout."), ((0.0, 2.0), "Between 0 level and 2 level.")],
)
def test_levels_of_heat_are_whole(
    bare: Any, frame: Any, values: tuple[float, float], summary: str
) -> None:
    tables = read(frame, *enumerate(values))
    tables["gauges"] = tables["gauges"].assign(name="thermal_pressure", unit="level")
    [chart] = telemetry.context(bare.result, tables)["charts"]
    assert chart.summary == summary
    assert [chart.y.words(mark) for mark in chart.y.marks] == ["0", "1", "2"][: len(chart.y.marks)]


@pytest.mark.parametrize(
    ("more", "charts", "parts"),
    [
        ({}, ["Steps/s"], 3),
        ({"phase": "overhead"}, [], 0),
        ({"variant": ["a", "b"] * 20}, [], 0),
    ],
)
def test_a_rate_is_of_steps_that_are_alike_and_no_part_of_measuring(
    bare: Any, frame: Any, more: Any, charts: list[str], parts: int
) -> None:
    rows = [{"start": 2 * at * MS, "duration": 2 * MS, "phase": "steady"} for at in range(40)]
    steps = frame("steps", rows).assign(**more)
    context = throughput.context(bare.result, {"steps": steps})
    assert [chart.title for chart in context["charts"]] == charts
    assert [part["rate"] for part in context["parts"]] == ["500 steps/s"] * parts


def test_cycles_are_counted_and_no_time_is_made_of_them(bare: Any, frame: Any) -> None:
    own = {"time": 1, "weight": 1_500, "stack": 0, "tid": 70}
    frames = pd.DataFrame({"stack": [0], "depth": [0], "function": ["main"]})
    tables = {"cycle_profile": frame("cycle_profile", [own | {"target": True}])}
    context = cpu_time.context(bare.result, tables | {"profile_frames": frames})
    assert (context["weight"], context["asleep"]) == ("1,500 cycles", "")
    theirs = {"cpu_profile": frame("cpu_profile", [own | {"target": False}])}
    assert "belongs to the target" in cpu_time.context(bare.result, theirs)["absence"]


def test_without_costs_encoders_are_not_ranked_and_nothing_is_weighed(
    bare: Any, frame: Any
) -> None:
    rows = [
        {"place": place, "function": place, "encoder": "E", "counter": "Kernel Occupancy"}
        | {"value": place / 10, "unit": "ratio"}
        for place in (2, 1)
    ]
    context = replay.context(bare.result, {"replay_counters": frame("replay_counters", rows)})
    assert not context["ranked"]
    assert [one["place"] for one in context["encoders"]] == [1, 2]
    assert (context["occupancy"], context["limiters"]) == (None, [])


@pytest.mark.corpus
def test_real_counters_become_a_page_that_claims_no_rate_and_no_idle_time(
    corpus: Any, tmp_path: Any
) -> None:
    [recording] = pipeline.import_([corpus / "xcode-counters"], tmp_path / "run")
    result = pipeline.analyze(recording)
    occupancy, idle = result.metric("replay_occupancy"), result.metric("idle_ratio")
    assert occupancy is not None
    assert occupancy.value == pytest.approx(0.1884, abs=1e-3)
    assert idle is not None
    assert idle.value is None
    page = pipeline.report(recording).read_text("utf-8")
    assert page.count("serialized replay at a fixed clock") >= 4
    assert 'id="bubbles"' not in page
