"""Divide a decode call among threadgroups and lanes, and give the reason of each choice."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal

from tracekit import workload
from tracekit.base import UsageError
from tracekit.machine import Machine
from tracekit.ops.attention import tuned
from tracekit.ops.attention.problem import DecodeProblem
from tracekit.ops.kernels import LANES

Kernel = Literal["grouped", "per-head", "barriers"]

BLOCK_SIZES = (16, 32, 64)
"""Tokens of a page, of which `prewarm` compiles a kernel each by default."""
HD_TILES = (4, 8, 16)
"""Elements of a head that a lane of the grouped kernel can own."""
HELD_ELEMENTS = 32
"""Elements of queries that a lane of the grouped kernel holds at most, over all its q heads.

It holds as many sums. With more, a lane takes more than 128 registers, and Apple's M1 and M2 have
no more for a thread of a threadgroup that fills a core; see `bench/cuda/registers.csv`.
"""
LOADED_BYTES = 128
"""Bytes of K and V that a lane of the grouped kernel loads at a time.

It loads half as many if it holds more than half of `HELD_ELEMENTS`.
"""
SHORTEST_PARTITION = 256
"""Tokens below which a partition costs more than it saves."""
MOST_PARTITIONS = 64
USUAL_CORES = 128
"""GPU cores for which a call is planned if their number is not known.

