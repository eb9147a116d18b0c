"""Kernels without one of their barriers: the guide's example, and those that are needed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from small_kernels import needs_emulation
from tracekit.lab.msl.barriers import apply_removal, find_barriers, removing
from tracekit.lab.msl.edits import KernelText, Origin
from tracekit.lab.msl.program import ThreadOrder
from tracekit.lab.verification.barriers import (
    BarrierRun,
    BarrierTrial,
    Run,
    TrialState,
    judge_barriers,
    try_barriers,
)

SUMS = """#include <metal_stdlib>
using namespace metal;
kernel void sums(device const float* x [[buffer(0)]], device float* out [[buffer(1)]],
                 uint lane [[thread_position_in_threadgroup]],
                 uint size [[threads_per_threadgroup]]) {
  threadgroup float part[64];
  float value = x[lane] * 2;
  threadgroup_barrier(mem_flags::mem_threadgroup);  // the value is in a register
  part[lane] = value;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float sum = 0;
  for (uint i = 0; i < size; ++i) sum += part[i];
  threadgroup_barrier(mem_flags::mem_threadgroup);  // sums must be made before this
  part[lane] = sum + lane;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  out[lane] = part[size - 1 - lane];
}
"""
ROWS = """#include <metal_stdlib>
using namespace metal;
kernel void move_rows(device const float* values [[buffer(0)]], device float* out [[buffer(1)]],
                      uint lane [[thread_position_in_threadgroup]]) {{
  threadgroup int row[16];
  row[lane] = int(lane);
  {barrier}
  int to = row[{index}];
  for (int i = 0; i < 65536; ++i) out[to * 65536 + i] = values[i];
}}
"""
BARRIER = "threadgroup_barrier(mem_flags::mem_threadgroup);"
LAUNCH_ROWS = (
    "--buffer values=float32[65536] --buffer out=float32[1048576] --grid 16,1,1 "
    "--threadgroup 16,1,1 --barriers"
).split()
LAUNCH = (
    "--buffer x=float32[64] --buffer out=float32[64] --grid 64 --threadgroup 64 --barriers"
).split()


@needs_emulation
def test_the_barrier_after_a_register_is_not_needed_and_the_others_are(
    tracekit: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "sums.metal"
    file.write_text(SUMS)
    result = tracekit("kernel", "verify", file, *LAUNCH)
    assert result.code == 0, result.err
    lines = [line for line in result.out.splitlines() if "threadgroup_barrier" in line]
    assert [line.partition(" threadgroup_barrier")[::2] for line in lines] == [
        (
            "sums.metal:8:3:",
            " is not needed in 1 case: the same bits in the orders ascending, descending, random",
        ),
        ("sums.metal:10:3:", " is needed: 63 of 64 elements change (order ascending)"),
        ("sums.metal:13:3:", " is needed: 63 of 64 elements change (order ascending)"),
        ("sums.metal:15:3:", " is needed: 32 of 64 elements change (order ascending)"),
    ]


@needs_emulation
def test_a_barrier_that_no_thread_came_to_is_not_judged(
    tracekit: Callable[..., Any], tmp_path: Path
) -> None:
    file = tmp_path / "sums.metal"
    other = SUMS.partition("using namespace metal;\n")[2].replace("void sums", "void others")
    branch = f"  if (size > 64) {{ {BARRIER} simdgroup_barrier(mem_flags::mem_none); }}\n"
    place = "  float sum = 0;\n"
    file.write_text(SUMS.replace(place, branch + place) + other)
    result = tracekit("kernel", "verify", file, *LAUNCH, "--function", "sums")
    assert result.code == 0, result.err
    lines = [line for line in result.out.splitlines() if "group_barrier is" in line]
    states = [line.partition("_barrier is ")[2].partition(":")[0] for line in lines]
    never = "never reached in 1 case"
    assert states == ["not needed in 1 case", "needed", never, never, "needed", "needed"] + (
        [never] * 4
    )
    assert lines[2].endswith(": no thread of a launched kernel came to it")


def test_calls_in_comments_and_strings_are_not_barriers() -> None:
    text = (
        "// threadgroup_barrier(mem_flags::mem_none);\n"
        'const char* s = "simdgroup_barrier(x)";\n'
        "void f() { threadgroup_barrier(flags(1, (2))); /* simdgroup_barrier() */ }\n"
        "  simdgroup_barrier\n  (mem_flags::mem_none);\n"
    )
    kernel = KernelText(text, "f", name="f.metal", origins=(Origin(1, "f.h", 11),))
    barriers = list(find_barriers(kernel))
    assert [(barrier.name, barrier.file, barrier.line, barrier.column) for barrier in barriers] == [
        ("threadgroup_barrier", "f.h", 13, 12),
        ("simdgroup_barrier", "f.h", 14, 3),
    ]
    assert "{ ((void)0); /*" in barriers[0].text_without
    with removing(barriers[1]):
        assert apply_removal(kernel).text.endswith("  ((void)0);\n")
        other = KernelText("void g() {}", "g")
        assert apply_removal(other) is other
    assert apply_removal(kernel) is kernel


@needs_emulation
def test_a_kernel_that_leaves_its_buffer_without_a_barrier_never_runs_unwatched(
    tracekit: Callable[..., Any], tmp_path: Path
) -> None:
    # without the barrier, a thread writes rows at an index that was never written
    file = tmp_path / "rows.metal"
    file.write_text(ROWS.format(barrier=BARRIER, index="15 - lane"))
    result = tracekit("kernel", "verify", file, *LAUNCH_ROWS)
    assert result.code == 0, result.err
    (line,) = [line for line in result.out.splitlines() if "threadgroup_barrier" in line]
    assert line == (
        "rows.metal:7:3: threadgroup_barrier is needed: rows.metal: threadgroup (0,0,0): access of "
        "4 bytes at offset -262144 of buffer 'out' (4194304 bytes) by thread 0 at rows.metal:9:53 "
        "(order ascending)"
    )


@needs_emulation
def test_a_kernel_that_leaves_its_buffer_in_one_order_never_runs_unwatched(
    tracekit: Callable[..., Any], tmp_path: Path
) -> None:
    # a thread reads the index of the one before it, which has run in ascending order
    file = tmp_path / "rows.metal"
    file.write_text(ROWS.format(barrier="", index="lane == 0 ? 0 : lane - 1"))
    result = tracekit("kernel", "verify", file, *LAUNCH_ROWS)
    assert result.code == 1, result.err
    (line,) = [line for line in result.out.splitlines() if "accesses in bounds" in line]
    assert "DEFECT  rows.metal: threadgroup (0,0,0): access of 4 bytes at offset -262144" in line
    assert line.endswith("by thread 15 at rows.metal:9:53 (order descending)")


def _run_made(**answers_without: list[float]) -> Run:
    """Return runs of a case with the answer 0, NaN; other answers while a barrier is removed."""

    def run(order: ThreadOrder) -> BarrierRun:
        if apply_removal(ONE) is ONE:
            return BarrierRun([np.array([0.0, np.nan])], {"threadgroup_barrier": 1})
        return BarrierRun([np.array(answers_without[order])], {"threadgroup_barrier": 0})

    return run


ONE = KernelText("void f() {\n  threadgroup_barrier(mem_flags::mem_none);\n}\n", "f")
TWO_ORDERS = (ThreadOrder.ASCENDING, ThreadOrder.RANDOM)


@pytest.mark.parametrize(
    ("random", "words"),
    [
        ([0.0, np.nan], "is not needed in 1 case: the same bits in the orders ascending, random"),
        ([-0.0, np.nan], "is needed: 1 of 2 elements change (order random)"),
        ([-0.0, -np.nan], "is needed: 2 of 2 elements change (order random)"),
    ],
)
def test_a_changed_bit_is_a_change_although_the_values_are_equal(
    random: list[float], words: str
) -> None:
    run = _run_made(ascending=[0.0, np.nan], random=random)
    (judged,) = judge_barriers([list(try_barriers(run, [ONE], TWO_ORDERS))])
    assert judged.words == f"f.metal:2:3: threadgroup_barrier {words}"


def make_trial(state: TrialState, column: int = 5) -> BarrierTrial:
    return BarrierTrial("k.metal", 3, column, "threadgroup_barrier", state, "d")


UNNEEDED = make_trial("not needed")
UNREACHED = make_trial("never reached")
PLACE = "k.metal:3:5: threadgroup_barrier"


@pytest.mark.parametrize(
    ("cases", "words"),
    [
        ([[UNNEEDED], [UNNEEDED]], [f"{PLACE} is not needed in 2 cases: d"]),
        ([[UNNEEDED], [make_trial("needed")]], [f"{PLACE} is needed: d"]),
        ([[UNREACHED], [UNNEEDED]], [f"{PLACE} is not needed in 1 case: d"]),
        ([[UNREACHED], [UNREACHED]], [f"{PLACE} is never reached in 2 cases: d"]),
        ([[UNREACHED, make_trial("needed")]], [f"{PLACE} is needed: d"]),
        # two kernels of one source
        ([[UNNEEDED, UNNEEDED]], [f"{PLACE} is not needed in 1 case: d"]),
        # two barriers on one line
        (
            [[UNNEEDED, make_trial("needed", 40)]],
            [
                f"{PLACE} is not needed in 1 case: d",
                "k.metal:3:40: threadgroup_barrier is needed: d",
            ],
        ),
    ],
)
def test_each_barrier_is_judged_over_all_cases(
    cases: list[list[BarrierTrial]], words: list[str]
) -> None:
    assert [barrier.words for barrier in judge_barriers(cases)] == words
