"""Many results: what changed between runs, and how sure that is."""

from tracekit.history.change import Change, Verdict
from tracekit.history.compare import Comparison, compare
from tracekit.history.sample import Sample
from tracekit.history.spread import Limits

__all__ = ["Change", "Comparison", "Limits", "Sample", "Verdict", "compare"]