Parts for too many cores cost a merge; parts for too few leave cores without work.
"""
THREADS = (512, 256, 128)
"""Threads of a threadgroup that has a core to itself, shares it with another, or with more."""


@dataclass(frozen=True)
class DecodePlan:
    """How one decode call runs.

    Attributes:
        kernel: "grouped" loads each row of K and V once for the q heads that share it,
            "per-head" once for each of them, "barriers" as well, with three barriers a token.
        threadgroup: Threads of a threadgroup.
        partitions: Threadgroups that share the tokens of a sequence. More than one need a
            second dispatch, which merges them.
        hd_tile: Elements of a head that one lane owns; 0 if lanes own no such tile.
        heads: Query heads of a threadgroup.
        tokens: Rows of K and of V that a lane loads at a time.
    """

    kernel: Kernel
    threadgroup: int
    partitions: int = 1
    hd_tile: int = 0
    heads: int = 1
    tokens: int = 1

    @property
    def dispatches(self) -> int:
        """Kernels that the call launches."""
        if self.partitions > 1:
            return 2
        return 1

    def rereads(self, group: int) -> int:
        """Return how often each row of K and V is loaded, if `group` q heads share it."""
        return -(-group // self.heads)


@cache
def device_cores() -> int | None:
    """Return the number of GPU cores of this machine; None if the system does not name it."""
    return Machine().gpu_cores


def plan(
    problem: DecodeProblem,
    *,
    longest: int | None = None,
    kernel: Kernel | None = None,
    hd_tile: int | None = None,
    threadgroup: int | None = None,
    partitions: int | None = None,
    cores: int | None = None,
) -> DecodePlan:
    """Choose every parameter of a launch that is not given.

    If none is given, a launch that `tracekit bench tune` measured for such a call is taken.

    The sizes decide, never the contents: one model runs one kernel, with threadgroups of one of
    `THREADS`, whatever its batch. Tokens are divided if cores would have no threadgroup, but
    never into parts of fewer than `SHORTEST_PARTITION`. The fewer threadgroups share a core, the
    larger they are.

    `longest` is the longest context, if it is known, else the table's whole length. `cores` are
    those of the GPU; None asks the device, and is `USUAL_CORES` if that does not name them.
    `explain_plan` gives the reasons. Raises UsageError for values that are impossible, alone or
    together.
    """
    if kernel is not None and kernel != "grouped":
        if hd_tile is not None or partitions not in {None, 1}:
            raise UsageError(
                f'The kernel "{kernel}" has neither tiles of a head nor partitions.',
                hint='The kernel "grouped" has both.',
            )
        return _plan_ungrouped(problem, kernel, threadgroup)
    choices = (kernel, hd_tile, threadgroup, partitions, cores)
    tuned_launch = None
    if all(choice is None for choice in choices):
        tuned_launch = tuned.find_tuned(problem, longest)
    if tuned_launch is not None:
        hd_tile = tuned_launch.hd_tile
        threadgroup = tuned_launch.threadgroup
        partitions = tuned_launch.partitions
    planned_cores = cores or device_cores() or USUAL_CORES
    tile = _choose_tile(problem.head_dim, hd_tile)
    heads = heads_at_once(problem.group, tile)
    tokens = _choose_tokens(heads * tile, 2 * tile * problem.dtype.size)
    base_plan = DecodePlan("grouped", THREADS[0], 1, tile, heads, tokens)
    threadgroups = _undivided_threadgroups(problem, base_plan)
    if partitions is None:
        partitions = partitions_for(threadgroups, _longest_of(problem, longest), planned_cores)
    if not 1 <= partitions <= MOST_PARTITIONS:
        raise UsageError(
            f"{partitions} partitions cannot be had; there are 1 to {MOST_PARTITIONS}."
        )
    if threadgroup is None:
        threadgroup = _choose_threads(threadgroups * partitions, planned_cores)
    room = workload.threadgroups.MOST_BYTES - 8 * heads * LANES
    _check_threadgroup(threadgroup, room, problem.head_dim)
    return replace(base_plan, threadgroup=threadgroup, partitions=partitions)


def explain_plan(
    problem: DecodeProblem,
    how: DecodePlan,
    *,
    longest: int | None = None,
    cores: int | None = None,
) -> Iterator[tuple[str, int, str]]:
    """Yield each parameter of a grouped launch that `plan` chose: its name, value and reason.

    `longest` and `cores` are those that `plan` was given.
    """
    if cores is None:
        cores = device_cores()
    lanes = -(-problem.head_dim // how.hd_tile)
    yield "hd_tile", how.hd_tile, f"elements of a head that a lane owns: {lanes} lanes hold a row."
    rereads = how.rereads(problem.group)
    held = how.heads * how.hd_tile
    heads = (
        f"of the {problem.group} query heads of a kv head: a lane holds {held} elements of their "
        f"queries, at most {HELD_ELEMENTS}, so each row of K and V is loaded {_times(rereads)}."
    )
    yield "heads", how.heads, heads
    loaded = 2 * how.tokens * how.hd_tile * problem.dtype.size
    yield "tokens", how.tokens, f"that a lane loads at a time: {loaded} bytes of K and V."
    undivided = _undivided_threadgroups(problem, how)
    launched = undivided * how.partitions
    yield "threadgroup", how.threadgroup, _threads_reason(launched, cores)
    longest = _longest_of(problem, longest)
    yield "partitions", how.partitions, _partitions_reason(undivided, longest, cores)
    dispatches = "no merge is needed."
    if how.partitions > 1:
        dispatches = "the second kernel merges the partitions."
    yield "dispatches", how.dispatches, dispatches


def _times(number: int) -> str:
    if number == 1:
        return "once"
    return f"{number} times"


def _threads_reason(threadgroups: int, cores: int | None) -> str:
    planned_cores = cores or USUAL_CORES
    reason = f"threads: {threadgroups} threadgroups share the {planned_cores} cores"
    if threadgroups <= planned_cores:
        reason = (
            f"threads: each of {threadgroups} threadgroups has one of the {planned_cores} cores to "
            "itself"
        )
    if cores is None:
        reason += ", a usual number; that of this GPU is not known"
    return f"{reason}."


def _partitions_reason(threadgroups: int, longest: int, cores: int | None) -> str:
    return (
        f"of a context of up to {longest:,} tokens, none below {SHORTEST_PARTITION}: sequences and "
        f"kv heads make {threadgroups} threadgroups, divided as long as each has one of the "
        f"{cores or USUAL_CORES} cores to itself."
    )


def _longest_of(problem: DecodeProblem, longest: int | None) -> int:
    if longest is None:
        return problem.max_blocks * problem.block_size
    return longest


def _undivided_threadgroups(problem: DecodeProblem, how: DecodePlan) -> int:
    return problem.batch * problem.kv_heads * how.rereads(problem.group)


def fitting_tiles(head_dim: int) -> list[int]:
    """Return the tiles with which the lanes of a simdgroup hold a row, smallest first."""
    return [tile for tile in HD_TILES if head_dim <= LANES * tile]


def _choose_tile(head_dim: int, hd_tile: int | None) -> int:
    tiles = fitting_tiles(head_dim)
    if hd_tile is None:
        return tiles[0]
    if hd_tile not in HD_TILES:
        raise UsageError(f"There is no HD_TILE of {hd_tile}; there are 4, 8 and 16.")
    if hd_tile not in tiles:
        raise UsageError(
            f"Heads of {head_dim} need an HD_TILE of at least {tiles[0]}; it is {hd_tile}.",
            hint=f"The {LANES} lanes of a simdgroup hold a row.",
        )
    return hd_tile


def _choose_tokens(held: int, row_bytes: int) -> int:
    """Return the rows to load at a time, if a lane holds `held` elements of queries."""
    loaded_bytes = LOADED_BYTES
    if held > HELD_ELEMENTS // 2:
        loaded_bytes = LOADED_BYTES // 2
    return max(1, loaded_bytes // row_bytes)


def _choose_threads(threadgroups: int, cores: int) -> int:
    threadgroups_of_a_core = -(-threadgroups // cores)
    place = min(threadgroups_of_a_core, len(THREADS)) - 1
    return THREADS[place]


def _plan_ungrouped(problem: DecodeProblem, kernel: Kernel, threadgroup: int | None) -> DecodePlan:
    if kernel == "per-head":
        threads = threadgroup or 256
        room = workload.threadgroups.MOST_BYTES - 256
    else:
        threads = threadgroup or 128
        room = 0
    _check_threadgroup(threads, room, problem.head_dim)
    return DecodePlan(kernel, threads)


def heads_at_once(group: int, hd_tile: int) -> int:
    """Return how many of `group` q heads one threadgroup takes: evenly, and as many as fit."""
    most_heads = HELD_ELEMENTS // hd_tile
    return -(-group // -(-group // most_heads))


def partitions_for(threadgroups: int, longest: int, cores: int) -> int:
    """Return how many parts to make of contexts of up to `longest` tokens.

    As many as leave each threadgroup a core to itself, as long as parts keep `SHORTEST_PARTITION`
    tokens. More threadgroups than half of the cores are not divided: they load enough at a time,
    and merging parts takes longer than it saves.
    """
    most_partitions = min(longest // SHORTEST_PARTITION, MOST_PARTITIONS)
    return max(1, min(cores // threadgroups, most_partitions))


def _check_threadgroup(threads: int, room: int, head_dim: int) -> None:
    """Refuse sizes that no Apple GPU can launch; `room` is the limit of bytes for sums."""
    if threads % LANES or not LANES <= threads <= workload.threadgroups.MOST_THREADS:
        raise UsageError(
            f"A threadgroup of {threads} threads cannot be launched.",
            hint="Take a multiple of 32, at most 1024.",
        )
    needed = threads // LANES * head_dim * 4
    if room and needed > room:
        most_threads = room // (head_dim * 4) * LANES
        raise UsageError(
            f"A threadgroup of {threads} threads needs {needed} bytes of threadgroup memory for "
            f"heads of {head_dim}; {room} are there.",
            hint=f"Take at most {most_threads} threads.",
        )
