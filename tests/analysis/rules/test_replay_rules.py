"""Rules on Xcode's counters of a replay, from literal values of encoders.

The values are those of real exports: MLX on an M4 Max, relu on an M2, an adder of 1,024 threads.
"""

from collections.abc import Mapping
from typing import Any

import pandas as pd
import pytest

from tracekit.analysis.given import Given
from tracekit.analysis.inject import NotApplicable, Unavailable, inject
from tracekit.analysis.rule import Finding
from tracekit.analysis.rules import RULES
from tracekit.analysis.wording import headline, sentence_of
from tracekit.base import Provenance
from tracekit.tables import Severity

SERIALIZED = "In a serialized replay at a fixed clock, "
# Encoders 5, 22 and 23 of the M4 Max.
STARVED = {
    "Execution Cost": 0.04826, "Kernel Occupancy": 0.1233, "Occupancy Manager Target": 1.0,
    "Instruction Throughput Limiter": 0.1204, "Instruction Throughput Utilization": 0.0095,
    "F32 Limiter": 0.0169, "F32 Utilization": 0.015, "Compute Shader Launch Limiter": 0.0021,
    "Compute Shader Launch Utilization": 0.0016, "Buffer L1 Miss Rate": 0.8023,
    "Stack L1 Read Accesses": 0.0003, "Stack L1 Write Accesses": 0.0003,
    "Control Flow Limiter": 0.0054, "FS Occupancy": 0.0, "FS Invocations": 0.0,
    "Texture Write Limiter": 0.0001,
}  # fmt: skip
COSTLIEST = STARVED | {
    "Execution Cost": 0.11487, "Kernel Occupancy": 0.4367, "Occupancy Manager Target": 0.9142,
    "Instruction Throughput Limiter": 0.4419, "Instruction Throughput Utilization": 0.0217,
    "Compute Shader Launch Limiter": 0.5402, "Compute Shader Launch Utilization": 0.0039,
    "Device Memory Bandwidth": 367.84, "FS Occupancy": 0.0063,
}  # fmt: skip
LONE = STARVED | {"Execution Cost": 0.00749, "Kernel Occupancy": 0.0007}
# The one dispatch of relu.
RELU = {
    "GPU Time": 25_320.8, "Kernel Occupancy": 0.7577, "ALU Limiter": 0.0704,
    "Buffer Read Limiter": 0.8795, "Buffer Read Utilization": 0.0435,
    "Buffer Write Limiter": 0.8864, "Buffer Write Utilization": 0.0867,
    "MMU Limiter": 0.4561, "Last Level Cache Limiter": 0.4786, "Kernel ALU Inefficiency": 0.0004,
    "Device Memory Bandwidth": 43.07, "Buffer L1 Miss Rate": 0.9998,
    "Last Level Cache Miss Rate": 0.9942, "Last Level Cache Bytes Read": 1_062_784.0,
    "Bytes Read From Device Memory": 1_050_240.0,
    "Kernel Invocations": 65_536.0, "FS Occupancy": 0.0, "FS Invocations": 0.0,
}  # fmt: skip
DISPATCH = {
    "index": 0, "function_index": 7, "command_buffer": 0, "encoder": 0, "function": "relu_f32",
    "kernel": 0, "pipeline": 0, "call": "dispatchThreads:threadsPerThreadgroup:",
    "debug_group": None, "threads_x": 65_536, "threads_y": 1, "threads_z": 1, "group_x": 1024,
    "group_y": 1, "group_z": 1, "groups_x": 64, "groups_y": 1, "groups_z": 1, "groups": 64,
    "partial_groups": 0, "threadgroup_memory": 0, "barriers": 0,
}  # fmt: skip
BINDING = {
    "dispatch": 0, "index": 0, "kind": "buffer", "name": "x", "type": "float",
    "access": "read", "active": True, "space": "device", "bound": True, "buffer": 0, "offset": 0,
    "length": 1_048_576, "address": 4096, "alignment": 4, "data_size": 4, "value": None,
}  # fmt: skip
FUNCTION = {"index": 0, "threadgroup_memory": 0, "barriers": 0, "loop_barriers": 0, "constants": ""}
M2 = {"chip": "Apple M2"}


