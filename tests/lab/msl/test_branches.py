"""Branches at which lanes of one simdgroup part, against numbers that were counted by hand."""

from random import Random

import numpy as np
import pytest

from small_kernels import EMULATED, kernel
from tracekit.lab.msl.branches import find_joins
from tracekit.lab.msl.counting import Counted, compile_counted

PARAMETERS = "device float* out, constant uint& n"


@pytest.mark.parametrize(
    ("successors", "joins"),
    [
        # 0 branches to 1 and 2, which join in 3
        ([[1, 2], [3], [3], []], [3, 3, 3, -1]),
        # 0 returns early by 3, or goes on to 1, which is a loop of 1 and 2
        ([[3, 1], [2, 3], [1], []], [3, 3, 1, -1]),
        # two ends
        ([[1, 2], [], []], [-1, -1, -1]),
        # `if (a && b)`: 0 and 1 share 3
        ([[1, 3], [2, 3], [4], [4], []], [4, 4, 4, 4, -1]),
        # no way out of 1
        ([[1, 2], [1], []], [2, -1, -1]),
    ],
)
def test_ways_join_at_the_nearest_block_that_all_come_to(
    successors: list[list[int]], joins: list[int]
) -> None:
    assert list(find_joins(successors).values()) == joins


def reach_exit(successors: list[list[int]], start: int, without: int) -> bool:
    """Return whether a way leads from a block to the end of the function around another block."""
    seen: set[int] = set()
    waiting = [start]
    while waiting:
        block = waiting.pop()
        if block in seen or block == without:
            continue
        seen.add(block)
        if not successors[block]:
            return True
        waiting += successors[block]
    return False


def find_join_by_trial(successors: list[list[int]], start: int) -> int:
    """Return the join of a block: leave out every other block in turn, and see what stays."""
    blocks = range(len(successors))
    if not reach_exit(successors, start, -1):
        return -1
    on_all_ways = [
        block for block in blocks if block != start and not reach_exit(successors, start, block)
    ]
    for block in on_all_ways:
        if not any(reach_exit(successors, block, other) for other in on_all_ways if other != block):
            return block
    return -1


def test_joins_of_random_graphs_are_those_of_trials() -> None:
    random = Random(3)
    for _ in range(300):
        count = random.randrange(1, 8)
        successors = [
            [random.randrange(count) for _ in range(random.randrange(3))] for _ in range(count)
        ]
        expected = [find_join_by_trial(successors, block) for block in range(count)]
        assert list(find_joins(successors).values()) == expected, successors


HELPER = """inline float f(uint lane) { if (lane < 4) return 1; return 2; }
"""
KERNELS = {
    "no branch": ("out[i] = 1;", 0),
    "all lanes one way": ("if (n > 5) out[i] = 1; else out[i] = 2;", 0),
    "half a simdgroup": ("if (lane < 16) out[i] = 1;", 2),
    # lanes meet again behind the first branch, and part anew
    "two in a row": ("if (lane < 4) out[i] = 1; if (lane < 4) out[i] += 1;", 2 * 2),
    # at the head of round k, lane k leaves those above it: 31 times
    "a loop of as many rounds as its lane": (
        "float s = 0; for (uint k = 0; k < lane; ++k) s += k; out[i] = s;", 2 * 31,
    ),
    "a branch in each of eight rounds": (
        "for (uint k = 0; k < 8; ++k) { if (k % 2 == lane % 2) out[i] += 1; }", 2 * 8,
    ),
    # lanes that skip a round wait for the others at its end
    "a branch that lanes come to in different rounds": (
        """for (uint k = 0; k < 4; ++k) {
          if (k % 2 != lane % 2) continue;
          if (lane < 2) out[i] += 1;
        }""",
        2 * (4 + 4),
    ),
    # head of round 0: all stay; inner: lanes below 16 leave after 1 of 2 rounds; head of round 1:
    # even lanes leave; inner: as before; head of round 2: the odd ones leave together
    "loops in each other": (
        """for (uint k = 0; k < lane % 2 + 1; ++k)
          for (uint j = 0; j < lane / 16 + 1; ++j) out[i] += 1;""",
        2 * 3,
    ),
    # 64 threads, 40 numbers: 8 lanes of the second simdgroup go on
    "an early return": ("if (i >= n) return; out[i] = 1;", 1),
    "an early return of a function, twice": ("out[i] = f(lane) + f(lane);", 2 * 2),
    # && is two branches, and the lanes below 8 are at the second
    "both conditions": ("if (lane < 8 && lane % 2 == 0) out[i] = 1;", 2 * 2),
    "a switch with three ways": (
        """switch (lane % 4) { case 0: out[i] = 1; break; case 1: case 2: out[i] = 2; break;
        default: out[i] = 3; }""",
        2,
    ),
    "a switch whose cases have one way": (
        "switch (lane % 2) { case 0: case 1: out[i] = 1; break; default: out[i] = 3; }", 0,
    ),
    "operations of a simdgroup": ("out[i] = simd_sum(float(lane)) + simd_max(lane);", 0),
    "lanes that part before a barrier": (
        """threadgroup float tile[64];
        if (lane < 3) tile[t] = 1; else tile[t] = 2;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        out[i] = tile[63 - t] > 1 ? 5.0f : f(lane);""",
        # the second simdgroup reads 1 from lanes 2, 1, 0 of the first, and the reverse: its lanes
        # 29 to 31 call f, none of them below 4
        2 * 2,
    ),
}  # fmt: skip


@EMULATED
@pytest.mark.usefixtures("clang")
@pytest.mark.parametrize("name", KERNELS)
def test_branches_that_part_lanes_are_counted(name: str) -> None:
    body, expected = KERNELS[name]
    program = compile_counted(kernel(body, PARAMETERS, before=HELPER), Counted.BRANCHES)
    for _ in range(2):
        statistics = program.run(
            {"out": np.zeros(64, np.float32), "n": np.array([40], np.uint32)},
            grid=(64, 1, 1),
            threadgroup=(64, 1, 1),
        )
        assert statistics.divergent_branches == expected
