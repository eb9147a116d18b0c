"""Why some steps are slow: what happened in them beyond its share in the others."""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.coverage import Coverage
from tracekit.analysis.intervals import spans
from tracekit.analysis.rhythm.beats import Beats
from tracekit.analysis.rhythm.happenings import COMPILED, LONGER_WORK, WITHOUT_WORK

UNEXPLAINED = ""

_MOST = 0.5  # of a slow step's excess, for a happening to explain it


@dataclass(frozen=True, eq=False)
class Explanation:
    """For each slow step, in order, what explains it; ns.

    `excess` is how much longer than usual it took, `compiled` and `idle` how much of that was
    time in compiles, and time in which the device had nothing of the target to do.
    """

    causes: tuple[str, ...]
    excess: NDArray[np.float64]
    compiled: NDArray[np.float64]
    idle: NDArray[np.float64]

    @property
    def sentence(self) -> str:
        """Say how many steps each cause explains, the commonest first; unexplained ones too."""
        counts = Counter(self.causes)
        unknown = counts.pop(UNEXPLAINED, 0)
        if not counts:
            return "Nothing that was recorded explains them."
        if not unknown and len(counts) == 1:
            them = "it" if len(self.causes) == 1 else "all of them"
            return f"What explains {them}: {self.causes[0]}."
        said = [f"{cause} ({number:,})" for cause, number in counts.most_common(4)]
        rest = f"; {unknown:,} {'stays' if unknown == 1 else 'stay'} unexplained" if unknown else ""
        return f"What explains them: {', '.join(said)}{rest}."

    @property
    def within(self) -> str:
        """Name the rule that counts most of the time too: bubbles, where the device was idle."""
        return "bubbles" if self.idle.sum() > _MOST * self.excess.sum() else ""


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
    compiled, idle = np.zeros(times.size), np.zeros(times.size)
    for (_, what), rows in happenings.groupby(["rank", "what"], sort=True):
        covered = Coverage.of(*spans(rows)).within(beats.starts, beats.ends)
        usual = covered[~slow].sum() / max(1, beats.times[~slow].sum())
        beyond = covered[slow] - usual * times
        if what == LONGER_WORK:
            beyond = covered[slow] - np.median(covered[~slow])
        if what == COMPILED:
            compiled = np.clip(beyond, 0, excess[slow])
        if what == WITHOUT_WORK:
            idle = np.clip(beyond, 0, excess[slow])
        causes[(causes == UNEXPLAINED) & (beyond >= needed)] = what
    return Explanation(tuple(causes), excess[slow], compiled, np.clip(idle - compiled, 0, None))
