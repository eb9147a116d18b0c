"""A comparison of recorded runs: from their paths to a verdict and a page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from tracekit.base import InconclusiveError, Verdict
from tracekit.comparison.compare import Comparison, compare_runs, read_samples, redaction_of_runs
from tracekit.comparison.samples import Sample
from tracekit.comparison.spread import Limits

REMEDY = (
    "Record several runs of each side, in turns, or longer ones; or allow a larger change: "
    "--threshold."
)
"""The hint for an unclear comparison of runs."""


@dataclass(frozen=True)
class ComparedRuns:
    """Runs that were read and compared; samples are in the order of their paths."""

    paths_before: tuple[Path, ...]
    paths_after: tuple[Path, ...]
    samples_before: tuple[Sample, ...]
    samples_after: tuple[Sample, ...]
    comparison: Comparison

    def render_page(self) -> str:
        """Return the comparison as a page, in which the private names of all runs are redacted."""
        from tracekit.comparison.page import render_comparison  # noqa: PLC0415  few ask for it

        return render_comparison(
            self.comparison,
            self.samples_before,
            self.samples_after,
            redact=redaction_of_runs([*self.paths_before, *self.paths_after]),
        )


def _show_nothing(_: str) -> None:
    pass


def compare_paths(
    paths_before: Sequence[Path],
    paths_after: Sequence[Path],
    limits: Limits | None = None,
    *,
    force: bool = False,
    progress: Callable[[str], None] = _show_nothing,
) -> ComparedRuns:
    """Read the runs of both sides and compare them.

    Paths are those of `read_samples`, `progress` gets each step in words, and `force` compares runs
    of different work, too. Raises the errors of `read_samples` and `compare_runs`.
    """
    progress("reading the runs")
    samples_before = read_samples(paths_before)
    samples_after = read_samples(paths_after)
    progress("measuring blocks of them")
    comparison = compare_runs(samples_before, samples_after, limits, force=force)
    return ComparedRuns(
        tuple(paths_before),
        tuple(paths_after),
        tuple(samples_before),
        tuple(samples_after),
        comparison,
    )


def require_clear(comparison: Comparison) -> None:
    """Raise InconclusiveError if a comparison is unclear."""
    if comparison.verdict is Verdict.UNCLEAR:
        raise InconclusiveError(f"Unclear: {comparison.reason}", hint=REMEDY)
