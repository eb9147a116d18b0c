"""Verdicts on replays with several outputs: the output that differs, and the contents recorded."""

from dataclasses import replace

from tracekit.lab.replay.documents import (
    DispatchReplay,
    ReplayOutcome,
    ResultComparison,
    WrittenArgument,
)
from tracekit.lab.replay.judgement import ReplayDoubts, judge_replay

DOUBTS = ReplayDoubts(
    is_blank=False,
    is_partial_allowed=False,
    is_after=False,
    blank_arguments=(),
    lone_arguments=("a",),
    other_writers=(),
)
STATES = ("objects", "command buffer")


def make_replay(**errors: tuple[float | None, float | None]) -> DispatchReplay:
    """Return a replay whose outputs have an error against the contents of each of two states."""
    arguments: list[WrittenArgument] = []
    comparisons: list[ResultComparison] = []
    for index, (name, errors_by_state) in enumerate(errors.items()):
        arguments.append(WrittenArgument(name, index, "float32", 8, 8, 0))
        for recorded, error in zip(STATES, errors_by_state, strict=True):
            equal = 8 if error == 0 else 3
            comparisons.append(ResultComparison(name, "objects", recorded, 8, equal, error, 1e-5))
    return DispatchReplay(
        capture="made.gputrace",
        dispatch=0,
        function="split",
        source="split.metal",
        outcome=ReplayOutcome.DEFECT,
        verdict="",
        reading="",
        arguments=tuple(arguments),
        comparisons=tuple(comparisons),
        verdicts=(),
        traffic=(),
        model=None,
    )


TWO_DIFFER = make_replay(a=(9.0, 9.0), b=(0.7, 0.4))
"""`a` has one content, which may be of before the work; `b` has two, and neither is the result."""


def test_an_output_recorded_once_does_not_hide_one_recorded_twice() -> None:
    judged = judge_replay(TWO_DIFFER, DOUBTS)
    assert judged.outcome is ReplayOutcome.DIFFERS
    assert judged.verdict == (
        "Differs: 3 of 8 written elements of b are equal to the bit, largest error 0.4 of 1e-05 "
        "allowed."
    )
    assert judged.reading == (
        "Two different contents of b were recorded, and neither is the result; those of the "
        "command buffer are closer."
    )


def test_an_output_recorded_once_decides_nothing_if_the_others_agree() -> None:
    judged = judge_replay(make_replay(a=(None, None), b=(0.7, 0.0)), DOUBTS)
    assert judged.outcome is ReplayOutcome.UNDECIDED
    assert judged.verdict == (
        "Not decided: 3 of 8 written elements of a are equal to the bit, largest error infinite "
        "of 1e-05 allowed, but one content of a was recorded, perhaps that before the work."
    )


def test_the_worst_output_counts_if_contents_are_known_to_be_of_after() -> None:
    judged = judge_replay(TWO_DIFFER, replace(DOUBTS, is_after=True))
    assert judged.outcome is ReplayOutcome.DIFFERS
    assert judged.verdict.startswith("Differs: 3 of 8 written elements of a")


def test_the_worst_of_two_outputs_recorded_once_is_named() -> None:
    doubts = replace(DOUBTS, lone_arguments=("a", "b"))
    judged = judge_replay(make_replay(a=(0.4, 0.4), b=(9.0, 9.0)), doubts)
    assert judged.outcome is ReplayOutcome.UNDECIDED
    assert judged.verdict.endswith("one content of b was recorded, perhaps that before the work.")
