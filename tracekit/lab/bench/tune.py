"""Which launch of the paged kernel is fastest for a shape: all of them, measured in turns."""

import itertools
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import mlx.core as mx
import msgspec

from tracekit.lab.bench.company import Count, count_now
from tracekit.lab.bench.document import VERSION, BenchRow, SubjectRatio
from tracekit.lab.bench.inputs import Inputs, Launch, Shape, Subject, cache_here
from tracekit.lab.bench.measure import Clock, Effort, measure_in_turns, quicker
from tracekit.lab.bench.subjects.attention import prepare_paged
from tracekit.ops import HD_TILES, LEAST_BUFFER, DecodePlan, DecodeProblem, check_head_dim, plan
from tracekit.record import Progress, quiet
from tracekit.workload import backend

BLOCK_SIZES = (16, 32, 64)
THREADGROUPS = (64, 128, 256, 512)
PARTITIONS = (1, 2, 4, 8)
MEANINGLESS = "threadgroup, HD_TILE and partitions: MLX's own operations have none of them"


@dataclass(frozen=True)
class Candidate:
    """One launch: the size of a page, and what the kernel is given."""

    block_size: int
    choice: Launch = Launch("grouped")  # noqa: RUF009  frozen

    @property
    def name(self) -> str:
        """The candidate in a few words."""
        how, block = self.choice, f"block {self.block_size}"
        if how.threadgroup is None:
            return block
        return f"{block}, TG {how.threadgroup}, HD_TILE {how.hd_tile}, partitions {how.partitions}"


@dataclass(frozen=True)
class Ranked:
    """A candidate with its times, and how it stands to the fastest one.

    `tied` says that the interval of the ratio holds 1: the samples do not tell them apart.
    """

    candidate: Candidate
    row: BenchRow
    behind: SubjectRatio | None
    tied: bool


@dataclass(frozen=True)
class Tuning:
    """What a sweep found: candidates by their median, fastest first, and those that failed.

    `plan_default_launch` is how paged attention launches the shape without options, None without
    Metal; `without_meaning` says which parameters were not swept, and why.
    """

    shape: Shape
    ranked: tuple[Ranked, ...]
    failed: tuple[BenchRow, ...]
    planned: DecodePlan | None
    without_meaning: str = ""
    interrupted: bool = False


def candidates(shape: Shape, device: str) -> list[Candidate]:
    """Return what to sweep: on Metal every combination, elsewhere the size of a page.

    All of them keep the context; a page that does not divide it is left out.
    """
    blocks = [size for size in BLOCK_SIZES if shape.context % size == 0] or [shape.block_size]
    if device != "metal":
        return [Candidate(block) for block in blocks]
    shortest_partition = shape.block_size
    partitions = [
        parts for parts in PARTITIONS if parts == 1 or shape.context // parts >= shortest_partition
    ]
    launches = itertools.product(blocks, THREADGROUPS, HD_TILES, partitions)
    return [
        Candidate(block, Launch("grouped", tile, threads, parts))
        for block, threads, tile, parts in launches
    ]


def tune(
    shape: Shape,
    effort: Effort,
    *,
    chosen_candidates: Sequence[Candidate] | None = None,
    clock: Clock = time.perf_counter_ns,
    progress: Progress = quiet,
    count: Count = count_now,
) -> Tuning:
    """Measure every launch of the paged kernel on one shape, and rank them."""
    device = backend()
    sweep = candidates(shape, device) if chosen_candidates is None else chosen_candidates
    by_name, pools = {candidate.name: candidate for candidate in sweep}, dict[int, Inputs]()
    for size in {candidate.block_size for candidate in sweep}:
        pages = shape.context // size
        sized = replace(shape, block_size=size, active_blocks=pages, max_blocks=None)
        pools[size] = Inputs(sized, cache_here())
    subjects = [
        Subject(
            name,
            "attention",
            "decode",
            "",
            partial(prepare_paged, choice=launch.choice),
            paged=True,
        )
        for name, launch in by_name.items()
    ]
    pairs = [(subject, pools[by_name[subject.name].block_size]) for subject in subjects]
    rows, stopped = measure_in_turns(pairs, effort, clock=clock, progress=progress, count=count)
    return Tuning(
        shape=shape,
        ranked=rank_rows([rows[name] for name in by_name if name in rows], by_name),
        failed=tuple(row for row in rows.values() if row.micro is None),
        planned=plan_default_launch(shape) if device == "metal" else None,
        without_meaning="" if device == "metal" else MEANINGLESS,
        interrupted=stopped,
    )


def rank_rows(rows: Iterable[BenchRow], by_name: Mapping[str, Candidate]) -> tuple[Ranked, ...]:
    """Order rows by their median, fastest first, and compare each with the fastest in pairs."""
    timed = sorted(
        ((row.micro, row) for row in rows if row.micro), key=lambda pair: pair[0].summary.median
    )
    ranking: list[Ranked] = []
    for micro, row in timed:
        behind = quicker(timed[0][0].samples, micro.samples, row.name) if ranking else None
        tied = behind is not None and not (behind.low is not None and behind.low > 1)
        ranking.append(Ranked(by_name[row.name], row, behind, tied))
    return tuple(ranking)


def plan_default_launch(shape: Shape) -> DecodePlan:
    """Return how paged attention launches a shape, unless a caller says otherwise."""
    check_head_dim(shape.head_dim)
    dtype = getattr(mx, shape.dtype)
    # Arrays that are never evaluated take no memory.
    pages = (shape.batch * shape.table, shape.block_size, shape.kv_heads, shape.head_dim)
    problem = DecodeProblem(
        mx.zeros((shape.batch, shape.q_heads, shape.head_dim), dtype),
        mx.zeros(pages, dtype),
        mx.zeros(pages, dtype),
        mx.zeros((shape.batch, shape.table), mx.int32),
        mx.zeros((max(LEAST_BUFFER, shape.batch),), mx.int32),
    )
    return plan(problem, longest=shape.context)


def tuning_document(tuning: Tuning) -> dict[str, Any]:
    """Return a sweep as plain values."""
    document: dict[str, Any] = msgspec.to_builtins(tuning)
    return {"kind": "tuning", "version": VERSION} | document
