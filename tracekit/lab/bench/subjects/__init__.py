"""The implementations that there are, in the order of their tables."""

from collections.abc import Sequence

from tracekit.base import require
from tracekit.lab.bench.subject import Subject
from tracekit.lab.bench.subjects.attention import DECODE, PREFILL
from tracekit.lab.bench.subjects.layers import CACHE, NORM

SUBJECTS: tuple[Subject, ...] = (*DECODE, *PREFILL, *CACHE, *NORM)
SUITES = ("attention", "cache", "norm")


def chosen(suite: str, names: Sequence[str] = ()) -> tuple[Subject, ...]:
    """Return the subjects of a suite, or those of `names`.

    Raises:
        UsageError: There is no such suite, or no such subject in it.
    """
    require(suite, (*SUITES, "all"), "suite")
    there = [one for one in SUBJECTS if suite in {"all", one.suite}]
    for name in names:
        require(name, [one.name for one in there], "subject")
    return tuple(one for one in there if not names or one.name in names)
