"""`avoidable-kernels`: copies and sorts take a large part of the device's time."""

import numpy as np
import pandas as pd

from tracekit.analysis.avoidable import Avoidable, avoidable
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import busy
from tracekit.analysis.iterations import Loop
from tracekit.analysis.levers import Mechanism
from tracekit.analysis.rule import Fact, Findings, finding, longest
from tracekit.analysis.submission import rate_facts
from tracekit.analysis.work_names import NamedWork

_LEVERS = {
    Avoidable.COPY: Mechanism.AVOIDABLE_COPY,
    Avoidable.SORT: Mechanism.AVOIDABLE_SORT,
}


def avoidable_kernels(
    work: NamedWork, loop: Loop, iterations: pd.DataFrame | None, *, limit: float = 0.10
) -> Findings:
    """Copies or sorts take a large part of the device's time.

    What it looks for:
        Work of the target that copies, casts or transposes according to its name, or that sorts. It
        fires when either kind takes more than `limit` of the target's device time (10 %).

    Why it matters:
        They compute nothing that the program needs: a copy only adapts a layout, a sort of all
        logits serves a sampler that needs a few of them.

    What to do:
        Choose layouts and types that need no copies, and samplers that need no sorts.

    When it abstains:
        When labels do not name kernels, as with stock builds of MLX, and when a CPU did the work.
    """
    device_time = busy(work.starts, work.ends)
    if device_time == 0:
        raise Unavailable(f"the target's work in {loop.name} has no length.")
    kinds = [avoidable(name) for name in work.names]
    for kind, lever in _LEVERS.items():
        is_chosen_name = np.array([work_kind is kind for work_kind in kinds], bool)
        chosen = is_chosen_name[work.codes]
        number = int(chosen.sum())
        durations = work.ends - work.starts
        cost = int(durations[chosen].sum())
        if cost <= limit * device_time:
            continue
        joined_names = work.name_longest(chosen)
        device_share = cost / device_time
        facts = (
            Fact("device_share", device_share, "ratio"),
            Fact("cost", cost, "ns"),
            Fact("window", loop.name),
            Fact("kind", kind.value),
            Fact("pieces", number),
            *rate_facts(number, iterations),
            Fact("names", joined_names),
        )
        chosen_starts = work.starts[chosen]
        chosen_ends = work.ends[chosen]
        evidence = longest("gpu_intervals", chosen_starts, chosen_ends)
        yield finding(
            wording="avoidable-kernels",
            facts=facts,
            lever=lever,
            evidence=evidence,
            saving=cost,
        )
