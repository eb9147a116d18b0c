"""`scatter-encoder`: new keys and values are written by encoders of their own."""

from tracekit.analysis.iterations import Loop
from tracekit.analysis.rule import Fact, Findings, finding, longest
from tracekit.analysis.work_names import Chore, NamedWork


def scatter_encoder(work: NamedWork, loop: Loop, *, limit: float = 0.02) -> Findings:
    """Keys and values are written to the cache by encoders of their own.

    What it looks for:
        Work of the target in the steady window that scatters into the cache according to its name
        (such as MLX's Scatter and SliceUpdate, or reshape_and_cache) and does nothing else. It
        fires when this work, with the idle time right before each piece, takes more than `limit` of
        the window (default 2 %).

    Why it matters:
        A decode step writes a few kilobytes per layer. As a separate piece of work, each write
        costs a launch and stops the kernels behind it, for every layer and every token.

    When it abstains:
        When labels do not name kernels, as with stock builds of MLX, and when a CPU did the work.
    """
    scatters = work.are(Chore.SCATTER)
    cost = int(work.costs(scatters).sum())
    if cost <= limit * loop.length:
        return
    piece_count = int(scatters.sum())
    joined_names = work.name_longest(scatters)
    lost_share = cost / loop.length
    facts = (
        Fact("pieces", piece_count),
        Fact("names", joined_names),
        Fact("cost", cost, "ns"),
        Fact("lost_share", lost_share, "ratio"),
        Fact("window", loop.name),
    )
    scatter_starts = work.starts[scatters]
    scatter_ends = work.ends[scatters]
    evidence = longest("gpu_intervals", scatter_starts, scatter_ends)
    yield finding(
        wording="scatter-encoder",
        facts=facts,
        lever="scatter",
        evidence=evidence,
        saving=cost,
    )
