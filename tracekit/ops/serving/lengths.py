"""How long prompts and outputs are."""

import math
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal

import numpy as np

from tracekit.base.errors import UsageError

Distribution = Literal["fixed", "uniform", "lognormal"]

SIGMA = 0.6
"""Standard deviation of the logarithm: two thirds lie within a factor of 1.8 of the median."""


@dataclass(frozen=True)
class Lengths:
    """A distribution of lengths, in tokens.

    Attributes:
        name: What they are lengths of, as options call it: "prompt" or "output".
        distribution: "fixed": all are `typical`. "uniform": all from `shortest` to `longest` are
            equally likely. "lognormal": the median is `typical` before what is out of bounds is
            cut off.
        typical: Tokens.
        shortest: Tokens at least; of no matter to "fixed".
        longest: Tokens at most; of no matter to "fixed".

    Raises:
        UsageError: The numbers contradict each other.
    """

    name: str
    distribution: Distribution
    typical: int
    shortest: int
    longest: int

    def __post_init__(self) -> None:
        """Refuse bounds that leave nothing."""
        if self.distribution == "fixed":
            fits = self.typical >= 1
        elif self.distribution == "uniform":
            fits = 1 <= self.shortest <= self.longest
        else:
            fits = 1 <= self.shortest <= self.typical <= self.longest
        if not fits:
            raise UsageError(
                f"There are no {self.distribution} lengths around {self.typical} tokens from "
                f"{self.shortest} to {self.longest}.",
                hint=f"--{self.name}-shortest must not exceed --{self.name}-tokens, nor that "
                f"--{self.name}-longest.",
            )

    @property
    def most(self) -> int:
        """Tokens that no length exceeds."""
        return self.typical if self.distribution == "fixed" else self.longest

    def draw(self, count: int, rng: np.random.Generator) -> list[int]:
        """Draw `count` lengths."""
        if self.distribution == "fixed":
            return [self.typical] * count
        if self.distribution == "uniform":
            return rng.integers(self.shortest, self.longest, count, endpoint=True).tolist()
        return self._lognormal(count, rng)

    def _lognormal(self, count: int, rng: np.random.Generator) -> list[int]:
        """Draw by the inverse of the distribution function, cut at both bounds."""
        normal = NormalDist(math.log(self.typical), SIGMA)
        low = normal.cdf(math.log(self.shortest - 0.5))
        high = normal.cdf(math.log(self.longest + 0.5))
        shares = np.clip(rng.uniform(low, high, count), 1e-300, 1 - 1e-16).tolist()
        drawn = [round(math.exp(normal.inv_cdf(share))) for share in shares]
        return [min(max(one, self.shortest), self.longest) for one in drawn]