def counters(*encoders: Mapping[str, float], first_function: int = 7) -> pd.DataFrame:
    rows: list[dict[str, Any]] = []
    for place, cells in enumerate(encoders, start=1):
        for name, value in cells.items():
            unit = "ns" if name == "GPU Time" else "ratio"
            rows.append(
                {"place": place, "function": first_function + 100 * (place - 1)}
                | {"command_buffer": "CB", "encoder": "E", "counter": name, "value": value}
                | {"unit": unit, "suspect": None}
            )
    return pd.DataFrame(rows)


def judge(
    rule: str,
    *encoders: Mapping[str, float],
    tables: Mapping[str, pd.DataFrame] | None = None,
    machine: Mapping[str, Any] | None = None,
) -> list[Finding]:
    every_table = {"replay_counters": counters(*encoders), **(tables or {})}
    provenance = Provenance(machine=dict(machine or {}))
    return list(inject(RULES[rule].judge, Given(every_table, provenance)))


def captured(
    dispatch: Mapping[str, Any] | None = None,
    function: Mapping[str, Any] | None = None,
    pipeline: Mapping[str, Any] | None = None,
) -> dict[str, pd.DataFrame]:
    pipelines = {"index": 0, "instructions": 33, "registers": 12, "spilled": 0, **(pipeline or {})}
    return {
        "dispatches": pd.DataFrame([{**DISPATCH, **(dispatch or {})}]),
        "bindings": pd.DataFrame([BINDING]),
        "functions": pd.DataFrame([{**FUNCTION, **(function or {})}]),
        "pipelines": pd.DataFrame([pipelines]),
    }


def test_few_threads_and_no_busy_unit_are_bound_by_latency() -> None:
    (finding,) = judge("starved-encoders", *[STARVED] * 16, COSTLIEST, LONE)
    assert finding.lever == "latency-bound"
    assert (finding.fact("encoders"), finding.fact("all_encoders")) == (16, 18)
    assert finding.fact("cost_share") == pytest.approx(0.7722 / 0.89452, abs=1e-4)
    sentence = sentence_of(finding)
    assert sentence.startswith(f"{SERIALIZED}16 of 18 encoders, 86.3 % of the execution cost, kept")
    assert "no unit was busy" in sentence
    assert "Too few threads were launched" in sentence
    assert "1 more encoder, 0.8 % of the execution cost, kept less than 1 %" in sentence


def test_an_adder_of_a_thousand_threads_is_bound_by_latency() -> None:
    adder = {
        "Kernel Occupancy": 0.0009, "Occupancy Manager Target": 1.0, "ALU Utilization": 0.0001,
        "Instruction Throughput Limiter": 0.0006, "Compute Shader Launch Limiter": 0.0004,
    }  # fmt: skip
    (finding,) = judge("starved-encoders", adder, adder | {"Kernel Occupancy": 0.0047})
    assert sentence_of(finding).startswith(f"{SERIALIZED}2 of 2 encoders kept < 0.1 % to 0.5 %")
    assert headline(finding) == "Latency bounds the work, with few threads in flight."


def test_threads_that_are_held_back_are_not_said_to_be_missing() -> None:
    held_back = STARVED | {"Occupancy Manager Target": 0.30, "Compute Shader Launch Limiter": 0.83}
    (finding,) = judge("starved-encoders", held_back)
    assert finding.lever == "low-occupancy"
    assert not finding.fact("few_launched")
    assert "allowed 30.0 % of the threads" in sentence_of(finding)


