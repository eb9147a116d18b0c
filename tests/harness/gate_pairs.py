"""Pairs made of literal changes."""

import math
from collections.abc import Sequence

from tracekit.nightly.history.night import Pair


def made(
    changes: Sequence[float],
    *,
    metric: str = "step_p50",
    sitting: int = 1,
    difference: bool = False,
    traced: bool = False,
    contaminated: Sequence[str] = (),
) -> list[Pair]:
    """Make the pairs of a sitting: one for each change, the reference's value being 100."""
    bad = contaminated or [""] * len(changes)
    found: list[Pair] = []
    for number, (change, why) in enumerate(zip(changes, bad, strict=True), 1):
        new = 100 + change if difference else 100 * math.exp(change)
        found.append(
            Pair(
                sitting,
                number,
                "abba" if number % 2 else "baab",
                traced=traced,
                candidate={metric: (new,) if traced else (new * 0.99, new * 1.01)},
                reference={metric: (100.0,) if traced else (99.0, 101.0)},
                contaminated=(why,) if why else (),
            )
        )
    return found
