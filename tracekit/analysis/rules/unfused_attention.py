"""`unfused-attention`: attention runs as separate products and a softmax."""

import re

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.intervals import busy
from tracekit.analysis.iterations import Loop
from tracekit.analysis.rule import Fact, Findings, finding, longest
from tracekit.analysis.submission import rate_facts
from tracekit.analysis.work_names import NamedWork, is_unnamed, words_of

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
        Work of the target named softmax, with a matrix product within four pieces before it and one
        behind it, and neither fused attention nor work without a name between. It fires when there
        are at least `fewest` (8) of them and they take more than `limit` of the target's device
        time (5 %), both products included.

    Why it matters:
        Unfused attention writes all scores to memory and reads them twice. Shapes, masks and types
        decide which way a library takes, and it does not report its choice: only the names of the
        kernels show it.

    When it abstains:
        When labels do not name kernels, as with stock builds of MLX, and when a CPU did the work.
    """
    products_before, softmax, behind = _parts(work)
    device_time = busy(work.starts, work.ends)
    chosen = np.unique(np.concatenate((products_before, softmax, behind)))
    cost = int((work.ends - work.starts)[chosen].sum())
    if softmax.size < fewest or cost <= limit * device_time:
        return
    flags = np.zeros(work.starts.size, bool)
    flags[chosen] = True
    joined_names = work.name_longest(flags)
    device_share = cost / device_time
    facts = (
        Fact("times", softmax.size),
        Fact("window", loop.name),
        *rate_facts(softmax.size, iterations),
        Fact("names", joined_names),
        Fact("cost", cost, "ns"),
        Fact("device_share", device_share, "ratio"),
    )
    product_starts = work.starts[products_before]
    softmax_ends = work.ends[behind]
    evidence = longest("gpu_intervals", product_starts, softmax_ends)
    yield finding(
        wording="unfused-attention",
        facts=facts,
        lever="unfused-attention",
        evidence=evidence,
    )


def _parts(work: NamedWork) -> tuple[NDArray[np.intp], ...]:
    """Return the places of softmaxes between two products, and of these products."""
    words = [words_of(name) for name in work.names]
    fused_names = [bool(_FUSED.search(name) or is_unnamed(name)) for name in words]

    def places(kind: re.Pattern[str]) -> NDArray[np.intp]:
        matches = [bool(kind.search(name)) for name in words]
        kernel_pairs = zip(matches, fused_names, strict=True)
        chosen = [n and not f for n, f in kernel_pairs]
        return np.flatnonzero(np.array(chosen, bool)[work.codes])

    product = places(_PRODUCT)
    softmax = places(_SOFTMAX)
    fused = np.flatnonzero(np.array(fused_names, bool)[work.codes])
    positions = np.searchsorted(product, softmax)
    between_products = (positions > 0) & (positions < product.size)
    softmax = softmax[between_products]
    positions = positions[between_products]
    products_before = product[positions - 1]
    behind = product[positions]
    near = (softmax - products_before <= _REACH) & (behind - softmax <= _REACH)
    near &= np.searchsorted(fused, products_before) == np.searchsorted(fused, behind)
    return products_before[near], softmax[near], behind[near]
