"""`gather-share`: pages are copied together before attention reads them."""

from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import busy
from tracekit.analysis.iterations import Loop
from tracekit.analysis.rule import Fact, Findings, finding, longest
from tracekit.analysis.work_names import Chore, NamedWork


def gather_share(work: NamedWork, loop: Loop, *, limit: float = 0.10) -> Findings:
    """Gathering pages takes a large share of the GPU's time.

    What it looks for:
        Work of the target in the steady window that gathers according to its name (such as MLX's
        Gather) and that is not an attention kernel itself. It fires when this work, with the idle
        time right before each piece, takes more than `limit` of the target's GPU time (default 10
        %).

    Why it matters:
        Gather and attend reads every key and value twice and writes it once. Decoding is bound by
        memory, so the copy costs more than the attention after it.

    When it abstains:
        When labels do not name kernels, as with stock builds of MLX, and when a CPU did the work.
    """
    gathers = work.are(Chore.GATHER)
    device_time = busy(work.starts, work.ends)
    if device_time == 0:
        raise Unavailable(f"the target's work in {loop.name} has no length.")
    cost = int(work.costs(gathers).sum())
    if cost <= limit * device_time:
        return
    piece_count = int(gathers.sum())
    joined_names = work.name_longest(gathers)
    device_share = cost / device_time
    facts = (
        Fact("device_share", device_share, "ratio"),
        Fact("cost", cost, "ns"),
        Fact("device_time", device_time, "ns"),
        Fact("window", loop.name),
        Fact("pieces", piece_count),
        Fact("names", joined_names),
    )
    gather_starts = work.starts[gathers]
    gather_ends = work.ends[gathers]
    evidence = longest("gpu_intervals", gather_starts, gather_ends)
    yield finding(
        wording="gather-share",
        facts=facts,
        lever="gather",
        evidence=evidence,
        saving=cost,
    )
