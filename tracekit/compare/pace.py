"""The machine's pace in two sides of runs, and what it corrects."""

import math
from dataclasses import dataclass

from tracekit.compare.environment import differences
from tracekit.compare.runs import Runs
from tracekit.compare.spread import Limits

# What reference work depends on as much as steps do: it cannot tell a change of these.
_MAKES_THE_PACE = frozenset(
    {"chip", "model", "cores", "memory", "architecture", "Rosetta", "Python", "MLX"}
)
_POWERS = {"ns": -1, "tokens/s": 1, "steps/s": 1}


@dataclass(frozen=True)
class Pace:
    """How the machine's pace differs between two sides.

    `known` tells whether reference work shows it; `slowdown` is how much longer that work took
    after than before, as a logarithm.
    """

    known: bool = False
    slowdown: float = 0.0

    def power(self, unit: str) -> int:
        """Return how a metric of the unit goes with the pace, which is taken out; 0 is not."""
        return _POWERS.get(unit, 0) if self.known else 0

    def between(self, limits: Limits) -> float:
        """Return how much equal runs are taken to differ once it is out, one deviation."""
        doubt = limits.doubt * abs(self.slowdown) / math.sqrt(2)  # two runs share it
        return math.hypot(min(limits.between, limits.paced), doubt)


def pace_of(before: Runs, after: Runs) -> Pace:
    """Return the pace, if all runs did the same reference work, on like machines with like tools.

    Else a correction would take out the very change that one looks for, as that of a newer MLX.
    """
    if not (before.referenced and after.referenced):
        return Pace()
    sources = {one.reference_source() for side in (before, after) for one in side.blocks}
    unlike = {one.what for one in differences(before.samples, after.samples)}
    if len(sources) > 1 or unlike & _MAKES_THE_PACE:
        return Pace()
    return Pace(known=True, slowdown=math.log(after.pace / before.pace))
