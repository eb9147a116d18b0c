"""Judge a replay: does the result fit the recorded contents, and which of them?"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tracekit.lab.replay.documents import (
    DispatchReplay,
    ReplayOutcome,
    ResultComparison,
    WrittenArgument,
)

_LISTED = 5  # numbers in a sentence


@dataclass(frozen=True)
class ReplayDoubts:
    """Reasons to doubt a comparison.

    With `is_after`, the user answers for recorded contents: they are of after the work.
    `blank_arguments` are those whose last recorded contents are zeros where the kernel writes,
    `lone_arguments` those of which no two different contents were recorded there.
    """

    is_blank: bool
    is_partial_allowed: bool
    is_after: bool
    blank_arguments: tuple[str, ...]
    lone_arguments: tuple[str, ...]
    other_writers: tuple[int, ...]


def judge_replay(replayed: DispatchReplay, doubts: ReplayDoubts) -> DispatchReplay:
    """Return the replay with its outcome, the verdict, and the contents that fit."""
    if doubts.is_blank:
        return _leave_undecided(
            replayed,
            "all recorded buffers are zeros, as in a redacted copy, so there is nothing to compute "
            "with",
        )
    writing = [argument for argument in replayed.arguments if argument.written]
    if not writing:
        return _leave_undecided(replayed, "the kernel writes nothing")
    pairs = _list_fitting(replayed.comparisons)
    if not pairs:
        return _judge_difference(replayed, writing, doubts)
    incomplete = [argument for argument in replayed.arguments if argument.kept_elements]
    if incomplete and not doubts.is_partial_allowed:
        parts = [f"{entry.kept_elements:,} elements of {entry.name}" for entry in incomplete]
        names = ", ".join(parts)
        return _leave_undecided(
            replayed,
            f"all written elements agree, but the kernel leaves {names} as they were; --partial "
            "accepts that",
        )
    reading = _describe_fit(pairs, replayed)
    fits = [pair for pair in replayed.comparisons if (pair.start, pair.recorded) == pairs[0]]
    words = "; ".join(_describe_comparison(comparison) for comparison in fits)
    return replace(
        replayed, outcome=ReplayOutcome.AGREES, verdict=f"Agrees: {words}.", reading=reading
    )


def _leave_undecided(replayed: DispatchReplay, reason: str, settling: str = "") -> DispatchReplay:
    return replace(
        replayed,
        outcome=ReplayOutcome.UNDECIDED,
        verdict=f"Not decided: {reason}.",
        reading=settling,
    )


Pair = tuple[str, str]
"""The state that a replay started from, and the one that its result is compared with."""


def _list_fitting(comparisons: Sequence[ResultComparison]) -> list[Pair]:
    """Return the pairs whose comparisons all fit, those of two different states first."""
    fits: dict[Pair, bool] = {}
    for comparison in comparisons:
        pair = (comparison.start, comparison.recorded)
        fits[pair] = fits.get(pair, True) and comparison.fits
    fitting = [pair for pair, is_fitting in fits.items() if is_fitting]
    return sorted(fitting, key=lambda pair: pair[0] == pair[1])


def _judge_difference(
    replayed: DispatchReplay, writing: Sequence[WrittenArgument], doubts: ReplayDoubts
) -> DispatchReplay:
    """Return the replay as one that differs, if no doubt about the recorded contents is left.

    The verdict names the worst output. An output with one recorded content decides nothing, and is
    named only if no other differs.
    """
    closest = _list_closest(replayed.comparisons)
    unfit = [comparison for comparison in closest if not comparison.fits]
    lone_names = () if doubts.is_after else doubts.lone_arguments
    decisive = [comparison for comparison in unfit if comparison.name not in lone_names]
    worst = max(decisive or unfit or closest, key=_measure_error)
    words = _describe_comparison(worst)
    doubt = _find_doubt(replayed, writing, doubts)
    if doubt:
        return _leave_undecided(replayed, f"{words}, but {doubt}")
    if doubts.is_after:
        reading = "The recorded contents are of after the work (--after), and are not the result."
        return _report_difference(replayed, words, reading)
    if not unfit:
        return _leave_undecided(
            replayed,
            "each output agrees with a recorded content, but not all with those of one place",
        )
    if doubts.blank_arguments:
        names = ", ".join(doubts.blank_arguments)
        reason = f"the recorded contents of {names} are zeros, perhaps those before the work"
        return _leave_undecided(replayed, f"{words}, but {reason}", _SETTLING)
    if not decisive:
        reason = f"one content of {worst.name} was recorded, perhaps that before the work"
        return _leave_undecided(replayed, f"{words}, but {reason}", _SETTLING)
    reading = (
        f"Two different contents of {worst.name} were recorded, and neither is the result; those "
        f"of the {worst.recorded} are closer."
    )
    return _report_difference(replayed, words, reading)


def _find_doubt(
    replayed: DispatchReplay, writing: Sequence[WrittenArgument], doubts: ReplayDoubts
) -> str:
    """Return the reason why no difference counts, whenever contents were taken; "" without one."""
    if doubts.other_writers:
        numbers = ", ".join(map(str, doubts.other_writers[:_LISTED]))
        return (
            f"other dispatches may write the same buffers ({numbers}), and whether contents were "
            "taken before or after them is not established"
        )
    dependent = [argument.name for argument in writing if argument.dependent]
    if dependent and len({comparison.start for comparison in replayed.comparisons}) == 1:
        names = ", ".join(dependent)
        return (
            f"the result depends on the earlier contents of {names}, and the kernel can start from "
            "one recorded state only, of before or after the work"
        )
    return ""


def _report_difference(replayed: DispatchReplay, words: str, reading: str) -> DispatchReplay:
    return replace(
        replayed, outcome=ReplayOutcome.DIFFERS, verdict=f"Differs: {words}.", reading=reading
    )


_SETTLING = (
    "To decide it: --after, if the program had done the same work before the capture, as a warm-up "
    "does; or a capture of a run that fills its outputs with other numbers first."
)


def _list_closest(comparisons: Sequence[ResultComparison]) -> list[ResultComparison]:
    """Return the comparison with the least error of each argument."""
    closest: dict[str, ResultComparison] = {}
    for comparison in comparisons:
        closest_yet = closest.get(comparison.name, comparison)
        closest[comparison.name] = min(closest_yet, comparison, key=_measure_error)
    return list(closest.values())


def _measure_error(comparison: ResultComparison) -> float:
    return math.inf if comparison.error is None else comparison.error


def _describe_comparison(comparison: ResultComparison) -> str:
    words = f"{comparison.equal:,} of {comparison.compared:,} written elements of {comparison.name}"
    words += " are equal to the bit"
    if comparison.equal == comparison.compared:
        return words
    error = "infinite" if comparison.error is None else f"{comparison.error:.2g}"
    return f"{words}, largest error {error} of {comparison.bound:g} allowed"


def _describe_fit(pairs: Sequence[Pair], replayed: DispatchReplay) -> str:
    is_dependent = any(argument.dependent for argument in replayed.arguments)
    start, recorded = pairs[0]
    if is_dependent and start != recorded:
        return (
            f"The contents of the {start} were taken before the work, those of the {recorded} "
            "after it."
        )
    if is_dependent:
        return "The work leaves the recorded contents as they are: before and after both fit."
    fitting = {pair[1] for pair in pairs}
    unfit = {comparison.recorded for comparison in replayed.comparisons} - fitting
    reading = (
        "The recorded contents are the result: they were taken after the work, or the same work "
        "had been done before."
    )
    if unfit:
        reading = (
            f"The contents of the {', '.join(sorted(fitting))} are the result, those of the "
            f"{', '.join(sorted(unfit))} are not: they are of before the work."
        )
    return reading
