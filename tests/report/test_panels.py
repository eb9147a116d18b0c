"""Panels at their edges: windows, few values, what is not known. The rest is in the goldens."""

from typing import Any

import pandas as pd
import pytest

from report_runs import MS, bare, host_run, paced_run, served_run
from stock import Stock
from tracekit.analysis import Given
from tracekit.analysis.result import Better, Measurement, RuleCheck, Status
from tracekit.analysis.rule import Fact, Finding, Severity
from tracekit.base.capabilities import Capabilities, Identity
from tracekit.base.recording import Provenance
from tracekit.pages.panels.bubbles import bubbles
from tracekit.pages.panels.cpu_time import cpu_time
from tracekit.pages.panels.health import clock_words, counter_set, health
from tracekit.pages.panels.host_events import host_events
from tracekit.pages.panels.latencies import FEWEST, latencies
from tracekit.pages.panels.memory import memory
from tracekit.pages.panels.replay import replay
from tracekit.pages.panels.reproduce import reproduce
from tracekit.pages.panels.requests import requests
from tracekit.pages.panels.roofline import roofline
from tracekit.pages.panels.telemetry import telemetry
from tracekit.pages.panels.throughput import throughput
from tracekit.pages.panels.verdict import MOST_NUMBERS, headlines, verdict_of
from tracekit.pages.panels.work import FIRST_ROWS, MOST_ROWS, by_time, work
from typed_rows import frame, frames

US = 1_000
M1 = Provenance(machine={"chip": "Apple M1", "gpu_cores": 8})
NOTHING = bare().result


def test_latencies_of_the_steady_window_begin_in_it_and_before_its_end() -> None:
    rows = [
        {"committed": number * MS, "commit_to_start": (number + 1) * MS, "target": number != 2}
        for number in range(5)
    ]
    phases = [{"name": "steady", "start": MS, "duration": 2 * MS}]
    tables = frames(command_buffers=rows, phases=phases)
    [(steady, *_)] = latencies.context(NOTHING, tables)["known"]
    assert (steady.name, steady.times.tolist()) == ("Commit to start", [2 * MS])
    del tables["phases"]
    [(whole_run, _, percentiles)] = latencies.context(NOTHING, tables)["known"]
    assert whole_run.times.size == 4
    assert percentiles == pytest.approx([3 * MS, 4.85 * MS, 4.97 * MS, 5 * MS])


def test_each_variant_with_enough_steps_has_its_own_chart() -> None:
    rows = [
        {"start": start, "duration": (start + 1) * MS, "phase": "steady", "variant": variant}
        for start, variant in enumerate("a" * FEWEST + "b" * (FEWEST - 1))
    ]
    context = latencies.context(NOTHING, frames(steps=rows))
    assert [latency.name for latency, *_ in context["known"]] == ["Step of a", "Step of b"]
    assert [chart.title for chart in context["charts"]] == ["Step of a"]


def test_memory_grows_from_the_last_phase_that_is_known() -> None:
    def growth(**levels: int | None) -> int | None:
        rows = [
            {"time": time, "phase": phase, "what": "resident", "bytes": level}
            for time, (phase, level) in enumerate(levels.items())
        ]
        [sort] = memory.context(NOTHING, frames(memory_profile=rows))["sorts"]
        return sort["growth"]

    assert growth(**{"warm-up": 5, "steady": 9}) == 4
    assert growth(**{"prepare": 5, "warm-up": None, "steady": 3}) == -2
    for levels in ({"steady": 9}, {"warm-up": 5}, {"warm-up": 5, "steady": None}):
        assert growth(**levels) is None


def test_unknown_values_with_one_reason_are_grouped() -> None:
    rows = [
        {"time": 0, "phase": phase, "what": kind, "bytes": None, "reason": "No vmmap."}
        for phase in ("setup", "steady")
        for kind in ("resident", "footprint")
    ]
    context = memory.context(NOTHING, frames(memory_profile=rows))
    assert context["reasons"] == [("Resident, Footprint (setup, steady)", "No vmmap.")]


def test_memory_over_the_run_takes_a_few_samples() -> None:
    common_cells = {"target": True, "pid": 7}
    samples = [
        {"time": number * 1_000, "memory": (number + 1) << 20} | common_cells for number in range(8)
    ]
    context = memory.context(NOTHING, frames(process_samples=samples))
    assert context["chart"].summary.startswith("Resident from 1 MiB to")
    assert memory.context(NOTHING, frames(process_samples=samples[:7])) is None


