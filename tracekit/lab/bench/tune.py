"""Find the fastest launch of the paged kernel for a shape: measure all of them in turns."""

import itertools
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import mlx.core as mx
import msgspec

from tracekit.lab.bench.company import Count, count_now
from tracekit.lab.bench.document import LEAST_ROUNDS, VERSION, BenchRow, SubjectRatio
from tracekit.lab.bench.inputs import Inputs, Launch, Shape, Subject, cache_here
from tracekit.lab.bench.measure import Clock, Effort, measure_in_turns
from tracekit.lab.bench.ratios import quicker
from tracekit.lab.bench.subjects.attention import prepare_paged
from tracekit.machine import Machine
from tracekit.ops import DecodeProblem, check_head_dim, kernels, planning
from tracekit.record import Progress, quiet
from tracekit.workload import backend

BLOCK_SIZES = (16, 32, 64)
THREADGROUPS = (64, 128, 256, 512)
PARTITIONS = (1, 2, 4, 8)
MEANINGLESS = "threadgroup, HD_TILE and partitions: MLX's own operations have none of them"


@dataclass(frozen=True)
class Candidate:
    """One launch: the size of a page, and the parameters of the kernel."""

    block_size: int
    choice: Launch = Launch("grouped")  # noqa: RUF009  frozen

    @property
    def name(self) -> str:
        """The candidate in a few words."""
        how = self.choice
        block = f"block {self.block_size}"
        if how.threadgroup is None:
            return block
        return f"{block}, TG {how.threadgroup}, HD_TILE {how.hd_tile}, partitions {how.partitions}"


@dataclass(frozen=True)
class Ranked:
    """A candidate with its times, and its comparison with the fastest one.

    `tied` is true if the interval of the ratio holds 1: the samples do not distinguish them.
    """

    candidate: Candidate
    row: BenchRow
    behind: SubjectRatio | None
    tied: bool


@dataclass(frozen=True)
class Tuning:
    """The result of a sweep: candidates by their median, fastest first, and those that failed.

    `planned` is the launch of the shape without options, None without Metal; `without_meaning`
    names the parameters that were not swept, and the reason. `remembered` are the fastest launches
    of each page size, which `paged_attention` takes from now on; `forgotten` says why none is.
    """

    shape: Shape
    ranked: tuple[Ranked, ...]
    failed: tuple[BenchRow, ...]
    planned: planning.DecodePlan | None
    without_meaning: str = ""
    interrupted: bool = False
    remembered: tuple[planning.tuned.TunedLaunch, ...] = ()
    forgotten: str = ""


@dataclass(frozen=True)
class TuningDocument(Tuning):
    """The JSON of `tracekit bench tune`."""

    kind: str = "tuning"
    version: int = VERSION


def candidates(shape: Shape, device: str) -> list[Candidate]:
    """Return the launches to sweep: on Metal every combination, elsewhere the size of a page.

    All of them keep the context; a page that does not divide it is left out.
    """
    blocks = [size for size in BLOCK_SIZES if shape.context % size == 0]
    if not blocks:
        blocks.append(shape.block_size)
    if device != "metal":
        return [Candidate(block) for block in blocks]
    shortest_partition = shape.block_size
    partitions = [
        parts for parts in PARTITIONS if parts == 1 or shape.context // parts >= shortest_partition
    ]
    tiles = planning.fitting_tiles(shape.head_dim)
    launches = itertools.product(blocks, THREADGROUPS, tiles, partitions)
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
    machine: Machine | None = None,
) -> Tuning:
    """Measure every launch of the paged kernel on one shape, and rank them.

    Raise ToolError on a virtual machine, whose fastest launch is not that of a chip.
    """
    (machine or Machine()).require_chip("A sweep of launches")
    device = backend()
    if chosen_candidates is None:
        chosen_candidates = candidates(shape, device)
    by_name = {candidate.name: candidate for candidate in chosen_candidates}
    pools = _make_pools(shape, chosen_candidates)
    subjects: list[tuple[Subject, Inputs]] = []
    for name, candidate in by_name.items():
        prepare = partial(prepare_paged, choice=candidate.choice)
        subject = Subject(name, "attention", "decode", "", prepare, paged=True)
        subjects.append((subject, pools[candidate.block_size]))
    rows, stopped = measure_in_turns(subjects, effort, clock=clock, progress=progress, count=count)
    planned = None
    without_meaning = MEANINGLESS
    if device == "metal":
        planned = planning.plan(_sized_problem(shape), longest=shape.context)
        without_meaning = ""
    measured_rows = [rows[name] for name in by_name if name in rows]
    failed = tuple(row for row in rows.values() if row.micro is None)
    tuning = Tuning(
        shape=shape,
        ranked=rank_rows(measured_rows, by_name),
        failed=failed,
        planned=planned,
        without_meaning=without_meaning,
        interrupted=stopped,
    )
    return remember_tuning(tuning)


