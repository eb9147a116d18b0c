"""A virtual model: its attention alone, over pages, with contents drawn at random."""

from collections.abc import Sequence as Several
from dataclasses import dataclass
from math import prod

import mlx.core as mx
import numpy as np

from tracekit.ops.attention.append import append, append_run
from tracekit.ops.attention.dense import sdpa
from tracekit.ops.attention.paged import attend
from tracekit.ops.attention.problem import Problem, check_heads
from tracekit.ops.custom_kernel import LEAST_BUFFER
from tracekit.ops.memory import require_memory
from tracekit.ops.serving.scheduler import Chunk, RunningSequence
from tracekit.workload.calls import backend

ROWS = 1021
"""Rows that contents are taken from: token t of a request is row (content + t) % ROWS."""

_HINT = "Take fewer or smaller blocks, fewer layers or fewer heads."


@dataclass(frozen=True)
class Shape:
    """The sizes of a model and its cache.

    Attributes:
        q_heads: Query heads.
        kv_heads: Heads of K and V.
        head_dim: Elements of a head.
        layers: How often a token attends; each layer has pages of its own.
        blocks: Blocks of the pool.
        block_size: Tokens of a block.
        slots: Sequences that decode at a time.
        chunk: Tokens of a prompt that are taken at a time.
        longest: Tokens that no sequence exceeds.
        dtype: Type of the elements.
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
        """Entries that a sequence has in the table."""
        return -(-self.longest // self.block_size)

    @property
    def scale(self) -> float:
        """Factor of the scores."""
        return self.head_dim**-0.5


class Model:
    """Attention over pages, layer after layer: what a layer gives is the next one's query.

    The pool has one block more than is given out: idle rows of the batch write there, so that
    every decode step has one and the same shape. Chunks are padded to one shape as well.
    Keys and values are written before anything reads them, so that MLX writes in place.

    Raises:
        UsageError: The heads do not fit together, or the pool is larger than the memory.
    """

    def __init__(self, shape: Shape, seed: int) -> None:
        check_heads(shape.q_heads, shape.kv_heads)
        self.shape = shape
        self.backend = backend()
        row = (shape.kv_heads, shape.head_dim)
        pages = (shape.blocks + 1, shape.block_size, *row)
        require_memory(2 * shape.layers * prod(pages) * shape.dtype.size, "The pool", _HINT)
        keys = mx.random.split(mx.random.key(seed), 3)
        q_row = (shape.q_heads, shape.head_dim)
        self.queries = mx.random.normal((ROWS, *q_row), dtype=shape.dtype, key=keys[0])
        self.keys = mx.random.normal((ROWS, *row), dtype=shape.dtype, key=keys[1])
        self.values = mx.random.normal((ROWS, *row), dtype=shape.dtype, key=keys[2])
        self._k_pages = [mx.zeros(pages, shape.dtype) for _ in range(shape.layers)]
        self._v_pages = [mx.zeros(pages, shape.dtype) for _ in range(shape.layers)]
        mx.eval(self.queries, self.keys, self.values, self._k_pages, self._v_pages)

    def write_prompt(self, chunk: Chunk) -> None:
        """Append the keys and values of a piece of a prompt to its pages."""
        rows = self._rows(chunk.sequence, chunk.first, chunk.count)
        table = mx.array(np.array(chunk.sequence.blocks, np.int32))
        for pages, drawn in ((self._k_pages, self.keys), (self._v_pages, self.values)):
            run = drawn[rows]
            for layer, one in enumerate(pages):
                pages[layer] = append_run(one, run, table, chunk.first)

    def write_tokens(self, decoding: Several[RunningSequence]) -> None:
        """Append the key and value of the newest token of each sequence to its pages."""
        tables, lens = self._tables(decoding), self._lens(decoding)
        positions = mx.maximum(lens[: self.shape.slots] - 1, 0)
        rows = self._newest(decoding)
        for pages, drawn in ((self._k_pages, self.keys), (self._v_pages, self.values)):
            newest = drawn[rows]
            for layer, one in enumerate(pages):
                pages[layer] = append(one, newest, tables, positions)

    def attend_prompt(self, chunk: Chunk) -> mx.array:
        """Attend from a piece of a prompt to all of the prompt up to it, and hand that over.

        Returns:
            `[1, q_heads, chunk, head_dim]`, of which the first `count` rows mean something.
        """
        shape = self.shape
        out = self.queries[self._rows(chunk.sequence, chunk.first, shape.chunk)]
        out = out.swapaxes(0, 1)[None]
        width = min(-(-(chunk.first + shape.chunk) // shape.block_size), shape.max_blocks)
        table = np.full(width, shape.blocks, np.int32)
        known = chunk.sequence.blocks[:width]
        table[: len(known)] = known
        ages = mx.arange(chunk.first, chunk.first + shape.chunk)[:, None]
        mask = mx.arange(width * shape.block_size)[None] <= ages
        for layer in range(shape.layers):
            keys, values = (
                pages[layer][mx.array(table)].reshape(-1, shape.kv_heads, shape.head_dim)
                for pages in (self._k_pages, self._v_pages)
            )
            keys, values = keys.swapaxes(0, 1)[None], values.swapaxes(0, 1)[None]
            out = sdpa(out, keys, values, scale=shape.scale, mask=mask)
        return self._handed_over(out)

    def attend_tokens(self, decoding: Several[RunningSequence]) -> mx.array:
        """Attend from the newest token of each sequence to its context, and hand that over.

        Returns:
            `[slots, q_heads, head_dim]`; rows of slots that do not decode are zeros.
        """
        tables, lens = self._tables(decoding), self._lens(decoding)
        longest = max((one.context for one in decoding), default=0)
        out = self.queries[self._newest(decoding)]
        for k_pages, v_pages in zip(self._k_pages, self._v_pages, strict=True):
            problem = Problem(out, k_pages, v_pages, tables, lens)
            # On Metal the shape of a launch must not follow the contexts.
            known = None if self.backend == "metal" else longest
            out = attend(problem, scale=self.shape.scale, longest=known)
        return self._handed_over(out)

    def wait(self, handed_over: mx.array) -> None:
        """Block until what was handed over is complete."""
        mx.eval(handed_over)

    def _handed_over(self, out: mx.array) -> mx.array:
        # MLX's CPU backend holds up whoever hands over more than a few operations until most are
        # done: the work would begin, and be seen, before the step says that it was handed over.
        if self.backend != "cpu":
            mx.async_eval(out)
        return out

    def content_rows(self, content: int, tokens: int) -> np.ndarray:
        """Return which rows of the drawn contents the first tokens of a request are."""
        return (content % ROWS + np.arange(tokens)) % ROWS

    def _rows(self, sequence: RunningSequence, first: int, count: int) -> mx.array:
        start = sequence.job.content % ROWS + first
        return mx.arange(start, start + count) % ROWS

    def _newest(self, decoding: Several[RunningSequence]) -> mx.array:
        rows = np.zeros(self.shape.slots, np.int32)
        for one in decoding:
            rows[one.slot] = (one.job.content + one.context - 1) % ROWS
        return mx.array(rows)

    def _tables(self, decoding: Several[RunningSequence]) -> mx.array:
        tables = np.full((self.shape.slots, self.shape.max_blocks), self.shape.blocks, np.int32)
        for one in decoding:
            tables[one.slot, : len(one.blocks)] = one.blocks
        return mx.array(tables)

    def _lens(self, decoding: Several[RunningSequence]) -> mx.array:
        lens = np.zeros(max(self.shape.slots, LEAST_BUFFER), np.int32)
        for one in decoding:
            lens[one.slot] = one.context
        return mx.array(lens)
