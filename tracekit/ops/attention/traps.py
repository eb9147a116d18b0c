"""Contents that give away whoever reads past the end of a sequence."""

from dataclasses import replace

import mlx.core as mx
import numpy as np

from tracekit.ops.attention.problem import Problem


def nan_past_ends(problem: Problem) -> Problem:
    """Return the problem with NaN in all rows of all pages that hold no token of a sequence."""
    used = mx.array(_used(problem))[:, :, None, None]
    nan = mx.array(mx.nan, problem.dtype)
    keys, values = (mx.where(used, one, nan) for one in (problem.k_pages, problem.v_pages))
    mx.eval(keys, values)
    return replace(problem, k_pages=keys, v_pages=values)


def _used(problem: Problem) -> np.ndarray:
    """Return which rows of which pages hold tokens: `[pages, block_size]`."""
    pages, size = problem.k_pages.shape[:2]
    used = np.zeros((pages, size), bool)
    lens = np.array(problem.context_lens)[: problem.batch]
    for table, length in zip(np.array(problem.block_tables), lens, strict=True):
        rows = np.arange(length)
        used[table[rows // size], rows % size] = True
    return used
