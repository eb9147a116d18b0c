"""Functions, their own and total weight, and the flame graph, of literal stacks."""

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.profile import Block, flame, frames_table, functions, sampled_weight
from tracekit.tables.xml.node import FRAMES, STACKS, Symbols

# main → work → hot; main → work; main → work → work → hot (recursion)
STACKS_OF = {0: ["hot", "work", "main"], 1: ["work", "main"], 2: ["hot", "work", "work", "main"]}


@pytest.fixture
def frames() -> pd.DataFrame:
    rows = [
        {"stack": number, "depth": depth, "function": name}
        for number, names in STACKS_OF.items()
        for depth, name in enumerate(names)
    ]
    return pd.DataFrame(rows)


def samples_of(*rows: tuple[int | None, int | None]) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "stack": pd.array([stack for stack, _ in rows], dtype="Int64"),
            "weight": pd.array([weight for _, weight in rows], dtype="Int64"),
        }
    )


def listed(table: pd.DataFrame) -> list[tuple[Any, ...]]:
    return list(table[["function", "own", "total", "samples"]].itertuples(index=False, name=None))


def test_own_weight_is_the_innermost_frames_and_recursion_counts_once(frames: Any) -> None:
    found = functions(samples_of((0, 10), (1, 4), (2, 6), (0, 1)), frames)
    assert listed(found) == [("hot", 17, 17, 3), ("work", 4, 21, 4), ("main", 0, 21, 4)]


def test_own_weights_and_samples_without_a_stack_come_to_all_weight(frames: Any) -> None:
    samples = samples_of((0, 10), (None, 5), (1, None))
    assert functions(samples, frames)["own"].sum() + 5 == sampled_weight(samples) == 15


def test_weights_that_are_all_missing_are_no_zero() -> None:
    with pytest.raises(Unavailable, match="no sample has a weight"):
        sampled_weight(samples_of((0, None)))


def test_a_flame_graph_merges_equal_callers_and_leaves_room_for_their_own_weight(
    frames: Any,
) -> None:
    blocks = flame(samples_of((0, 10), (1, 4), (2, 6)), frames)
    assert blocks == [
        Block("main", 0, 0, 20),
        Block("work", 1, 0, 20),
        Block("hot", 2, 4, 10),
        Block("work", 2, 14, 6),
        Block("hot", 3, 14, 6),
    ]


def test_blocks_below_the_least_share_are_left_out_and_deep_stacks_end(frames: Any) -> None:
    samples = samples_of((0, 96), (2, 4))
    assert [block.function for block in flame(samples, frames, least=0.05)] == [
        "main",
        "work",
        "hot",
    ]
    assert max(block.depth for block in flame(samples, frames, deepest=2)) == 1
    assert flame(samples_of(), frames) == []


def test_frames_without_a_name_are_called_by_binary_and_address() -> None:
    rows = {name: [None] * 3 for name in FRAMES.names} | {
        "frame": [0, 1, 2],
        "name": ["main", None, None],
        "address": [16, 255, None],
        "binary": ["probe", "libmetal", None],
    }
    stacks = pa.table({STACKS.names[0]: [0, 1], "frames": [[1, 0], [2]]}, schema=STACKS)
    made = frames_table(Symbols(pa.table(rows, schema=FRAMES), stacks))
    assert list(made.itertuples(index=False, name=None)) == [
        (0, 0, "libmetal 0xff"),
        (0, 1, "main"),
        (1, 0, "(no address)"),
    ]