MODEL = {"time": 0, "backend": "metal", "bytes_unique": 15 * MS, "bytes_written": 0}
MODEL |= {"flops": 2 * MS}


def points_of(provenance: Provenance = M1, **model: Any) -> Any:
    steps = [{"start": number * MS, "duration": MS, "phase": "steady"} for number in range(4)]
    tables = frames(step_models=[MODEL | model], steps=steps)
    return roofline.context(bare().having(provenance=provenance).result, tables)


def test_steps_lie_under_the_roof_of_their_chip() -> None:
    [point] = points_of()["points"]
    assert point["reached"].bandwidth == pytest.approx(15e9)
    assert point["reached"].share == pytest.approx(15 / 68.25, rel=0.01)
    [cached] = points_of(bytes_unique=1500 * MS)["points"]
    assert (cached["reached"].cached, cached["reached"].share) == (True, None)
    unknown = points_of(flops=0)
    assert (unknown["points"][0]["intensity"], unknown["chart"]) == (None, None)
    assert points_of(bytes_unique=0) is None


def test_without_a_roof_it_says_why() -> None:
    for context, words in (
        (points_of(backend="cpu"), "the steps ran on the CPU"),
        (points_of(Provenance()), "does not say which chip"),
        (points_of(Provenance(machine={"chip": "Apple Z9"})), "Z9"),
    ):
        assert words in context["absence"]
        assert (context["chart"], context["points"][0]["reached"].share) == (None, None)


def test_each_variant_has_its_own_median() -> None:
    steps = [
        {"start": number * MS, "duration": length * MS, "phase": "steady", "variant": variant}
        for number, (variant, length) in enumerate(
            [("a", 1), ("b", 3), ("a", 1), ("b", 3), ("b", 9)]
        )
    ]
    models = [MODEL | {"variant": variant} for variant in "abc"]
    result = bare().having(provenance=M1).result
    points = roofline.context(result, frames(step_models=models, steps=steps))["points"]
    assert [(point["name"], point["time"]) for point in points] == [("a", MS), ("b", 3 * MS)]


def read(*readings: tuple[int, float]) -> dict[str, pd.DataFrame]:
    rows = [
        {"time": time, "name": "gpu_power", "value": value, "unit": "W", "source": "macmon"}
        for time, value in readings
    ]
    return frames(gauges=rows)


def test_readings_are_summed_up_in_the_steady_window_and_drawn_over_the_run() -> None:
    tables = read(*((time, time % 2) for time in range(5000)))
    steady = [{"name": "steady", "start": 500, "duration": 499}]
    context = telemetry.context(NOTHING, tables | frames(phases=steady))
    assert (context["levels"][0]["count"], context["charts"][0].x.maximum) == (500, 4999)
    [single] = telemetry.context(NOTHING, read((5, 0.0)))["levels"]
    assert single["numbers"] == ["0 W"] * 3
    assert telemetry.context(NOTHING, {}) is None


def test_levels_of_heat_are_whole() -> None:
    even = ((1.0, 1.0), "1 level throughout.", ["0", "1"])
    uneven = ((0.0, 2.0), "Between 0 level and 2 level.", ["0", "1", "2"])
    for values, summary, marks in (even, uneven):
        gauges = read(*enumerate(values))["gauges"].assign(name="thermal_pressure", unit="level")
        [chart] = telemetry.context(NOTHING, {"gauges": gauges})["charts"]
        assert chart.summary == summary, values
        assert list(map(chart.y.words, chart.y.marks)) == marks, values


def test_a_rate_is_of_steps_that_are_alike_and_no_part_of_measuring() -> None:
    rows = [
        {"start": 2 * number * MS, "duration": 2 * MS, "phase": "steady"} for number in range(40)
    ]
    steps = frame("steps", rows)
    context = throughput.context(NOTHING, {"steps": steps})
    assert [chart.title for chart in context["charts"]] == ["Steps/s"]
    assert [part["rate"] for part in context["parts"]] == ["500 steps/s"] * 3
    for excluded_steps in (steps.assign(phase="overhead"), steps.assign(variant=["a", "b"] * 20)):
        context = throughput.context(NOTHING, {"steps": excluded_steps})
        assert (context["charts"], context["parts"]) == ([], []), excluded_steps


