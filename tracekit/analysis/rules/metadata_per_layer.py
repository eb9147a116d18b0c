"""`metadata-per-layer`: block tables and slot mappings are made again for every layer."""

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.intervals import Times, spans
from tracekit.analysis.iterations import Loop, steady_iterations
from tracekit.analysis.rule import Fact, Findings, finding, longest
from tracekit.analysis.work_names import Chore, NamedWork


def metadata_per_layer(
    work: NamedWork,
    loop: Loop,
    iterations: pd.DataFrame,
    *,
    repeats: int = 4,
    longest_copy: int = 10_000,
    limit: float = 0.01,
) -> Findings:
    """Metadata of the cache is made again for every layer.

    What it looks for:
        Pieces of the target's work of at most `longest_copy` (10 µs) that copy, cast, count or
        slice according to their names, as arrays of metadata need. It fires when a typical steady
        step has the same of them at least `repeats` times (4) and all of those take more than
        `limit` of the window (1 %), including the idle time right before each. The possible saving
        leaves out one of each name per step.

    Why it matters:
        The block table is the same for all layers of a step. If it is made per layer, it costs
        several launches a layer, and the attention kernel waits for them.

    When it abstains:
        When labels do not name kernels, as with stock builds of MLX, when the workload does not
        mark its steps, and when a CPU did the work.
    """
    rows = steady_iterations(iterations)
    step_spans = spans(rows)
    begins = np.sort(step_spans[0])
    durations = work.ends - work.starts
    is_short = durations <= longest_copy
    is_metadata = work.are(Chore.METADATA)
    tiny = is_metadata & is_short
    counts = _per_step(work, tiny, begins)
    repeated = np.flatnonzero(counts >= repeats)
    is_repeated = np.isin(work.codes, repeated)
    chosen = tiny & is_repeated
    cost = int(work.costs(chosen).sum())
    if cost <= limit * loop.length:
        return
    pieces_per_step = float(counts[repeated].sum())
    kind_count = int(repeated.size)
    joined_names = work.name_longest(chosen)
    lost_share = cost / loop.length
    facts = (
        Fact("pieces_per_step", pieces_per_step, "count"),
        Fact("kinds", kind_count),
        Fact("names", joined_names),
        Fact("cost", cost, "ns"),
        Fact("lost_share", lost_share, "ratio"),
        Fact("window", loop.name),
    )
    chosen_starts = work.starts[chosen]
    chosen_ends = work.ends[chosen]
    evidence = longest("gpu_intervals", chosen_starts, chosen_ends)
    repeated_share = repeated.size / pieces_per_step
    further_share = 1 - repeated_share
    saving = round(cost * further_share)
    yield finding(
        wording="metadata-per-layer",
        facts=facts,
        lever="metadata-per-layer",
        evidence=evidence,
        saving=saving,
    )


def _per_step(work: NamedWork, tiny: NDArray[np.bool_], begins: Times) -> NDArray[np.float64]:
    """Return the number of occurrences of each name in a typical step: the median over steps."""
    tiny_starts = work.starts[tiny]
    next_places = np.searchsorted(begins, tiny_starts, side="right")
    place = next_places - 1
    tiny_codes = work.codes[tiny]
    codes = tiny_codes[place >= 0]
    place = place[place >= 0]
    shape = (begins.size, len(work.names))
    table = np.zeros(shape, np.int64)
    np.add.at(table, (place, codes), 1)
    return np.median(table, axis=0)
