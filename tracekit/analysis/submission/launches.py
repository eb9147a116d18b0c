"""The target's pieces of device work in a window, and the short gaps before them."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from tracekit.analysis.idle.gaps import SHORTEST
from tracekit.analysis.inject import Unavailable
from tracekit.analysis.intervals import Times, Window, busy, spans

LONGEST = 50_000
"""The longest gap that is taken for the launch of the work behind it; ns."""


@dataclass(frozen=True, eq=False)
class Launches:
    """Pieces of work in order of their starts; ns.

    `idle` is the time right before each in which the target had nothing running. `opens` says
    which are the first of their command buffer, as far as the trace tells; `buffers` counts those
    command buffers, 0 where it does not.
    """

    starts: Times
    ends: Times
    idle: Times
    opens: NDArray[np.bool_]
    buffers: int

    @property
    def busy(self) -> int:
        """How long the target had work running."""
        return busy(self.starts, self.ends)

    def gaps(self, chosen: NDArray[np.bool_]) -> tuple[Times, Times]:
        """Return the gaps before the chosen pieces."""
        starts, idle = self.starts[chosen], self.idle[chosen]
        return starts - idle, starts

    def counted(self, chosen: NDArray[np.bool_]) -> str:
        """Name the rule that counts most of the gaps before the chosen pieces too, or none."""
        idle = self.idle[chosen]
        return "bubbles" if idle[idle >= SHORTEST].sum() > idle.sum() / 2 else ""


def launches(own: pd.DataFrame, window: Window) -> Launches:
    """Return the target's work that starts in the window.

    Raises:
        Unavailable: There is none.
    """
    own = own[["start", "duration", "command_buffer"]]
    own = own[(own["start"] >= window.start) & (own["start"] < window.end)]
    if own.empty:
        raise Unavailable(f"no work of the target starts in {window.name}.")
    own = own.sort_values("start", kind="stable")
    starts, ends = spans(own)
    before = np.maximum.accumulate(np.concatenate((starts[:1], ends[:-1])))
    codes, names = pd.factorize(own["command_buffer"])
    opens = np.zeros(len(own), bool)
    opens[_firsts(codes)] = True
    return Launches(starts, ends, np.maximum(starts - before, 0), opens, len(names))


def _firsts(codes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where each known code stands first; rows without one have -1."""
    values, places = np.unique(codes, return_index=True)
    return places[values >= 0]


def spared(pieces: int, work: int, enough: int) -> float:
    """Return the share of launches that larger pieces would spare.

    Args:
        pieces: How many there are.
        work: What they take together, in ns.
        enough: What one piece should take at least, in ns.
    """
    return max(0.0, 1 - work / enough / pieces)