def test_cycles_are_counted_and_no_time_is_made_of_them() -> None:
    common_cells = {"time": 1, "weight": 1_500, "stack": 0, "tid": 70}
    functions = pd.DataFrame({"stack": [0], "depth": [0], "function": ["main"]})
    tables = frames(cycle_profile=[common_cells | {"target": True}]) | {"profile_frames": functions}
    context = cpu_time.context(NOTHING, tables)
    assert (context["weight"], context["asleep"]) == ("1,500 cycles", "")
    theirs = frames(cpu_profile=[common_cells | {"target": False}])
    assert "belongs to the target" in cpu_time.context(NOTHING, theirs)["absent"]


def test_samples_of_an_unknown_thread_are_listed_as_such() -> None:
    common_cells = {"target": True, "time": 1, "weight": 1_500, "stack": 0}
    functions = pd.DataFrame({"stack": [0], "depth": [0], "function": ["main"]})
    samples = [common_cells | {"tid": tid} for tid in (70, None)]
    context = cpu_time.context(
        NOTHING, frames(cycle_profile=samples) | {"profile_frames": functions}
    )
    assert [row["name"] for row in context["threads"]] == ["thread 70", "thread not stated"]


def test_periods_of_a_launch_that_are_not_shown_are_counted() -> None:
    rows = [
        {"target": True, "start": number, "duration": 1, "period": "Running"}
        for number in range(27)
    ]
    context = host_events.context(NOTHING, frames(life_cycles=rows))
    assert (len(context["launch"]), context["more_launch"]) == (25, 2)


def test_without_costs_encoders_are_not_ranked_and_nothing_is_weighed() -> None:
    rows = [
        {"place": place, "function": place, "encoder": "E", "counter": "Kernel Occupancy"}
        | {"value": place / 10, "unit": "ratio"}
        for place in (2, 1)
    ]
    given_tables = Given(frames(replay_counters=rows), Provenance())
    context = replay.context(NOTHING, given_tables)
    assert not context["ranked"]
    assert [encoder["place"] for encoder in context["encoders"]] == [1, 2]
    assert (context["occupancy"], context["limiters"]) == (None, [])


@pytest.fixture
def gaps() -> dict[str, pd.DataFrame]:
    columns = ["start", "duration", "gap", "party", "cause", "during"]
    rows = [
        (100 * US, 60 * US, 0, "host", "host", "encoding"),
        (160 * US, 20 * US, 0, "host", "host", ""),
        (300 * US, 100 * US, 1, "way-there", "late-start", "driver"),
        (500 * US, 20 * US, 2, "unknown", "unattributed", ""),
    ]
    loaded = pd.DataFrame({"start": [0], "duration": [1_000 * US]})
    return {"gaps": pd.DataFrame(rows, columns=columns), "loaded": loaded}


def test_causes_are_ordered_by_time_and_add_up(gaps: Any) -> None:
    context = bubbles.context(NOTHING, gaps)
    columns = ("cause", "count", "total", "share", "during")
    assert [tuple(map(cause.get, columns)) for cause in context["causes"]] == [
        ("late start", 1, 100 * US, 0.5, "driver 100.0 %"),
        ("host", 2, 80 * US, 0.4, "encoding 75.0 %, not known 25.0 %"),
        ("unattributed", 1, 20 * US, 0.1, "not known 100.0 %"),
    ]
    late = context["causes"][1]
    assert (late["start"], late["end"]) == (100 * US, 160 * US)
    assert (context["idle"], context["loaded"], context["gaps"]) == (200 * US, 1_000 * US, 3)
    assert [share for _, share in context["parties"]] == [0.5, 0.4, 0.1]
    assert context["unsure"] == ""
    gaps["causes"] = pd.DataFrame({"cause": ["driver", "host"], "reason": ["no x.", None]})
    assert bubbles.context(NOTHING, gaps)["unsure"].endswith("may count for another: no x.")


def test_idle_time_without_unknown_causes_without_any_and_without_load(gaps: Any) -> None:
    last_cause = bubbles.context(NOTHING, gaps | {"gaps": gaps["gaps"].iloc[:3]})["causes"][-1]
    assert (last_cause["cause"], last_cause["count"], last_cause["share"]) == (
        "unattributed",
        0,
        0.0,
    )
    never = bubbles.context(NOTHING, gaps | {"gaps": gaps["gaps"].iloc[:0]})
    assert (never["absent"], never["idle"], never["causes"], never["parties"]) == ("", 0, [], [])
    unknown = bubbles.context(NOTHING, Given(host_run().tables, NOTHING.provenance))
    assert "which process is the target is not known" in unknown["absent"]


