"""Many results: what changed between runs, and how sure that is."""

from tracekit.compare.change import Change, Verdict
from tracekit.compare.compare import Comparison, compare
from tracekit.compare.sample import Sample
from tracekit.compare.spread import Limits

__all__ = ["Change", "Comparison", "Limits", "Sample", "Verdict", "compare"]
