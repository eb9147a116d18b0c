from collections.abc import Iterable

import pytest

from tracekit.base.recording import Overhead
from tracekit.record.host.recorder import overhead
from tracekit.workload.journal import Block, WorkloadReport


def report(recorded: Iterable[int], unrecorded: Iterable[int]) -> WorkloadReport:
    """Lay blocks of two steps in the order ABBA; times are ns a step."""
    blocks: list[Block] = []
    for number, (one, other) in enumerate(zip(recorded, unrecorded, strict=True)):
        pair = [Block(True, 0, 2 * one, 2), Block(False, 0, 2 * other, 2)]
        blocks += pair if number % 2 == 0 else pair[::-1]
    return WorkloadReport(blocks=tuple(blocks))


def test_the_ratio_of_medians() -> None:
    measured = overhead(report([110, 112, 108, 110, 110, 900], [100, 101, 99, 100, 100, 100]))
    assert (measured.recorded, measured.unrecorded) == (110, 100)
    assert measured.ratio == pytest.approx(0.10)
    assert measured.reason == ""


def test_noise_makes_the_interval_wide() -> None:
    calm = overhead(report([100, 101, 99, 100, 101, 99], [100] * 6))
    wild = overhead(report([60, 140, 70, 130, 90, 110], [100] * 6))
    assert calm.spread is not None
    assert wild.spread is not None
    assert calm.spread < 0.02
    assert wild.spread > 0.1


def test_too_few_blocks_are_no_measurement() -> None:
    measured = overhead(report([100] * 3, [100] * 3))
    assert measured.ratio is None
    assert measured.reason == "only 3 pairs of recorded and unrecorded steps were made"
    assert overhead(report([100] * 4, [100] * 4)).ratio == 0.0


def test_the_workers_reason_is_given() -> None:
    text = "Steps of 9.0 s are too long to measure what recording costs."
    assert overhead(WorkloadReport(overhead_reason=text)) == Overhead(reason=text)