def remember_tuning(tuning: Tuning) -> Tuning:
    """Keep the fastest launch of each page size, if the measurement counts; return it with these.

    It counts if it was not interrupted, no other process disturbed it, and each of its launches
    has as many samples as an interval takes.
    """
    reason = _doubt_tuning(tuning)
    if reason:
        return replace(tuning, forgotten=reason)
    launches: dict[int, planning.tuned.TunedLaunch] = {}
    for entry in tuning.ranked:
        block_size = entry.candidate.block_size
        if block_size in launches:
            continue
        pages = tuning.shape.context // block_size
        shape = replace(tuning.shape, block_size=block_size, active_blocks=pages, max_blocks=None)
        choice = entry.candidate.choice
        key = planning.tuned.key_of(_sized_problem(shape), shape.context)
        launches[block_size] = planning.tuned.TunedLaunch(
            key, choice.hd_tile, choice.threadgroup, choice.partitions
        )
    remembered_launches = tuple(launches.values())
    planning.tuned.remember_launches(remembered_launches)
    return replace(tuning, remembered=remembered_launches)


def _doubt_tuning(tuning: Tuning) -> str:
    """Return why a measurement is not kept; nothing if it is."""
    if tuning.interrupted:
        return "it was interrupted"
    if not tuning.ranked:
        return "no launch was measured"
    for entry in tuning.ranked:
        if entry.row.disturbed:
            return f"{entry.row.disturbed} meanwhile"
        timing = entry.row.micro
        if timing is None or timing.summary.count < LEAST_ROUNDS:
            return f"a launch has fewer than {LEAST_ROUNDS} samples"
    return ""


def _make_pools(shape: Shape, sweep: Sequence[Candidate]) -> dict[int, Inputs]:
    """Return inputs by the size of a page."""
    pools: dict[int, Inputs] = {}
    for size in {candidate.block_size for candidate in sweep}:
        pages = shape.context // size
        sized = replace(shape, block_size=size, active_blocks=pages, max_blocks=None)
        pools[size] = Inputs(sized, cache_here())
    return pools


def rank_rows(rows: Iterable[BenchRow], by_name: Mapping[str, Candidate]) -> tuple[Ranked, ...]:
    """Order rows by their median, fastest first, and compare each with the fastest in pairs."""
    timed_rows = [(row.micro, row) for row in rows if row.micro]
    timed_rows.sort(key=lambda timed_row: timed_row[0].summary.median)
    ranking: list[Ranked] = []
    for micro, row in timed_rows:
        behind = None
        tied = False
        if ranking:
            fastest, _ = timed_rows[0]
            behind = quicker(fastest.samples, micro.samples, row.name)
            tied = behind.low is None or not behind.low > 1
        entry = Ranked(by_name[row.name], row, behind, tied)
        ranking.append(entry)
    return tuple(ranking)


def explain_default_launch(shape: Shape, cores: int | None = None) -> list[tuple[str, int, str]]:
    """Return the launch that paged attention chooses for a shape: names, values and reasons.

    `cores` are those of the GPU; None asks this machine.
    """
    problem = _sized_problem(shape)
    default_plan = planning.plan(problem, longest=shape.context, cores=cores)
    return list(planning.explain_plan(problem, default_plan, longest=shape.context, cores=cores))


def _sized_problem(shape: Shape) -> DecodeProblem:
    """Return a problem of a shape whose arrays are never evaluated, so that they take no memory."""
    check_head_dim(shape.head_dim)
    dtype = getattr(mx, shape.dtype)
    pages = (shape.batch * shape.table, shape.block_size, shape.kv_heads, shape.head_dim)
    queries = mx.zeros((shape.batch, shape.q_heads, shape.head_dim), dtype)
    keys = mx.zeros(pages, dtype)
    block_tables = mx.zeros((shape.batch, shape.table), mx.int32)
    context_lens = mx.zeros((max(kernels.LEAST_BUFFER, shape.batch),), mx.int32)
    return DecodeProblem(queries, keys, keys, block_tables, context_lens)


def tuning_document(tuning: Tuning) -> dict[str, Any]:
    """Return a sweep as plain values."""
    fields = {name: getattr(tuning, name) for name in Tuning.__dataclass_fields__}
    document: dict[str, Any] = msgspec.to_builtins(TuningDocument(**fields))
    return document
