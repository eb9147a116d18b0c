"""`unfused-attention`: attention runs as separate products and a softmax."""

import re

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.intervals import busy
from tracekit.analysis.iterations import Loop
from tracekit.analysis.rule import Fact, Findings, finding, longest
from tracekit.analysis.submission import rate_facts
from tracekit.analysis.work_names import NamedWork, unnamed, words_of

_PRODUCT = re.compile(r"gemm|gemv|mat ?mul|qmm|qmv|\bmm\b")
_SOFTMAX = re.compile(r"soft ?max")
_FUSED = re.compile(r"sdpa|attention|flash")
_REACH = 4  # pieces of work between a softmax and the products around it


def unfused_attention(
    work: NamedWork,
    loop: Loop,
    iterations: pd.DataFrame | None,
    *,
    fewest: int = 8,
    limit: float = 0.05,
) -> Findings:
    """Attention runs as separate products and a softmax.

    What it looks for:
        Work of the target whose name says softmax, with a product of matrices within four pieces
        before it and one behind it, and neither fused attention nor work without a name between.
        It fires when there are at least `fewest` (8) of them and they take more than `limit` of the
        target's device time (5 %), both products included.

    Why it matters:
        Unfused attention writes all scores to memory and reads them twice. Which way is taken
        depends on shapes, masks and types, and nothing says so: only the kernels' names do.

    When it abstains:
        When labels do not name kernels, as with stock builds of MLX, and where a CPU did the work.
    """
    before, softmax, behind = _parts(work)
    whole = busy(work.starts, work.ends)
    chosen = np.unique(np.concatenate((before, softmax, behind)))
    cost = int((work.ends - work.starts)[chosen].sum())
    if softmax.size < fewest or cost <= limit * whole:
        return
    flags = np.zeros(work.starts.size, bool)
    flags[chosen] = True
    yield finding(
        wording="unfused-attention",
        facts=(
            Fact("times", softmax.size),
            Fact("window", loop.name),
            *rate_facts(softmax.size, iterations),
            Fact("names", work.most(flags)),
            Fact("cost", cost, "ns"),
            Fact("device_share", cost / whole, "ratio"),
        ),
        lever="unfused-attention",
        evidence=longest("gpu_intervals", work.starts[before], work.ends[behind]),
    )


def _parts(work: NamedWork) -> tuple[NDArray[np.intp], ...]:
    """Return the places of softmaxes between two products, and of these products."""
    words = [words_of(name) for name in work.names]
    fused_names = [bool(_FUSED.search(name) or unnamed(name)) for name in words]

    def places(kind: re.Pattern[str]) -> NDArray[np.intp]:
        named = [bool(kind.search(name)) for name in words]
        chosen = [n and not f for n, f in zip(named, fused_names, strict=True)]
        return np.flatnonzero(np.array(chosen, bool)[work.codes])

    product, softmax = places(_PRODUCT), places(_SOFTMAX)
    fused = np.flatnonzero(np.array(fused_names, bool)[work.codes])
    at = np.searchsorted(product, softmax)
    inside = (at > 0) & (at < product.size)
    softmax, at = softmax[inside], at[inside]
    before, behind = product[at - 1], product[at]
    near = (softmax - before <= _REACH) & (behind - softmax <= _REACH)
    near &= np.searchsorted(fused, before) == np.searchsorted(fused, behind)
    return before[near], softmax[near], behind[near]
