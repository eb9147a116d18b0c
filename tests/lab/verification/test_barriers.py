"""Kernels without one of their barriers: the guide's example, and those that are needed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from small_kernels import needs_emulation
from tracekit.lab.msl.barriers import apply_removal, find_barriers, removing
from tracekit.lab.msl.edits import KernelText, Origin
from tracekit.lab.verification.barriers import BarrierTrial, judge_barriers

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
            "sums.metal:8:",
            " is not needed in 1 case: the same bits in the orders ascending, descending, random",
        ),
        ("sums.metal:10:", " is needed: 63 of 64 elements change (order ascending)"),
        ("sums.metal:13:", " is needed: 63 of 64 elements change (order ascending)"),
        ("sums.metal:15:", " is needed: 32 of 64 elements change (order ascending)"),
    ]


def test_calls_in_comments_and_strings_are_not_barriers() -> None:
    text = (
        "// threadgroup_barrier(mem_flags::mem_none);\n"
        'const char* s = "simdgroup_barrier(x)";\n'
        "void f() { threadgroup_barrier(flags(1, (2))); /* simdgroup_barrier() */ }\n"
        "  simdgroup_barrier\n  (mem_flags::mem_none);\n"
    )
    kernel = KernelText(text, "f", name="f.metal", origins=(Origin(1, "f.h", 11),))
    barriers = list(find_barriers(kernel))
    assert [(barrier.name, barrier.file, barrier.line) for barrier in barriers] == [
        ("threadgroup_barrier", "f.h", 13),
        ("simdgroup_barrier", "f.h", 14),
    ]
    assert "{ ((void)0); /*" in barriers[0].text_without
    with removing(barriers[1]):
        assert apply_removal(kernel).text.endswith("  ((void)0);\n")
        other = KernelText("void g() {}", "g")
        assert apply_removal(other) is other
    assert apply_removal(kernel) is kernel


@pytest.mark.parametrize(
    ("states", "words"),
    [
        (
            ["not needed", "not needed"],
            "k.metal:3: threadgroup_barrier is not needed in 2 cases: d",
        ),
        (["not needed", "needed"], "k.metal:3: threadgroup_barrier is needed: d"),
    ],
)
def test_a_barrier_that_one_case_needs_is_needed(states: list[Any], words: str) -> None:
    trials = [BarrierTrial("k.metal", 3, "threadgroup_barrier", state, "d") for state in states]
    (judged,) = judge_barriers(trials)
    assert judged.words == words