def test_a_busy_unit_needs_no_more_threads() -> None:
    assert judge("starved-encoders", STARVED | {"F32 Utilization": 0.7}) == []
    assert judge("starved-encoders", RELU) == []


def test_the_capture_shows_the_limit_on_threads() -> None:
    starved = {**RELU, "Kernel Occupancy": 0.2, "Buffer Read Limiter": 0.1}
    starved["Buffer Write Limiter"] = 0.1
    large = captured(function={"threadgroup_memory": 17_408})
    (finding,) = judge("starved-encoders", starved, tables=large)
    assert finding.lever == "threadgroup-memory"
    assert "64 threadgroups of 1,024 threads, 17 KiB of threadgroup memory, 12 registers" in str(
        finding.fact("launches")
    )
    few = captured({"threads_x": 65_536, "groups": 8})
    (finding,) = judge("starved-encoders", starved, tables=few, machine={"gpu_cores": 10})
    assert finding.lever == "small-grid"


def test_one_unit_over_four_fifths_is_the_limit() -> None:
    (finding,) = judge("saturated-encoders", RELU | {"MMU Limiter": 0.85, "MMU Utilization": 0.2})
    assert finding.lever == "other-limiter-address-translation"
    assert "address translation: MMU Limiter 85.0 %, of which 20.0 % is work" in sentence_of(
        finding
    )
    (finding,) = judge("saturated-encoders", RELU | {"ALU Limiter": 0.9})
    assert finding.lever == "compute-bound"
    assert judge("saturated-encoders", RELU) == []


def test_bandwidth_is_judged_against_the_chip_that_the_capture_names() -> None:
    fast = RELU | {"Device Memory Bandwidth": 71.0}
    (finding,) = judge("bandwidth-bound-encoders", fast, machine=M2)
    assert finding.fact("share") == pytest.approx(0.71)
    assert judge("bandwidth-bound-encoders", RELU, machine=M2) == []
    with pytest.raises(Unavailable, match="do not name the chip"):
        judge("bandwidth-bound-encoders", fast)
    with pytest.raises(Unavailable, match="no credible value of Device Memory Bandwidth"):
        judge("bandwidth-bound-encoders", STARVED, machine=M2)


def test_a_stalled_launcher_has_no_room_and_a_busy_one_too_many_threads() -> None:
    (finding,) = judge("launch-bound-encoders", STARVED, COSTLIEST)
    assert (finding.lever, finding.fact("encoders")) == ("launch-without-room", 1)
    assert "So threads waited for room on the cores" in sentence_of(finding)
    working = COSTLIEST | {"Compute Shader Launch Utilization": 0.5}
    (finding,) = judge("launch-bound-encoders", working)
    assert finding.lever == "other-limiter-launch"


def test_a_dispatch_of_a_few_microseconds_is_little_more_than_its_start() -> None:
    (finding,) = judge("launch-bound-encoders", RELU | {"GPU Time": 4_000.0})
    assert finding.wording == "launch-bound-encoders-tiny"
    assert "took 4 µs or less each" in sentence_of(finding)
    assert judge("launch-bound-encoders", RELU) == []


def test_accesses_to_buffers_or_textures_are_a_limit_of_their_own() -> None:
    (finding,) = judge("read-bound-encoders", RELU)
    assert finding.lever == "other-limiter-buffer-access"
    assert "Buffer Write was busy or stalled for up to 88.6 %" in sentence_of(finding)
    (finding,) = judge("read-bound-encoders", STARVED | {"Texture Read Limiter": 0.65})
    assert finding.lever == "other-limiter-texture"
    assert judge("read-bound-encoders", STARVED) == []


def test_misses_count_if_the_encoder_waits_for_them() -> None:
    (finding,) = judge("uncached-encoders", RELU)
    assert finding.severity is Severity.WARNING
    assert judge("uncached-encoders", STARVED) == []


