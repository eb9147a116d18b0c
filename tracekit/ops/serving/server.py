"""Run the server harness as a step: a virtual model, rehearsed, then the schedule."""

import itertools
from collections.abc import Iterator
from collections.abc import Sequence as Several
from dataclasses import dataclass
from math import prod
from statistics import median
from typing import Literal

import mlx.core as mx
import numpy as np

from tracekit.base import UsageError, tolerances
from tracekit.ops.attention.dense import padding_mask, sdpa
from tracekit.ops.attention.paged import append, append_run, attend, attend_gathered
from tracekit.ops.attention.problem import DecodeProblem, check_heads, dense_reference
from tracekit.ops.cache.caches import BlockPool
from tracekit.ops.kernels import LEAST_BUFFER, noting_launches, require_memory, specializations
from tracekit.ops.serving.engine import (
    Batching,
    Chunk,
    Engine,
    Order,
    RunningSequence,
    Scheduler,
    TickPlan,
    WorkloadClock,
)
from tracekit.ops.serving.load import ScheduledRequest, ServerLoad, draw_schedule
from tracekit.workload import Measured, Step, backend

Attention = Literal["paged", "gather-sdpa", "sdpa"]

ROWS = 1021
"""Rows that contents are taken from: token t of a request is row (content + t) % ROWS."""

_HINT = "Take fewer or smaller blocks, fewer layers or fewer heads."


