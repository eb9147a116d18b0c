"""`gather-share`: pages are copied together before attention reads them."""

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import busy
from tracekit.analysis.iterations import Loop
from tracekit.analysis.rule import Findings, finding, longest
from tracekit.analysis.work_names import Chore, NamedWork
from tracekit.base import duration, percent

_ADVICE = (
    "Let the kernel read pages in place through the block table, as `tracekit capture --workload "
    "paged` does, and compare both with `--workload paged-vs-sdpa`. Where contexts are short, a "
    "contiguous cache may be the better one; keep keys and values in the layout that attention "
    "reads, so that nothing is transposed either."
)


def gather_share(work: NamedWork, loop: Loop, *, limit: float = 0.10) -> Findings:
    """Gathering pages takes a large share of the GPU's time.

    What it looks for:
        Work of the target in the steady window whose name says that it gathers (such as MLX's
        Gather) and that is no attention kernel itself. It fires when this work, with the idle
        time right before each piece, takes more than `limit` of the target's GPU time
        (default 10 %).

    Why it matters:
        Gather and attend reads every key and value twice and writes it once: decoding is bound
        by memory, so the copy costs more than the attention behind it.

    When it abstains:
        When labels do not name kernels, as with stock builds of MLX, and where a CPU did the
        work.
    """
    gathers = work.are(Chore.GATHER)
    whole = busy(work.starts, work.ends)
    if whole == 0:
        raise Unavailable(f"the target's work in {loop.name} has no length.")
    cost = int(work.costs(gathers).sum())
    if cost <= limit * whole:
        return
    yield finding(
        message=(
            f"{percent(cost / whole)} of the target's GPU time in {loop.name} "
            f"({duration(cost)} of {duration(whole)}) gathers data before other kernels read it: "
            f"{gathers.sum():,} times {work.most(gathers)}."
        ),
        advice=_ADVICE,
        evidence=longest("gpu_intervals", work.starts[gathers], work.ends[gathers]),
        saving=cost,
    )