def test_data_that_are_read_once_miss_by_their_nature() -> None:
    (finding,) = judge("uncached-encoders", RELU, tables=captured())
    assert finding.severity is Severity.NOTE
    assert "read about as many bytes as their buffers hold behind the bound offsets" in sentence_of(
        finding
    )
    again = RELU | {"Bytes Read From Device Memory": 4_000_000.0}
    (finding,) = judge("uncached-encoders", again, tables=captured())
    assert finding.severity is Severity.WARNING


def test_misses_of_a_cache_are_compared_with_reads_of_the_next_level() -> None:
    # L1 misses, the last-level cache serves the same bytes four times, memory is read once
    served = RELU | {"Last Level Cache Miss Rate": 0.25, "Last Level Cache Bytes Read": 4_194_304.0}
    (finding,) = judge("uncached-encoders", served, tables=captured())
    assert finding.severity is Severity.WARNING
    # L1 hits: only memory is asked
    hit = served | {"Buffer L1 Miss Rate": 0.1, "Last Level Cache Miss Rate": 0.99}
    (finding,) = judge("uncached-encoders", hit, tables=captured())
    assert finding.severity is Severity.NOTE


def test_bytes_in_reach_count_each_buffer_once_from_its_offset() -> None:
    tables = captured()
    # one buffer, bound from its start and from its middle: 1 MiB in reach, and not 1.5 or 2
    tables["bindings"] = pd.DataFrame(
        [BINDING, {**BINDING, "index": 1, "name": "y", "offset": 524_288}]
    )
    twice = RELU | {"Bytes Read From Device Memory": 1_572_864.0}
    (finding,) = judge("uncached-encoders", twice, tables=tables)
    assert finding.severity is Severity.WARNING
    tables["bindings"] = pd.DataFrame([{**BINDING, "offset": 524_288}])
    (finding,) = judge("uncached-encoders", RELU, tables=tables)
    assert finding.severity is Severity.WARNING


def test_shares_of_a_cost_never_exceed_the_whole() -> None:
    frame = counters(RELU, RELU | {"GPU Time": 50_000.0}, RELU)
    suspects = frame["place"] == 3
    frame.loc[suspects, "suspect"] = "it cannot be"
    replay = Given({"replay_counters": frame}, Provenance())["replay"]
    assert replay.cost == ""
    assert sum(encoder.weight for encoder in replay.encoders) == pytest.approx(1)
    negative = counters(STARVED | {"Execution Cost": -0.5}, STARVED | {"Execution Cost": 1.0})
    replay = Given({"replay_counters": negative}, Provenance())["replay"]
    assert [encoder.weight for encoder in replay.encoders] == [0.5, 0.5]


def test_a_gpu_time_in_another_unit_is_left_out() -> None:
    frame = counters(RELU | {"GPU Time": 25.0})
    frame.loc[frame["counter"] == "GPU Time", "unit"] = "µs"
    given = Given({"replay_counters": frame}, Provenance())
    assert "GPU Time" not in given["replay"].encoders[0].cells
    with pytest.raises(Unavailable, match="launching or GPU time"):
        list(inject(RULES["launch-bound-encoders"].judge, given))


def test_spills_show_as_accesses_to_stacks_or_in_the_capture() -> None:
    (finding,) = judge("spilling-encoders", STARVED | {"Stack L1 Read Accesses": 0.2})
    assert "up to 20.0 % of the L1 accesses were to stacks" in sentence_of(finding)
    (finding,) = judge("spilling-encoders", RELU, tables=captured(pipeline={"spilled": 64}))
    assert "the compiler spilled up to 64 B a thread" in sentence_of(finding)
    assert judge("spilling-encoders", STARVED) == []
    with pytest.raises(Unavailable, match="no accesses to stacks"):
        judge("spilling-encoders", RELU)


