"""Which run of a trace is meant, where it has several: the last one, unless another is named.

Runs of one trace are recordings of their own: each has its target, its times and its tables. A
pid that two runs name is two processes.
"""

from collections.abc import Sequence
from itertools import islice

from tracekit.base.errors import UsageError
from tracekit.base.recording import Recording
from tracekit.tables.toc.read import read_toc
from tracekit.tables.toc.toc import TocRun

_MOST = 20


def required(runs: Sequence[TocRun], number: int | None, name: str) -> TocRun:
    """Return the run of that number, the last one without a number.

    Args:
        runs: All runs of a trace, at least one.
        number: The number that someone named.
        name: What the trace is called, for a sentence.

    Raises:
        UsageError: There is no such run; the hint lists those there are.
    """
    found = runs[-1] if number is None else next((r for r in runs if r.number == number), None)
    if found is None:
        raise UsageError(f"{name} has no run {number}.", hint=f"It has {listed(runs)}.")
    return found


def assumed(runs: Sequence[TocRun], run: TocRun, name: str) -> tuple[str, ...]:
    """Say which run is read if none was named, and which there are; nothing if there is but one."""
    if len(runs) < 2:  # noqa: PLR2004  several
        return ()
    which = "the last one" if run.number == runs[-1].number else "the last one with tables"
    there = f"{name} has {len(runs)} runs: {listed(runs)}."
    return (f"{there} Run {run.number}, {which}, is read; --run chooses another.",)


def own(recording: Recording) -> TocRun | None:
    """Return the run that a recording is about, the last one where it does not say; or none.

    Raises:
        InputError: The table of contents cannot be read.
    """
    runs = read_toc(recording.toc_file).runs
    known = recording.provenance().run if recording.provenance_file.exists() else None
    return next((run for run in runs if run.number == known), runs[-1] if runs else None)


def listed(runs: Sequence[TocRun]) -> str:
    """Name runs by number, with their targets and times."""
    more = [f"and {len(runs) - _MOST:,} more"] if len(runs) > _MOST else []
    return "; ".join([*(_described(run) for run in islice(runs, _MOST)), *more])


def _described(run: TocRun) -> str:
    target = f"{run.target.name} {run.target.pid}".strip() if run.target is not None else ""
    seconds = "" if run.duration is None else f"{run.duration:.3f} s"
    told = [one for one in (target, run.start_date, seconds) if one]
    return f"run {run.number} ({', '.join(told)})" if told else f"run {run.number}"
