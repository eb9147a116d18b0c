"""Seeded exports in xctrace's own grammar, each with its truth beside it."""

from synthetic.export import Truth, truth_of, write
from synthetic.kinds import KINDS

__all__ = ["KINDS", "Truth", "truth_of", "write"]
