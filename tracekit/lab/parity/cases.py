"""The grid: shapes, types and lengths that are likely to break a kernel, the same every time."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

import mlx.core as mx

from tracekit.base.dtypes import DTYPES
from tracekit.base.errors import require
from tracekit.ops.attention.pool import draw_problem
from tracekit.ops.attention.prewarm import BLOCK_SIZES
from tracekit.ops.attention.problem import HEAD_DIMS, Problem
from tracekit.ops.attention.traps import nan_past_ends

Lengths = Literal["ragged", "one", "full", "edges", "empty", "seven", "eight", "long"]


class Heads(NamedTuple):
    """Query heads, and heads of K and V."""

    q: int
    kv: int


SHARED = Heads(8, 2)
OTHER_HEADS = (Heads(4, 4), Heads(8, 4), Heads(8, 1), Heads(6, 2), Heads(16, 2))
OTHER_LENGTHS: tuple[Lengths, ...] = ("one", "full", "edges", "empty", "seven", "eight", "long")
_BLOCKS = 4  # that a sequence has
_LONG_BLOCKS = 48


@dataclass(frozen=True)
class Case:
    """One decode call of the grid.

    Attributes:
        dtype: Type of the elements.
        head_dim: Elements of a head.
        block_size: Tokens of a page.
        heads: Query heads, and heads of K and V.
        lengths: "ragged" lengths, "one" token, a "full" table, the "edges" of pages, an "empty"
            sequence among others, batches of "seven" and "eight" (which MLX binds differently),
            and contexts that are "long" enough for several partitions.
        quick: Whether it is of the short grid.
    """

    dtype: str
    head_dim: int
    block_size: int
    heads: Heads = SHARED
    lengths: Lengths = "ragged"
    quick: bool = False

    @property
    def name(self) -> str:
        """What `--case` takes."""
        heads = f"q{self.heads.q}-kv{self.heads.kv}"
        return f"{self.dtype}-d{self.head_dim}-b{self.block_size}-{heads}-{self.lengths}"

    @property
    def max_blocks(self) -> int:
        """Pages that each sequence has."""
        return _LONG_BLOCKS if self.lengths == "long" else _BLOCKS

    @cached_property
    def lens(self) -> list[int]:
        """Tokens of each sequence."""
        page, table = self.block_size, self.max_blocks * self.block_size
        lengths: dict[str, list[int]] = {
            "ragged": [1, page + 3, 2 * page - 1, table],
            "one": [1],
            "full": [table, table],
            "edges": [page - 1, page, page + 1],
            "empty": [page, 0, 5],
            "seven": [page + number for number in range(7)],
            "eight": [page + number for number in range(8)],
            "long": [table - 5, 17],
        }
        return lengths[self.lengths]

    def problem(self, seed: int) -> Problem:
        """Draw the call; whatever is past the end of a sequence is not a number."""
        drawn = draw_problem(
            self.lens,
            q_heads=self.heads.q,
            kv_heads=self.heads.kv,
            head_dim=self.head_dim,
            block_size=self.block_size,
            max_blocks=self.max_blocks,
            dtype=getattr(mx, self.dtype),
            seed=seed,
        )
        return nan_past_ends(drawn)


def _grid() -> tuple[Case, ...]:
    quick = {(64, 16), (128, 32)}
    shapes = [(size, page) for size in HEAD_DIMS for page in BLOCK_SIZES]
    cases: list[Case] = []
    for dtype in DTYPES:
        cases += [Case(dtype, *shape, quick=shape in quick) for shape in shapes]
        cases += [Case(dtype, 128, 32, heads) for heads in OTHER_HEADS]
        cases += [Case(dtype, 64, 16, SHARED, one, quick=True) for one in OTHER_LENGTHS]
    return tuple(cases)


GRID = _grid()
"""Every type with each head size and page size; then other heads, then other lengths."""


def named(names: Iterable[str]) -> tuple[Case, ...]:
    """Return cases by their names; raise UsageError, with the nearest one, for an unknown name."""
    known = {case.name: case for case in GRID}
    for name in names:
        require(name, known, "case", otherwise="`tracekit parity --list` lists them.")
    return tuple(known[name] for name in names)
