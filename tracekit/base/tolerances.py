"""How far a result is from its reference, how far it may be; two things compared in pairs.

What drifts, as clocks and temperature do, drifts for both of a pair that were measured one
right after the other, so their ratio says more than that of two medians.
"""

import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from tracekit.base.errors import InputError, ToolError

if TYPE_CHECKING:
    import mlx.core as mx


Floats = NDArray[np.float64]

BOUNDS: Mapping[str, float] = {"float32": 1e-5, "float16": 2e-3, "bfloat16": 2e-2}
"""What a kernel may be off by, by the type of its elements; see `relative_error`."""

NORM = "largest absolute error of a sequence over its largest absolute value"


def as_float64(array: "mx.array") -> Floats:
    """Copy an array of MLX's, of any floating type, to numpy without losing a bit."""
    import mlx.core as mx  # noqa: PLC0415  pairs are compared where there is no MLX to load

    return np.array(array.astype(mx.float32), dtype=np.float64)


def relative_error(out: Floats, expected: Floats) -> float:
    """Return max |out - expected| / max |expected|, of the sequence where it is largest.

    The first axis is that of sequences. Dividing by the largest value of the sequence, and not
    by each element, keeps elements near 0 from deciding. Where nothing but zeros is expected
    any other value is infinitely far off, as NaN is anywhere.

    Raises:
        ValueError: The shapes differ.
    """
    if out.shape != expected.shape:
        raise ValueError(f"Shapes {list(out.shape)} and {list(expected.shape)} do not compare.")
    if out.size == 0:
        return 0.0
    rows = (out.shape[0], -1)
    apart = np.abs(out - expected).reshape(rows).max(axis=1)
    largest = np.abs(expected).reshape(rows).max(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        errors = np.where(apart == 0, 0.0, apart / largest)
    return float(np.where(np.isnan(errors), np.inf, errors).max())


def accepted(error: float, dtype: "mx.Dtype", what: str, *, results: int = 1) -> float:
    """Return `error`, the relative error of `what`, if it is within the bound of its type.

    Args:
        error: As `relative_error` has it.
        dtype: Type of the elements.
        what: What is off, for the message.
        results: How many results the error is of: two that are compared with each other may
            both be off.

    Raises:
        ToolError: It is not. A wrong result is not measured.
    """
    name = str(dtype).removeprefix("mlx.core.")
    bound = results * BOUNDS[name]
    if error <= bound:
        return error
    hint = "A wrong result is not measured; the kernel or MLX must be fixed first."
    import mlx.core as mx  # noqa: PLC0415  as above

    if dtype == mx.float32:
        hint += " Where MLX multiplies float32 as TF32, MLX_ENABLE_TF32=0 has it multiply in full."
    raise ToolError(
        f"{what} is off by {error:.2g} of its largest value; {name} allows {bound:g}.", hint=hint
    )


CONFIDENCE = 0.95


@dataclass(frozen=True)
class Paired:
    """The ratio a / b of pairs.

    Attributes:
        median: The median of the ratios; None if there is no pair.
        low: Lower end of an interval that holds the true median with at least the confidence
            asked for; None if there are too few pairs for one.
        high: Its upper end.
        pairs: How many pairs there were.
    """

    median: float | None
    low: float | None
    high: float | None
    pairs: int


def paired_ratio(
    a: Sequence[float], b: Sequence[float], *, confidence: float = CONFIDENCE
) -> Paired:
    """Compare the pairs (a[0], b[0]), (a[1], b[1]) … by the median of a / b.

    The interval is made of two order statistics of the ratios, those that a sign test with the
    same confidence would not reject: it presumes that pairs are independent of each other, and
    nothing of how ratios are distributed. Source: H. A. David and H. N. Nagaraja, Order
    Statistics, 3rd ed., section 7.1.

    Raises:
        InputError: The sequences differ in length, or a value is no finite number above 0.
    """
    if len(a) != len(b):
        raise InputError(f"Pairs need as many of one as of the other, not {len(a)} and {len(b)}.")
    for value in (*a, *b):
        if not 0 < value < math.inf:
            raise InputError(f"A ratio needs finite numbers above 0; there is {value}.")
    ratios = sorted(one / other for one, other in zip(a, b, strict=True))
    pairs = len(ratios)
    if not ratios:
        return Paired(None, None, None, 0)
    rank = lower_rank(pairs, confidence)
    low, high = (None, None) if rank is None else (ratios[rank - 1], ratios[pairs - rank])
    return Paired(statistics.median(ratios), low, high, pairs)


def lower_rank(count: int, confidence: float = CONFIDENCE) -> int | None:
    """Return k such that the k-th least and the k-th greatest of `count` values hold the median.

    It is the greatest k for which they do so with at least that confidence; None if there is
    none. They miss the median with probability 2 P(X < k), where X is the number of heads among
    `count` fair coins.

    Raises:
        InputError: The confidence is none.
    """
    if not 0 < confidence < 1:
        raise InputError(f"A confidence lies between 0 and 1; it is {confidence}.")
    # Whole numbers, for the probabilities of thousands of coins are no floating-point numbers.
    allowed = math.floor((1 - Fraction(confidence)) * 2**count)
    rank, ways, missed = 0, 1, 0
    while rank < count // 2 and 2 * (missed + ways) <= allowed:
        missed += ways
        ways = ways * (count - rank) // (rank + 1)
        rank += 1
    return rank or None


def least_pairs(confidence: float = CONFIDENCE) -> int:
    """Return how many pairs an interval takes at least: 6 for a confidence of 0.95."""
    return next(count for count in itertools.count(2) if lower_rank(count, confidence))
