"""Room on the disk: what of old runs may go, and what may not."""

from tracekit.base.amounts import age, size_of
from tracekit.nightly.pruning.decide import Limits
from tracekit.nightly.pruning.protection import Protection, protection
from tracekit.nightly.pruning.prune import Pruned, Removed, prune

__all__ = [
    "Limits",
    "Protection",
    "Pruned",
    "Removed",
    "age",
    "protection",
    "prune",
    "size_of",
]