def test_divergence_shows_in_either_form_of_the_counters() -> None:
    (finding,) = judge("divergent-encoders", RELU | {"Kernel ALU Inefficiency": 0.35})
    assert "ALU inefficiency 35.0 %" in sentence_of(finding)
    (finding,) = judge("divergent-encoders", STARVED | {"Control Flow Limiter": 0.6})
    assert "control flow limiter 60.0 %" in sentence_of(finding)
    assert judge("divergent-encoders", RELU) == judge("divergent-encoders", STARVED) == []


def test_fragments_that_an_encoder_did_not_make_are_of_other_work() -> None:
    (finding,) = judge("shared-replay", STARVED, COSTLIEST)
    assert (finding.severity, finding.fact("encoders")) == (Severity.NOTE, 1)
    own = COSTLIEST | {"FS Invocations": 100.0}
    assert judge("shared-replay", own) == []


def test_a_tiny_share_of_the_cost_is_not_judged() -> None:
    rest = RELU | {"GPU Time": 1_000_000.0, "Buffer Read Limiter": 0.1, "Buffer Write Limiter": 0.1}
    assert judge("read-bound-encoders", RELU, rest) == []


def test_values_that_are_suspect_do_not_judge() -> None:
    frame = counters(RELU | {"Device Memory Bandwidth": 95.0})
    frame.loc[frame["counter"] == "Device Memory Bandwidth", "suspect"] = "it cannot be"
    given = Given({"replay_counters": frame}, Provenance(machine=dict(M2)))
    with pytest.raises(Unavailable, match="no credible value"):
        list(inject(RULES["bandwidth-bound-encoders"].judge, given))


def test_dispatches_are_assigned_only_if_their_threads_agree() -> None:
    tables = {"replay_counters": counters(RELU), **captured()}
    replay = Given(tables, Provenance())["replay"]
    assert replay.is_joined
    assert replay.encoders[0].kernels == "relu_f32"
    other_sizes = {**tables, **captured({"threads_x": 65_537})}
    replay = Given(other_sizes, Provenance())["replay"]
    assert not replay.is_joined
    assert "65,536 kernel invocations" in replay.unjoined
    assert "65,537 threads" in replay.unjoined
    uncounted = dict(RELU)
    del uncounted["Kernel Invocations"]
    replay = Given({**tables, "replay_counters": counters(uncounted)}, Provenance())["replay"]
    assert "no row has kernel invocations" in replay.unjoined
    elsewhere = {**tables, "replay_counters": counters(RELU, first_function=900)}
    replay = Given(elsewhere, Provenance())["replay"]
    assert "the capture has no dispatch there" in replay.unjoined


def test_a_row_of_an_encoder_has_the_dispatches_up_to_the_next_row() -> None:
    second = dict(RELU)
    del second["GPU Time"]
    first = second | {"Kernel Invocations": 2 * 65_536.0}
    dispatches = [
        {**DISPATCH, "index": index, "function_index": number, "function": name}
        for index, (number, name) in enumerate([(9, "scale"), (12, "add"), (109, "sum")])
    ]
    tables = {"replay_counters": counters(first, second), **captured()}
    tables["dispatches"] = pd.DataFrame(dispatches)
    replay = Given(tables, Provenance())["replay"]
    assert [encoder.kernels for encoder in replay.encoders] == ["scale, add", "sum"]
    tables["dispatches"] = pd.DataFrame([{**DISPATCH, "function_index": 3}, *dispatches])
    assert not Given(tables, Provenance())["replay"].is_joined
    # The numbers of threads agree by chance, as those of matmul and relu do.
    tables = {"replay_counters": counters(RELU), **captured({"function_index": 9})}
    assert not Given(tables, Provenance())["replay"].is_joined


@pytest.mark.parametrize("rule", [name for name in RULES if name.endswith("-encoders")])
def test_a_recording_without_counters_is_not_asked(rule: str) -> None:
    if rule == "tiny-encoders":
        return
    with pytest.raises(NotApplicable, match="only Xcode's counters"):
        inject(RULES[rule].judge, Given({}, Provenance()))
