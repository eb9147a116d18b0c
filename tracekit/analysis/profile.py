"""Samples of running threads: functions by self and total weight, threads, a flame graph.

Weights are nanoseconds in the table `cpu_profile` (Time Profiler) and cycles in `cycle_profile`
(CPU Profiler). The self weight of a function is that of the samples with it as the innermost frame;
its total weight is that of all samples with it anywhere in their stack, each counted once.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

import numpy as np
import pandas as pd

from tracekit.analysis.inject import Unavailable
from tracekit.tables import Symbols

PROFILES = {"cpu_profile": "time-profile", "cycle_profile": "cpu-profile"}
"""The tables of samples that have stacks, and the schema whose symbols name their frames."""


def frames_table(symbols: Symbols) -> pd.DataFrame:
    """Return a row for each frame of each stack: `stack`, `depth`, `function`, `binary`.

    The innermost frame has depth 0. A frame without a name is named by its binary and its address;
    an unknown binary is "".
    """
    frames = symbols.frames.to_pandas()
    address = frames["address"].map(
        lambda raw_address: f"0x{int(raw_address):x}", na_action="ignore"
    )
    binary = frames["binary"].fillna("")
    binary_words = (binary + " ").where(binary != "", "")
    # Addresses of no frames keep their numbers' type, to which no words can be added.
    unnamed = binary_words + address.astype(object).fillna("(no address)")
    names = frames["name"].fillna(unnamed).to_numpy(dtype=object)
    stacks = symbols.stacks.column("frames").combine_chunks()
    stack_lists = stacks.to_pylist()
    depths = [np.arange(len(stack)) for stack in stack_lists]
    flat_frames = stacks.flatten().to_numpy(zero_copy_only=False)
    members = flat_frames.astype(np.int64)
    stack_sizes = [depth.size for depth in depths]
    numbers = np.repeat(np.arange(len(depths)), stack_sizes)
    all_depths = np.concatenate(depths) if depths else np.empty(0, np.int64)
    binaries = binary.to_numpy(dtype=object)[members]
    return pd.DataFrame(
        {
            "stack": numbers,
            "depth": all_depths,
            "function": names[members],
            "binary": binaries,
        }
    )


def functions(samples: pd.DataFrame, frames: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each function: `function`, `own` and `total` weight, `samples`.

    Rows are ordered by self weight, the greatest first, and then by total weight. Samples without a
    stack do not belong to any function.
    """
    by_stack = _by_stack(samples)
    is_sampled = frames["stack"].isin(by_stack.index)
    sampled_frames = frames[is_sampled]
    leaf_frames = sampled_frames[sampled_frames["depth"] == 0]
    innermost = leaf_frames.set_index("stack")["function"]
    self_weights = by_stack["weight"].groupby(innermost).sum()
    distinct_frames = sampled_frames.drop_duplicates(["stack", "function"])
    weights = distinct_frames["stack"].map(by_stack["weight"])
    numbers = distinct_frames["stack"].map(by_stack["samples"])
    total = weights.groupby(distinct_frames["function"]).sum()
    table = pd.DataFrame(
        {
            "total": total,
            "samples": numbers.groupby(distinct_frames["function"]).sum(),
        }
    )
    known_weights = self_weights.reindex(table.index).fillna(0)
    table["own"] = known_weights.astype(np.int64)
    ordered = table.rename_axis("function").reset_index()
    return ordered.sort_values(
        ["own", "total", "function"], ascending=[False, False, True], ignore_index=True
    )


def _by_stack(samples: pd.DataFrame) -> pd.DataFrame:
    stack_samples = samples.dropna(subset=["stack"])
    known_weights = stack_samples["weight"].fillna(0)
    weight = known_weights.astype(np.int64)
    stack_numbers = stack_samples["stack"].astype(np.int64)
    grouped = weight.groupby(stack_numbers)
    return pd.DataFrame({"weight": grouped.sum(), "samples": grouped.size()})


@dataclass(frozen=True)
class Block:
    """A function in a flame graph, below its caller; `start` and `weight` as in the samples."""

    function: str
    depth: int
    start: int
    weight: int


def flame(
    samples: pd.DataFrame, frames: pd.DataFrame, *, least_share: float = 0.002, deepest: int = 80
) -> list[Block]:
    """Return the blocks of a flame graph: stacks with equal callers are merged, by name.

    Blocks with less than the share `least_share` of all weight are left out, with their callees;
    the `deepest` outermost frames of a stack are shown.
    """
    weights = _by_stack(samples)["weight"].to_dict()
    is_weighted = frames["stack"].isin(weights)
    sampled_frames = frames[is_weighted].sort_values(["stack", "depth"], kind="stable")
    paths: dict[tuple[str, ...], int] = {}
    for stack, names in sampled_frames.groupby("stack", sort=False)["function"]:
        names_inwards = tuple(reversed(names.tolist()))
        outermost_first = names_inwards[:deepest]
        path_weight = paths.get(outermost_first, 0)
        paths[outermost_first] = path_weight + weights[int(stack)]  # pyright: ignore[reportArgumentType]
    entire = sum(paths.values())
    ordered_paths = sorted(paths.items())
    return list(_blocks(ordered_paths, 0, 0, least_share * entire))


def _blocks(
    paths: list[tuple[tuple[str, ...], int]], depth: int, start: int, least_weight: float
) -> Iterator[Block]:
    """Yield the blocks of sorted paths that are equal above `depth`."""
    paths_by_name = groupby(paths, key=lambda row: row[0][depth : depth + 1])
    for name, group in paths_by_name:
        members = list(group)
        weight = sum(weight for _, weight in members)
        if (
            name and weight >= least_weight
        ):  # samples in the caller itself have no name at this depth
            yield Block(name[0], depth, start, weight)
            yield from _blocks(members, depth + 1, start, least_weight)
        start += weight


def sampled_weight(samples: pd.DataFrame) -> int:
    """Return the weight of all samples; raise Unavailable if no sample has one."""
    if samples["weight"].isna().all():
        raise Unavailable("no sample has a weight.")
    return int(samples["weight"].fillna(0).sum())