def test_rows_beyond_the_first_are_summed() -> None:
    common_cells = {"duration": 10, "channel": "Compute", "target": True}
    many = [
        {"start": number, "label": f"k{number}"} | common_cells for number in range(MOST_ROWS + 4)
    ]
    context = work.context(NOTHING, frames(gpu_intervals=many))
    assert len(context["groups"]) == FIRST_ROWS
    assert len(context["further_groups"]) == MOST_ROWS - FIRST_ROWS
    assert (context["rest"], context["rest_total"]) == (4, 40)


def test_equal_totals_are_ordered_by_name_and_rows_without_a_duration_do_not_count() -> None:
    rows: list[dict[str, Any]] = [{"start": 1}, {"start": 9, "duration": 0, "label": "k"}]
    rows += [{"start": start, "duration": 5, "label": "ab"[start % 2]} for start in (5, 4, 7)]
    table = frame("gpu_intervals", rows)
    groups = by_time(table, "channel", table["label"])
    columns = ("channel", "label", "count", "share", "first")
    assert [tuple(map(group.get, columns)) for group in groups] == [
        ("not stated", "b", 2, pytest.approx(2 / 3), 5),
        ("not stated", "a", 1, pytest.approx(1 / 3), 4),
        ("not stated", "k", 1, 0.0, 9),
    ]


def test_it_says_how_often_an_iteration_has_each_kernel() -> None:
    stock = Stock()
    for _ in range(20):
        for _ in range(3):
            stock.buffer([200, 50], names=("gemv", "rope"))
        stock.buffer([900], names=("softmax",))
        stock.wait()
        stock.spend(500)
    result = stock.analyze_tables()
    context = work.context(result, Given(stock.tables(), result.provenance))
    assert context["unit"] == "iteration"
    counts_by_kernel = {
        group["label"].rpartition(":")[2]: group["each"] for group in context["groups"]
    }
    assert counts_by_kernel == pytest.approx({"gemv": 3, "rope": 3, "softmax": 1}, abs=0.1)
    assert work.context(result, stock.tables())["unit"] == ""


def test_a_server_that_was_never_busy_or_never_measured_says_so() -> None:
    def context(**changed: pd.DataFrame) -> Any:
        return requests.context(served_run().result, tables | changed)

    tables = dict(served_run().tables)
    gauges = tables["gauges"]
    limit = gauges["name"] == "limit_active_sequences"
    roomy = context(gauges=gauges.assign(value=gauges["value"].where(~limit, 10.0)))
    assert roomy["parts"] == {}
    assert "at most 1 of 10 slots" in roomy["parts_absence"]
    early = context(requests=tables["requests"][1:], request_tokens=tables["request_tokens"][:0])
    assert all(numbers == [] for *_, numbers in early["latencies"])
    del tables["gauges"]
    assert context()["charts"] == []
    assert context()["latencies"][0][2] == 1


XCTRACE = {"recorder": "xctrace", "templates": ("Metal System Trace",)}
HOST = {"recorder": "host", "workload": "gemm"}


def test_a_repeated_name_is_used_only_if_known() -> None:
    for provenance_fields, options in (
        (
            {**XCTRACE, "command": ("./probe", "a b"), "repeats": 3},
            "--recorder xctrace --template 'Metal System Trace' --repeats 3 -- ./probe 'a b'",
        ),
        ({"recorder": "import", "workload": "paged"}, ""),
        (XCTRACE, ""),
        ({}, ""),
        (
            {**HOST, "parameters": {"ragged": True, "no": False, "sizes": [1, 2], "seed": None}},
            "--workload gemm --ragged --no-no --sizes 1 --sizes 2 --recorder host",
        ),
        (
            {**HOST, "workloads": "my own", "warmup": 0},
            "--workload gemm --recorder host --warmup 0 --workloads 'my own'",
        ),
    ):
        result = bare().having(provenance=Provenance(**provenance_fields)).result
        command = f"tracekit capture {options}" if options else ""
        assert reproduce.context(result, {})["command"] == command, provenance_fields


