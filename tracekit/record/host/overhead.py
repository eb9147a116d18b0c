"""What recording cost: blocks of steps, recorded and unrecorded in turn."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tracekit.base.recording import Overhead
from tracekit.workload.journal import Block, WorkloadReport

FEWEST_PAIRS = 4
_DRAWS = 2000


def overhead(report: WorkloadReport) -> Overhead:
    """Compare the medians of recorded and unrecorded blocks, in ns a step.

    The interval is a bootstrap over pairs of neighbouring blocks (Efron and Tibshirani 1993,
    percentile method) with a fixed seed, so that a drift of the machine does not widen it
    and the same blocks give the same number.
    """
    pairs = _pairs(report.blocks)
    if len(pairs) < FEWEST_PAIRS:
        return Overhead(reason=_reason(report, len(pairs)))
    draws = np.random.default_rng(0).integers(0, len(pairs), (_DRAWS, len(pairs)))
    medians = np.median(pairs[draws], axis=1)
    ratios = medians[:, 0] / medians[:, 1] - 1
    low, high = np.percentile(ratios, [2.5, 97.5])
    recorded, unrecorded = np.median(pairs, axis=0)
    return Overhead(
        ratio=float(recorded / unrecorded - 1),
        spread=float(high - low) / 2,
        recorded=round(float(recorded)),
        unrecorded=round(float(unrecorded)),
    )


def _reason(report: WorkloadReport, pairs: int) -> str:
    if pairs:
        return f"only {pairs} pairs of recorded and unrecorded steps were made"
    told = [warning for warning in report.warnings if "what recording costs" in warning]
    return told[-1] if told else "no steps were made unrecorded"


def _pairs(blocks: Sequence[Block]) -> NDArray[np.float64]:
    """Pair blocks 0 and 1, 2 and 3 …: `[pairs, 2]` ns a step, the recorded one first."""
    pairs: list[tuple[float, float]] = []
    for one, other in zip(blocks[::2], blocks[1::2], strict=False):
        first, second = sorted((one, other), key=lambda block: not block.recorded)
        if first.recorded != second.recorded:
            pairs.append((_per_step(first), _per_step(second)))
    return np.array(pairs, dtype=np.float64).reshape(-1, 2)


def _per_step(block: Block) -> float:
    return (block.end - block.start) / block.steps