@dataclass(frozen=True)
class ModelShape:
    """The sizes of a model and its cache.

    Each of `layers` has its own pages. `slots` are the sequences that decode at a time, `chunk` the
    tokens of a prompt that are taken at a time, `longest` the limit of tokens for a sequence.
    """

    q_heads: int
    kv_heads: int
    head_dim: int
    layers: int
    blocks: int
    block_size: int
    slots: int
    chunk: int
    longest: int
    dtype: mx.Dtype

    @property
    def max_blocks(self) -> int:
        """Entries of a sequence in the table."""
        return -(-self.longest // self.block_size)

    @property
    def scale(self) -> float:
        """Factor of the scores."""
        return self.head_dim**-0.5


class PagedModel:
    """Attention over pages, layer after layer: the output of a layer is the query of the next.

    The pool has one block more than requests can get: idle rows of the batch write there, so that
    every decode step has one and the same shape. Chunks are padded to one shape as well.
    Keys and values are written before anything reads them, so that MLX writes in place.
    """

    def __init__(self, shape: ModelShape, seed: int) -> None:
        check_heads(shape.q_heads, shape.kv_heads)
        self.shape = shape
        self.backend = backend()
        row = (shape.kv_heads, shape.head_dim)
        q_row = (shape.q_heads, shape.head_dim)
        pages = (*self._cache_sizes(shape), *row)
        pool_bytes = 2 * shape.layers * prod(pages) * shape.dtype.size
        require_memory(pool_bytes, "The cache of keys and values", _HINT)
        key = mx.random.key(seed)
        q_seed, k_seed, v_seed = mx.random.split(key, 3)
        self.queries = mx.random.normal((ROWS, *q_row), dtype=shape.dtype, key=q_seed)
        self.keys = mx.random.normal((ROWS, *row), dtype=shape.dtype, key=k_seed)
        self.values = mx.random.normal((ROWS, *row), dtype=shape.dtype, key=v_seed)
        self._k_pages = [mx.zeros(pages, shape.dtype) for _ in range(shape.layers)]
        self._v_pages = [mx.zeros(pages, shape.dtype) for _ in range(shape.layers)]
        mx.eval(self.queries, self.keys, self.values, self._k_pages, self._v_pages)

    @staticmethod
    def _cache_sizes(shape: ModelShape) -> tuple[int, int]:
        """Return the number of pages, one of them for idle rows, and the tokens of each."""
        return shape.blocks + 1, shape.block_size

    def write_prompt(self, chunk: Chunk) -> None:
        """Append the keys and values of a piece of a prompt to its pages."""
        rows = self._rows(chunk.sequence, chunk.first_token, chunk.count)
        block_numbers = np.array(chunk.sequence.blocks, np.int32)
        table = mx.array(block_numbers)
        pools = ((self._k_pages, self.keys), (self._v_pages, self.values))
        for pages, drawn in pools:
            run = drawn[rows]
            for layer, pool in enumerate(pages):
                pages[layer] = append_run(pool, run, table, chunk.first_token)

    def write_tokens(self, decoding: Several[RunningSequence]) -> None:
        """Append the key and value of the newest token of each sequence to its pages."""
        tables = self._tables(decoding)
        lens = self._lens(decoding)
        positions = mx.maximum(lens[: self.shape.slots] - 1, 0)
        rows = self._newest(decoding)
        pools = ((self._k_pages, self.keys), (self._v_pages, self.values))
        for pages, drawn in pools:
            newest = drawn[rows]
            for layer, pool in enumerate(pages):
                pages[layer] = append(pool, newest, tables, positions)

    def attend_prompt(self, chunk: Chunk) -> mx.array:
        """Attend from a piece of a prompt to all of the prompt up to it, and hand the output over.

        It is `[1, q_heads, chunk, head_dim]`, of which the first `count` rows are meaningful.
        """
        shape = self.shape
        chunk_rows = self._rows(chunk.sequence, chunk.first_token, shape.chunk)
        output = self.queries[chunk_rows]
        output = output.swapaxes(0, 1)[None]
        end = chunk.first_token + shape.chunk
        needed_blocks = -(-end // shape.block_size)
        width = min(needed_blocks, shape.max_blocks) * shape.block_size
        ages = mx.arange(chunk.first_token, end)[:, None]
        positions = mx.arange(width)[None]
        mask = positions <= ages
        for k_pages, v_pages in zip(self._k_pages, self._v_pages, strict=True):
            keys = self._gather_prompt(k_pages, chunk, width)
            values = self._gather_prompt(v_pages, chunk, width)
            output = sdpa(output, keys, values, scale=shape.scale, mask=mask)
        return self._handed_over(output)

    def _gather_prompt(self, pages: mx.array, chunk: Chunk, width: int) -> mx.array:
        """Return the first `width` tokens of a sequence as `[1, kv_heads, width, head_dim]`."""
        table = np.full(width // self.shape.block_size, self.shape.blocks, np.int32)
        sequence_blocks = chunk.sequence.blocks[: len(table)]
        table[: len(sequence_blocks)] = sequence_blocks
        table_pages = pages[mx.array(table)]
        rows = table_pages.reshape(-1, self.shape.kv_heads, self.shape.head_dim)
        return rows.swapaxes(0, 1)[None]

    def attend_tokens(self, decoding: Several[RunningSequence]) -> mx.array:
        """Attend from the newest token of each sequence to its context, and hand the output over.

        It is `[slots, q_heads, head_dim]`; rows of slots that do not decode are zeros.
        """
        tables = self._tables(decoding)
        lens = self._lens(decoding)
        context_limit = None
        # On Metal the shape of a launch must not follow the contexts.
        if self.backend != "metal":
            context_limit = max((sequence.context for sequence in decoding), default=0)
        output = self.queries[self._newest(decoding)]
        for k_pages, v_pages in zip(self._k_pages, self._v_pages, strict=True):
            problem = DecodeProblem(output, k_pages, v_pages, tables, lens)
            output = self._attend(problem, context_limit)
        return self._handed_over(output)

    def _attend(self, problem: DecodeProblem, context_limit: int | None) -> mx.array:
        return attend(problem, scale=self.shape.scale, longest=context_limit)

    def wait(self, handed_over: mx.array) -> None:
        """Block until an output that was handed over is complete."""
        mx.eval(handed_over)

    def error(self, sequence: RunningSequence, context: int, output: mx.array) -> float:
        """Return the relative error of the output for the newest of `context` tokens."""
        rows = self._rows(sequence, 0, context)
        keys = tolerances.as_float64(self.keys[rows]).swapaxes(0, 1)
        values = tolerances.as_float64(self.values[rows]).swapaxes(0, 1)
        last_query = tolerances.as_float64(self.queries[rows[-1:]])
        expected = last_query.swapaxes(0, 1)
        visible_keys = np.ones((1, context), np.bool_)
        for _ in range(self.shape.layers):
            expected = dense_reference(expected, keys, values, visible_keys, scale=self.shape.scale)
        return tolerances.relative_error(
            tolerances.as_float64(output[None]), expected.swapaxes(0, 1)
        )

    def _handed_over(self, output: mx.array) -> mx.array:
        # MLX's CPU backend blocks a caller that hands over more than a few operations until most
        # are done: the work would begin, and be seen, before the step reports the handover.
        if self.backend != "cpu":
            mx.async_eval(output)
        return output

    def _rows(self, sequence: RunningSequence, first_token: int, count: int) -> mx.array:
        """Return the rows of the drawn contents for some tokens of a request."""
        start = sequence.job.content % ROWS + first_token
        return mx.arange(start, start + count) % ROWS

    def _newest(self, decoding: Several[RunningSequence]) -> mx.array:
        rows = np.zeros(self.shape.slots, np.int32)
        for sequence in decoding:
            position = sequence.job.content + sequence.context - 1
            rows[sequence.slot] = position % ROWS
        return mx.array(rows)

    def _tables(self, decoding: Several[RunningSequence]) -> mx.array:
        tables = np.full((self.shape.slots, self.shape.max_blocks), self.shape.blocks, np.int32)
        for sequence in decoding:
            tables[sequence.slot, : len(sequence.blocks)] = sequence.blocks
        return mx.array(tables)

    def _lens(self, decoding: Several[RunningSequence]) -> mx.array:
        lens = np.zeros(max(self.shape.slots, LEAST_BUFFER), np.int32)
        for sequence in decoding:
            lens[sequence.slot] = sequence.context
        return mx.array(lens)


class GatheringModel(PagedModel):
    """The same pages, copied into one piece for MLX's own attention at each decode step."""

    def _attend(self, problem: DecodeProblem, context_limit: int | None) -> mx.array:
        return attend_gathered(problem, scale=self.shape.scale, longest=context_limit)


class ContiguousModel(PagedModel):
    """A cache in one piece for each slot, as long as the longest sequence, and MLX's own attention.

    Blocks are still given out, so that the schedule is that of the other models; the pages of this
    one are the slots' rows, and one more for the rehearsal of prompts.
    """

    @staticmethod
    def _cache_sizes(shape: ModelShape) -> tuple[int, int]:
        return shape.slots + 1, shape.max_blocks * shape.block_size

    def write_prompt(self, chunk: Chunk) -> None:
        """Append the keys and values of a piece of a prompt to its row."""
        drawn_rows = self._rows(chunk.sequence, chunk.first_token, chunk.count)
        end = chunk.first_token + chunk.count
        pools = ((self._k_pages, self.keys), (self._v_pages, self.values))
        for caches, drawn in pools:
            run = drawn[drawn_rows]
            for cache in caches:
                cache[chunk.sequence.slot, chunk.first_token : end] = run

    def write_tokens(self, decoding: Several[RunningSequence]) -> None:
        """Append the key and value of the newest token of each sequence to its row."""
        slots = mx.arange(self.shape.slots)
        lens = self._lens(decoding)[: self.shape.slots]
        decodes = lens > 0
        # a slot that does not decode writes to the row of the rehearsal
        written_rows = mx.where(decodes, slots, self.shape.slots)
        positions = mx.maximum(lens - 1, 0)
        newest_rows = self._newest(decoding)
        pools = ((self._k_pages, self.keys), (self._v_pages, self.values))
        for caches, drawn in pools:
            newest = drawn[newest_rows]
            for cache in caches:
                cache[written_rows, positions] = newest

    def attend_tokens(self, decoding: Several[RunningSequence]) -> mx.array:
        """Attend from the newest token of each sequence to its context, and hand the output over.

        It is `[slots, q_heads, head_dim]`; rows of slots that do not decode are zeros.
        """
        shape = self.shape
        lens = self._lens(decoding)[: shape.slots]
        width = shape.max_blocks * shape.block_size
        if self.backend != "metal":
            width = max((sequence.context for sequence in decoding), default=1)
        mask = padding_mask(lens, width)
        output = self.queries[self._newest(decoding)]
        for k_cache, v_cache in zip(self._k_pages, self._v_pages, strict=True):
            keys = k_cache[: shape.slots, :width].swapaxes(1, 2)
            values = v_cache[: shape.slots, :width].swapaxes(1, 2)
            attended = sdpa(output[:, :, None], keys, values, scale=shape.scale, mask=mask)
            output = mx.where((lens > 0)[:, None, None], attended[:, :, 0], 0)
        return self._handed_over(output)

    def _gather_prompt(self, pages: mx.array, chunk: Chunk, width: int) -> mx.array:
        return pages[chunk.sequence.slot, :width].swapaxes(0, 1)[None]


_MODELS: dict[Attention, type[PagedModel]] = {
    "paged": PagedModel,
    "gather-sdpa": GatheringModel,
    "sdpa": ContiguousModel,
}
_DECODED = 3


def rehearse(model: PagedModel) -> Iterator[TickPlan]:
    """Yield work of every shape in an endless cycle; it touches no block of a request.

    The decode step has as many sequences as there are slots, each half as long as the limit.
    """
    shape = model.shape
    half = max(1, shape.longest // 2)
    nowhere = [shape.blocks] * shape.max_blocks
    prompt = RunningSequence(ScheduledRequest(0, 0, shape.longest, 1), 0, blocks=nowhere)
    batch: list[RunningSequence] = []
    for slot in range(shape.slots):
        job = ScheduledRequest(0, 0, half, 1)
        batch.append(RunningSequence(job, 0, slot, nowhere))
    starts = range(0, shape.longest, shape.chunk)
    for first_token in itertools.cycle(starts):
        count = min(shape.chunk, shape.longest - first_token)
        yield TickPlan(Chunk(prompt, first_token, count), batch)


def measure(model: PagedModel, clock: WorkloadClock, *, rounds: int = 3) -> tuple[float, float]:
    """Run every shape once to compile it, and then a few of them to measure their cost.

    Return the ns of a decode step of a full batch, and of a piece of a prompt.
    """
    shapes = -(-model.shape.longest // model.shape.chunk)
    chunks: list[int] = []
    decodes: list[int] = []
    for plan in itertools.islice(rehearse(model), shapes + rounds):
        assert plan.chunk is not None
        begin = clock.now()
        model.write_prompt(plan.chunk)
        model.wait(model.attend_prompt(plan.chunk))
        middle = clock.now()
        model.write_tokens(plan.decoding)
        model.wait(model.attend_tokens(plan.decoding))
        end = clock.now()
        chunks.append(middle - begin)
        decodes.append(end - middle)
    decode_cost = median(decodes[shapes:])
    chunk_cost = median(chunks[shapes:])
    return decode_cost, chunk_cost


def verify(model: PagedModel) -> float:
    """Serve a few sequences; return the largest relative error against a float64 reference.

    The reference takes keys and values from the drawn contents, not from the pages: so pages,
    tables and appends are checked with the attention.
    """
    worst = 0.0
    for sample in _samples(model):
        worst = max(worst, _verify_prompt(model, sample))
        for number in range(sample.job.output_tokens - 1):
            sample.tokens.append(number)
            model.write_tokens([sample])
            decoded = model.attend_tokens([sample])[sample.slot]
            error = model.error(sample, sample.context, decoded)
            worst = max(worst, error)
    return tolerances.require_accuracy(worst, model.shape.dtype, "Attention")


def _verify_prompt(model: PagedModel, sample: RunningSequence) -> float:
    """Take the prompt of a sequence piece by piece; return the error of its last token."""
    prompt = sample.job.prompt_tokens
    output = model.queries
    count = 0
    for first_token in range(0, prompt, model.shape.chunk):
        count = min(model.shape.chunk, prompt - first_token)
        chunk = Chunk(sample, first_token, count)
        model.write_prompt(chunk)
        output = model.attend_prompt(chunk)
    last_output = output[0, :, count - 1]
    return model.error(sample, prompt, last_output)


def _samples(model: PagedModel) -> Iterator[RunningSequence]:
    """Yield sequences in shuffled blocks: a longest one, one of odd length, a shortest one."""
    shape = model.shape
    pool_tokens = shape.blocks * shape.block_size
    most_tokens = min(shape.longest, pool_tokens)
    numbers = np.random.default_rng(0).permutation(shape.blocks)
    blocks = numbers.tolist()
    for slot, tokens in enumerate((most_tokens, max(2, most_tokens // 2 - 1), 2)):
        output = min(1 + _DECODED, tokens - 1)
        job = ScheduledRequest(slot, 0, tokens - output, output, content=ROWS_APART * slot)
        held_blocks = blocks[: job.blocks(shape.block_size)]
        yield RunningSequence(job, 0, slot % shape.slots, held_blocks)


ROWS_APART = 331  # between the contents of two samples


MILLISECOND = 1_000_000


@dataclass(frozen=True)
class LatencyLimits:
    """Limits for a run, in milliseconds; None means no limit.

    `ttft` is the longest time to the first token, `tpot` that for each token after it; a tick above
    `tick` is a spike.
    """

    ttft: float | None = None
    tpot: float | None = None
    tick: float = 200.0


def serving_step(
    load: ServerLoad,
    shape: ModelShape,
    limits: LatencyLimits,
    attention: Attention = "paged",
    *,
    order: Order = "fifo",
    batching: Batching = "continuous",
) -> Step:
    """Make the step of a server that serves a load; measure its cost and check its results.

    `attention` is paged, or MLX's own over pages that each step gathers ("gather-sdpa") or over a
    cache in one piece ("sdpa"); the schedule of arrivals is the same.
    """
    jobs = draw_schedule(load)
    clock = WorkloadClock()
    fewest = min(job.blocks(shape.block_size) for job in jobs)
    if fewest > shape.blocks:
        raise UsageError(
            f"The pool of {shape.blocks} blocks holds no request: the smallest takes {fewest}.",
            hint="Give more --blocks, or shorter prompts and outputs.",
        )
    model = _MODELS[attention](shape, load.seed)
    error = verify(model)
    cost = measure(model, clock)
    scheduler = Scheduler(
        slots=shape.slots,
        blocks=BlockPool(shape.blocks),
        block_size=shape.block_size,
        prefill_chunk=shape.chunk,
        order=order,
        batching=batching,
    )
    levels = _levels(shape, limits)
    rehearsal = rehearse(model)
    engine = Engine(jobs, scheduler, model, clock, levels, rehearsal=rehearsal)
    results: dict[str, float | Measured] = {"max_error": error}
    results.update(_describe_load(jobs, cost, shape))
    return Step(
        submit=engine.submit,
        wait=engine.wait,
        backend=model.backend,
        specializations=specializations,
        noting_launches=noting_launches,
        results=results,
        tell=engine.tell,
        begin=engine.begin,
        exhausted=engine.is_exhausted,
        finish=engine.finish,
        leave=engine.leave,
    )


def _levels(shape: ModelShape, limits: LatencyLimits) -> dict[tuple[str, str], float]:
    levels = {
        ("limit_active_sequences", "count"): float(shape.slots),
        ("limit_blocks", "count"): float(shape.blocks),
        ("limit_tick", "ns"): limits.tick * MILLISECOND,
    }
    for name, value in (("limit_ttft", limits.ttft), ("limit_tpot", limits.tpot)):
        if value is not None:
            levels[name, "ns"] = value * MILLISECOND
    return levels


def offered_load(
    jobs: tuple[ScheduledRequest, ...], cost: tuple[float, float], shape: ModelShape
) -> float:
    """Return the share of the time that the jobs need if decode steps are always full.

    More than 1 means that the queue grows without end. `cost` is the result of `measure`.
    """
    decode_cost, chunk_cost = cost
    chunk_counts = [-(-job.prompt_tokens // shape.chunk) for job in jobs]
    chunks = sum(chunk_counts)
    tokens = sum(job.output_tokens - 1 for job in jobs)
    decodes = tokens / shape.slots
    work_time = chunks * chunk_cost + decodes * decode_cost
    return work_time / jobs[-1].arrival


def _describe_load(
    jobs: tuple[ScheduledRequest, ...], cost: tuple[float, float], shape: ModelShape
) -> dict[str, float | Measured]:
    seconds = jobs[-1].arrival / 1e9
    tokens = sum(job.output_tokens for job in jobs)
    load = offered_load(jobs, cost, shape)
    length = float(jobs[-1].arrival)
    return {
        "scheduled_requests": Measured(len(jobs), "count"),
        "schedule_length": Measured(length, "ns"),
        "scheduled_request_rate": Measured(len(jobs) / seconds, "requests/s"),
        "scheduled_token_rate": Measured(tokens / seconds, "tokens/s"),
        "offered_load": Measured(load, "ratio"),
        "rehearsed_decode": Measured(cost[0], "ns", "lower"),
        "rehearsed_prefill_chunk": Measured(cost[1], "ns", "lower"),
    }