IDLE = Finding("idle", Severity.WARNING, "The GPU was idle for 3.5 ms.", "", (), 5)
CHURN = Finding("churn", Severity.WARNING, "2 pipelines are new.", "", (), 9)
SHARED = Finding("shared", Severity.ERROR, "Other processes used the GPU.", "")
TURNS = Finding(
    "bubbles",
    Severity.WARNING,
    "The GPU was idle for 96 %.",
    "Wait once.",
    facts=(Fact("idle_share", 0.96, "ratio"), Fact("window", "the loop")),
    lever="round-trips",
)
NOTE = Finding("cost", Severity.NOTE, "Recording cost 1 %.", "")


def test_the_verdict_is_the_first_of_the_worst_findings() -> None:
    statuses_by_letter = {
        "p": Status.PASSED,
        "f": Status.FOUND,
        "a": Status.ABSTAINED,
        "n": Status.NOT_APPLICABLE,
        "x": Status.FAILED,
    }
    for findings, statuses, tone, expected_text in (
        ((), "", "unclear", "Nothing was checked."),
        ((SHARED, IDLE, NOTE), "f", "error", f"Do not trust these numbers yet. {SHARED.message}"),
        ((IDLE,), "f", "warning", "The GPU was idle for 3.5 ms."),
        ((CHURN, IDLE), "f", "warning", "2 pipelines are new."),
        (
            *((TURNS, IDLE), "f", "warning"),
            "Round trips between host and device: idle for 96.0 % of the loop. Wait once.",
        ),
        ((NOTE,), "pf", "note", "Recording cost 1 %."),
        ((), "ppn", "good", "Passed all checks that apply: 2."),
        (
            *((), "paxn", "partly"),
            "Passed 1 of 3 checks that apply; 1 could not be judged, 1 failed.",
        ),
        ((), "a", "unclear", "Passed 0 of 1 checks that apply; 1 could not be judged."),
        ((), "n", "unclear", "No check applies to this recording."),
    ):
        checks = tuple(
            RuleCheck(f"rule-{number}", statuses_by_letter[letter])
            for number, letter in enumerate(statuses)
        )
        verdict = verdict_of(bare().having(findings=findings, checks=checks).result)
        assert (verdict.tone, f"{verdict.lead} {verdict.message}".strip()) == (tone, expected_text)


def make_measurement(
    name: str, value: float | None, unit: str = "ns", reason: str = ""
) -> Measurement:
    return Measurement(name, value, unit, Better.NEITHER, reason)


def make_comparison(*bounds: Measurement) -> tuple[Measurement, ...]:
    first_measurements = (
        make_measurement("max_error_paged", 0.0002, ""),
        make_measurement("step_time_paged", 2 * MS),
    )
    speed = make_measurement("tokens_per_second_paged", 8_000, "tokens/s")
    return (
        *first_measurements,
        speed,
        make_measurement("step_time_sdpa", 5 * MS),
        make_measurement("speedup", 2.5, "x"),
        *bounds,
    )


def list_headlines(run: Any) -> list[tuple[str, str, str]]:
    return [
        (headline["name"], headline["value"], headline["note"])
        for headline in headlines(run.result, {})
    ]


USUAL = (
    make_measurement("step_rate", 400, "steps/s"),
    make_measurement("host_idle_ratio", 0.01, "ratio"),
)


SURE = " with 95 % confidence"
UNSURE = f"{SURE}; which is faster, the run does not tell"


@pytest.mark.parametrize(
    ("low", "high", "note"),
    [
        (2.25, 2.75, f"paged over sdpa: 2.25 x to 2.75 x{SURE}"),
        (0.9, 1.2, f"paged over sdpa: 0.900 x to 1.20 x{UNSURE}"),
        (1.0, 1.2, f"paged over sdpa: 1 x to 1.20 x{UNSURE}"),
        (0.8, 1.0, f"paged over sdpa: 0.800 x to 1 x{UNSURE}"),
        (None, None, "paged over sdpa: no interval: too few pairs"),
    ],
)
def test_a_comparison_begins_with_its_speed_up_and_how_sure_it_is(
    low: float | None, high: float | None, note: str
) -> None:
    ends = {"speedup_low_95": low, "speedup_high_95": high}
    bounds = [make_measurement(name, end, "x", "too few pairs") for name, end in ends.items()]
    numbers = list_headlines(bare().having(metrics=USUAL, results=make_comparison(*bounds)))
    assert [f"{name} {value}" for name, value, _ in numbers] == [
        *("speedup 2.50 x", "step_time_paged 2 ms", "step_time_sdpa 5 ms")
    ]
    assert numbers[0][2] == note


