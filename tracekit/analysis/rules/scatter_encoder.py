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
    yield finding(
        wording="scatter-encoder",
        facts=(
            Fact("pieces", int(scatters.sum())),
            Fact("names", work.name_longest(scatters)),
            Fact("cost", cost, "ns"),
            Fact("lost_share", cost / loop.length, "ratio"),
            Fact("window", loop.name),
        ),
        lever="scatter",
        evidence=longest("gpu_intervals", work.starts[scatters], work.ends[scatters]),
        saving=cost,
    )
