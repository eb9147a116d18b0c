"""Why some steps are slow: what happened in them beyond its share in the others."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.coverage import Coverage
from tracekit.analysis.intervals import spans
from tracekit.analysis.rhythm.beats import Beats
from tracekit.analysis.rhythm.happenings import COMPILED, LONGER_WORK

UNEXPLAINED = ""

_MOST = 0.5  # of a slow step's excess, for a happening to explain it


@dataclass(frozen=True, eq=False)
class Explanation:
    """For each slow step, in order, what explains it; and its time in compiles beyond the usual."""

    causes: tuple[str, ...]
    compiled: NDArray[np.float64]

    @property
    def sentence(self) -> str:
        """Say how many steps each cause explains, the commonest first; unexplained ones too."""
        counts = Counter(self.causes)
        unknown = counts.pop(UNEXPLAINED, 0)
        if not counts:
            return "What was recorded beside them explains none of them."
        said = [f"{cause} ({number:,} of them)" for cause, number in counts.most_common(4)]
        rest = f"; {unknown:,} stay unexplained" if unknown else ""
        return f"In them {', '.join(said)} more than in other steps{rest}."


def explain(
    beats: Beats, slow: NDArray[np.bool_], excess: NDArray[np.float64], happenings: pd.DataFrame
) -> Explanation:
    """Find for each slow step the most telling happening that covers most of its excess.

    A happening counts beyond its share in the other steps: what lies in all of them explains
    nothing. That the device worked longer counts in time instead, and only if nothing else does.

    Args:
        beats: All steps of one variant.
        slow: Which of them are to be explained.
        excess: How much longer than usual each beat is, in ns.
        happenings: The table of that name.
    """
    times, needed = beats.times[slow], _MOST * excess[slow]
    causes = np.full(times.size, UNEXPLAINED, dtype=object)
    compiled = np.zeros(times.size)
    for (_, what), rows in happenings.groupby(["rank", "what"], sort=True):
        covered = Coverage.of(*spans(rows)).within(beats.starts, beats.ends)
        usual = covered[~slow].sum() / max(1, beats.times[~slow].sum())
        beyond = covered[slow] - usual * times
        if what == LONGER_WORK:
            beyond = covered[slow] - np.median(covered[~slow])
        if what == COMPILED:
            compiled = np.clip(beyond, 0, excess[slow])
        causes[(causes == UNEXPLAINED) & (beyond >= needed)] = what
    return Explanation(tuple(causes), compiled)