def test_a_speed_up_without_bounds_or_value_is_not_left_out() -> None:
    assert list_headlines(bare().having(results=make_comparison()))[0][2] == "paged over sdpa"
    missing_speedup = make_measurement("speedup", None, "x", "there was no pair of steps")
    [first_headline, second] = headlines(
        bare().having(metrics=USUAL[:1], results=(missing_speedup,)).result, {}
    )
    assert (first_headline["value"], first_headline["known"], second["name"]) == (
        "not available",
        False,
        "step_rate",
    )
    assert first_headline["source"] == "not available, because there was no pair of steps"


def test_a_server_begins_with_latencies_and_a_program_with_printed_numbers() -> None:
    served = (
        make_measurement("tokens_per_second", 326, "tokens/s"),
        make_measurement("host_idle_ratio", 0.18, "ratio"),
        make_measurement("ttft_p50", 26.5 * MS),
        make_measurement("ttft_p99", 143 * MS),
        make_measurement("tpot_p50", 8 * MS),
        make_measurement("tpot_p99", None, reason="no request was completed."),
        make_measurement("request_rate_served", 10, "requests/s"),
    )
    assert list_headlines(bare().having(metrics=served)) == [
        ("ttft_p50", "26.5 ms", "99th percentile 143 ms"),
        ("tpot_p50", "8 ms", ""),
        ("tokens_per_second", "326 tokens/s", ""),
    ]
    printed = (
        make_measurement("pp512_tokens_per_second", 711.25, "tokens/s"),
        make_measurement("load_time", 5),
    )
    names = [name for name, *_ in list_headlines(bare().having(metrics=USUAL, results=printed))]
    assert names == ["pp512_tokens_per_second", "host_idle_ratio", "step_rate"]


def test_first_numbers_are_those_that_are_known_and_at_most_four() -> None:
    run_ratio, steady = (
        make_measurement("gpu_idle_ratio", 0.3, "ratio"),
        make_measurement("idle_ratio", 0.1, "ratio"),
    )
    assert [name for name, *_ in list_headlines(bare().having(metrics=(run_ratio, steady)))] == [
        "idle_ratio"
    ]
    unknown = tuple(make_measurement(f"m{number}", None, reason="no.") for number in range(9))
    assert len(list_headlines(bare().having(metrics=unknown))) == MOST_NUMBERS
    [(name, *_)] = list_headlines(bare().having(metrics=(*unknown, run_ratio)))
    assert name == "gpu_idle_ratio"


def test_how_the_marks_came_onto_the_traces_time_is_said() -> None:
    for recorder, clock, marked, words in (
        ("host", {"origin": 1}, True, "the marks and the samples are of one clock of the host"),
        ("import", {}, False, "there are no marks: no workload reported its phases or steps"),
        ("import", {}, True, "not known: the recording does not say how its clocks are aligned"),
        ("xctrace", {"epoch": 5}, True, "the marks tell no time that the trace tells too"),
        ("xctrace", {"origin": 5, "source": "s", "uncertainty": 1_200_000}, True, "1.20 ms"),
    ):
        assert words in clock_words(Provenance(recorder=recorder, clock=clock), marked=marked)


def test_an_unnamed_or_inactive_counter_set_differs_from_an_active_one() -> None:
    xctrace, named_tables = Provenance(recorder="xctrace"), paced_run().tables
    off = {"settings": named_tables["settings"].assign(setting="Counter Set: (null)")}
    assert counter_set(Provenance(recorder="host"), named_tables).startswith(
        "none: the host recorder"
    )
    assert counter_set(xctrace, named_tables) == "Performance Limiters; 120 samples of counters"
    assert counter_set(xctrace, off) == "none is switched on; no samples of counters"
    assert counter_set(xctrace, {}).startswith("not known, because no table of contents")


def test_a_loss_in_a_warning_is_not_repeated() -> None:
    capabilities = Capabilities(Identity(chip="Apple M1"), "2026-11-20T10:15:03+00:00")
    provenance = Provenance(warnings=("It is cut.",), capabilities=capabilities)
    context = health.context(paced_run().having(provenance=provenance).result, paced_run().tables)
    assert (context["losses"], context["capabilities"]) == ([], capabilities)
    assert health.context(paced_run().result, paced_run().tables)["losses"] == ["It is cut."]
