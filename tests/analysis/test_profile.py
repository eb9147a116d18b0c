"""Functions and the flame graph of literal stacks, and encoders that were replayed."""

from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from analysed import table
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.profile import Block, flame, frames_table, functions, sampled_weight
from tracekit.analysis.replay import average_by_cost, encoders
from tracekit.tables.xml.node import FRAMES, STACKS, Symbols, no_symbols

# main → work → hot; main → work; main → work → work → hot (recursion)
STACKS_OF = {0: ["hot", "work", "main"], 1: ["work", "main"], 2: ["hot", "work", "work", "main"]}
STACKS_OF[3] = STACKS_OF[0]  # at other addresses


FRAMED = [
    (number, depth, name) for number, names in STACKS_OF.items() for depth, name in enumerate(names)
]
FRAMES_OF = table("stack depth function", *FRAMED)


def samples_of(*rows: tuple[int | None, int | None]) -> pd.DataFrame:
    return table("stack weight", *rows).astype({"stack": "Int64"})


def list_rows(table: pd.DataFrame) -> list[tuple[Any, ...]]:
    return list(table[["function", "own", "total", "samples"]].itertuples(index=False, name=None))


def test_own_weight_is_the_innermost_frames_and_recursion_counts_once() -> None:
    function_table = functions(samples_of((0, 10), (1, 4), (2, 6), (0, 1)), FRAMES_OF)
    assert list_rows(function_table) == [("hot", 17, 17, 3), ("work", 4, 21, 4), ("main", 0, 21, 4)]
    equal = functions(samples_of((0, 10), (1, 10)), FRAMES_OF)  # then by the total weight
    assert equal["function"].tolist() == ["work", "hot", "main"]
    samples = samples_of((0, 10), (None, 5), (1, None))
    assert functions(samples, FRAMES_OF)["own"].sum() + 5 == sampled_weight(samples) == 15
    with pytest.raises(Unavailable, match="no sample has a weight"):
        sampled_weight(samples_of((0, None)))


def test_a_flame_graph_merges_equal_callers_and_leaves_room_for_their_own_weight() -> None:
    blocks = flame(samples_of((0, 3), (1, 4), (2, 6), (3, 7)), FRAMES_OF)
    assert blocks == [
        Block("main", 0, 0, 20),
        Block("work", 1, 0, 20),
        Block("hot", 2, 4, 10),
        Block("work", 2, 14, 6),
        Block("hot", 3, 14, 6),
    ]
    samples = samples_of((0, 96), (2, 4))
    block_names = [block.function for block in flame(samples, FRAMES_OF, least_share=0.05)]
    assert block_names == ["main", "work", "hot"]
    assert max(block.depth for block in flame(samples, FRAMES_OF, deepest=2)) == 1
    assert flame(samples_of(), FRAMES_OF) == []


def test_frames_without_a_name_are_called_by_binary_and_address() -> None:
    rows = {name: [None] * 3 for name in FRAMES.names} | {
        "frame": [0, 1, 2],
        "name": ["main", None, None],
        "address": [16, 255, None],
        "binary": ["probe", "libmetal", None],
    }
    stacks = pa.table({STACKS.names[0]: [0, 1], "frames": [[1, 0], [2]]}, schema=STACKS)
    frame_table = frames_table(Symbols(pa.table(rows, schema=FRAMES), stacks))
    assert list(frame_table.itertuples(index=False, name=None)) == [
        (0, 0, "libmetal 0xff", "libmetal"),
        (0, 1, "main", "probe"),
        (1, 0, "(no address)", ""),
    ]


def test_encoders_of_a_replay_are_ranked_by_cost_with_their_limiters() -> None:
    rows = [
        (0, "Execution Cost", 0.2),
        (0, "Kernel Occupancy", 0.5),
        (0, "ALU Limiter", 0.3),
        (0, "MMU Limiter", 0.6),
        (0, "MMU Utilization", 0.1),
        (0, "Vertex Shader Launch Limiter", 0.9),  # no unit that holds a kernel back
        (1, "Execution Cost", 0.8),
        (1, "Kernel Occupancy", 0.25),
        (1, "ALU Limiter", 0.7),
        (1, "ALU Utilization", 0.4),
        (1, "Stack L1 Read Accesses", 0.1),
        (1, "Stack L1 Write Accesses", 0.2),
    ]
    replayed = table("place counter value", *rows, command_buffer=7, suspect=None).assign(
        unit="ratio"
    )
    replayed["encoder"] = replayed["place"]
    encoder_table = encoders(replayed).set_index("place")
    assert encoder_table.index.tolist() == [1, 0]
    assert encoder_table["limiter"].tolist() == ["ALU", "MMU"]
    columns = ["cost", "occupancy", "limited", "used"]
    assert encoder_table[columns].to_numpy().round(9).tolist() == [
        [0.8, 0.25, 0.7, 0.4],
        [0.2, 0.5, 0.6, 0.1],
    ]
    assert encoder_table["stack"].tolist() == pytest.approx([0.3, float("nan")], nan_ok=True)
    assert encoder_table[["read", "written", "bandwidth"]].isna().all(axis=None)
    assert average_by_cost(encoder_table, "occupancy") == pytest.approx(0.8 * 0.25 + 0.2 * 0.5)
    half_known: Any = [0.25, None]
    assert average_by_cost(encoder_table.assign(occupancy=half_known), "occupancy") == 0.25
    unknown = encoders(replayed.assign(suspect="it is above one"))
    assert (unknown["place"].tolist(), unknown["stack"].isna().all()) == ([0, 1], True)
    assert average_by_cost(unknown, "occupancy") is None


def test_a_profile_without_samples_has_no_frames() -> None:
    assert list(frames_table(no_symbols())["function"]) == []
