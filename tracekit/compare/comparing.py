"""Runs by their paths, compared; what cannot be compared is refused."""

from collections.abc import Sequence
from pathlib import Path

from tracekit.analysis.result import load
from tracekit.base.errors import UsageError
from tracekit.base.recording import Recording, quoted
from tracekit.base.redaction import Redaction
from tracekit.compare.compare import Comparison, compare
from tracekit.compare.sample import Sample
from tracekit.compare.spread import Limits
from tracekit.pipeline import redaction_of
from tracekit.run import Run

SEPARATOR = "vs"
_GONE = "the run's exports are gone, and only its result is left."


def sides(words: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """Part `A B`, or `A1 A2 … vs B1 B2 …`, into what was before and what came after.

    Raises:
        UsageError: It is neither of both.
    """
    places = [place for place, word in enumerate(words) if str(word) == SEPARATOR]
    if not places and len(words) == 2:  # noqa: PLR2004  one of each side
        return [words[0]], [words[1]]
    if len(places) == 1 and 0 < places[0] < len(words) - 1:
        return list(words[: places[0]]), list(words[places[0] + 1 :])
    raise UsageError(
        f"Two runs are compared, or several on both sides of a {SEPARATOR}.",
        hint=f"tracekit compare BEFORE AFTER, or: tracekit compare A1 A2 {SEPARATOR} B1 B2",
    )


def samples(paths: Sequence[Path]) -> list[Sample]:
    """Read runs: each path is a run's folder or a `result.json`.

    Raises:
        RecordingError: A path is no run, or the run was not analyzed.
        InputError: A result cannot be read.
    """
    names = _names(paths)
    return [_sample(path, name) for path, name in zip(paths, names, strict=True)]


def compare_runs(
    before: Sequence[Sample],
    after: Sequence[Sample],
    limits: Limits | None = None,
    *,
    force: bool = False,
) -> Comparison:
    """Compare runs; unlike work is refused unless `force` is set.

    Raises:
        UsageError: The runs did other work, or were recorded in another way.
    """
    compared = compare(before, after, limits)
    if compared.void and not force:
        told = "; ".join(f"{one.what} is {one.before} and {one.after}" for one in compared.void)
        raise UsageError(
            f"These runs are not of the same work, or not recorded in the same way: {told}.",
            hint="--force compares them all the same.",
        )
    return compared


def redaction(paths: Sequence[Path]) -> Redaction:
    """Return the redaction of this machine's names and of those in any of the runs."""
    folders = [path.parent if path.is_file() else path for path in paths]
    names = [pair for folder in folders for pair in redaction_of(Recording(folder)).names]
    longest_first = sorted(dict(names).items(), key=lambda one: (-len(one[0]), one[0]))
    return Redaction(tuple(longest_first))


def _sample(path: Path, name: str) -> Sample:
    folder = path.parent if path.is_file() else path
    if not (folder / "recording.json").exists() and path.is_file():
        return Sample(name, load(path), absence=_GONE)
    run = Run(Recording(folder))
    _ = run.provenance
    result = load(path) if path.is_file() else run.result
    if not run.recording.exports.is_dir():
        return Sample(name, result, absence=_GONE)
    return Sample(name, result, run.tables)


def _names(paths: Sequence[Path]) -> list[str]:
    """Name each run by its folder; by as much of its path as tells it from the others."""
    folders = [(path.parent if path.is_file() else path).resolve() for path in paths]
    for length in range(1, max(len(one.parts) for one in folders) + 1):
        names = ["/".join(one.parts[-length:]) for one in folders]
        if len(set(names)) == len(set(folders)):
            return names
    return [quoted(one) for one in folders]
